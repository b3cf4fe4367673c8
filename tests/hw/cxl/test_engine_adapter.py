# amaranth: UnusedElaboratable=no

"""Events reach one engine each, whole, and verdicts come back once."""

import itertools
import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.cxl_event import EVENT_BYTES, EVENT_FIELDS, encode_event
from fanweave.hw.cxl.engine_adapter import EngineAdapter
from fanweave.hw.ebpf.payloads import Cause

EVENTS = 60


def random_event(generator):
    return {field.name: generator.getrandbits(8 * field.bytes) for field in EVENT_FIELDS}


class EngineSide:
    """Takes events and contexts with pauses, and answers in any order."""

    def __init__(self, ctx, dut, number, generator, *, stall):
        self.ctx, self.generator, self.stall = ctx, generator, stall
        self.events, self.contexts = dut.events[number], dut.contexts[number]
        self.verdicts = dut.verdicts[number]
        self.seen = []
        self.open = []
        self.words = 0
        self.offered = None

    def drive(self):
        go = self.generator.random() >= self.stall
        self.ctx.set(self.events.ready, int(go and self.words == 0))
        self.ctx.set(self.contexts.ready, int(go and self.words > 0))
        if self.offered is None and self.open and self.generator.random() >= self.stall:
            self.offered = self.open.pop(self.generator.randrange(len(self.open)))
            tag, r0, cause = self.offered
            payload = {"r0": r0, "cause": cause, "tag": tag, "instructions": 0}
            self.ctx.set(self.verdicts.payload, payload)
        self.ctx.set(self.verdicts.valid, int(self.offered is not None))

    def sampled(self):
        return [
            *(self.events.valid & self.events.ready, self.events.payload),
            *(self.contexts.valid & self.contexts.ready, self.contexts.payload),
            self.verdicts.valid & self.verdicts.ready,
        ]

    def took(self, event_taken, event, word_taken, word, verdict_taken):
        if event_taken:
            assert event.length == EVENT_BYTES
            self.seen.append([event.tag, event.program, event.time_ns, b""])
            self.words = EVENT_BYTES // 8
        if word_taken:
            self.seen[-1][3] += word.to_bytes(8, "little")
            self.words -= 1
            if self.words == 0:
                tag = self.seen[-1][0]
                cause = Cause.WATCHDOG if tag % 5 == 0 else Cause.NONE
                self.open.append((tag, tag * 0x1_0001_0001, cause))
        if verdict_taken:
            self.offered = None


@pytest.mark.parametrize(("engines", "stall"), [(1, 0.0), (1, 0.5), (3, 0.0), (3, 0.4)])
def test_every_event_has_one_verdict(engines, stall):
    generator = random.Random(engines)
    dut = EngineAdapter(engines=engines, clock_ns=2)
    events = [(tag, tag % 7, random_event(generator)) for tag in range(EVENTS)]
    told = {}
    sides = []
    taken_at = {}

    async def bench(ctx):
        sides.extend(
            EngineSide(ctx, dut, number, generator, stall=stall) for number in range(engines)
        )
        sent, cycle = 0, 0
        while len(told) < EVENTS:
            assert cycle < 40 * EVENTS, f"{len(told)} verdicts after {cycle} cycles"
            offered = sent < EVENTS
            ctx.set(dut.policy_events.valid, int(offered))
            if offered:
                tag, program, event = events[sent]
                payload = {"event": event, "tag": tag, "program": program}
                ctx.set(dut.policy_events.payload, payload)
            ctx.set(dut.policy_verdicts.ready, int(generator.random() >= stall))
            for side in sides:
                side.drive()
            signals = [signal for side in sides for signal in side.sampled()]
            _, _, taken, given, verdict, *values = await ctx.tick().sample(
                dut.policy_events.valid & dut.policy_events.ready,
                dut.policy_verdicts.valid & dut.policy_verdicts.ready,
                dut.policy_verdicts.payload,
                *signals,
            )
            if taken:
                taken_at[events[sent][0]] = cycle
                sent += 1
            for number, side in enumerate(sides):
                side.took(*values[5 * number : 5 * number + 5])
            if given:
                assert verdict.tag not in told
                told[verdict.tag] = (verdict.r0, verdict.failed)
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()

    seen = sorted(entry for side in sides for entry in side.seen)
    assert seen == [
        [tag, program, 2 * taken_at[tag], encode_event(**event)] for tag, program, event in events
    ]
    assert told == {tag: (tag * 0x1_0001_0001, tag % 5 == 0) for tag in range(EVENTS)}
    assert all(side.seen for side in sides)


def test_an_engine_is_fed_without_a_gap():
    """The word of a context and the next event: nine cycles an event and engine."""
    dut = EngineAdapter(engines=1, clock_ns=1)
    starts = []

    async def bench(ctx):
        ctx.set(dut.policy_events.valid, 1)
        ctx.set(dut.events[0].ready, 1)
        ctx.set(dut.contexts[0].ready, 1)
        for cycle in range(60):
            _, _, begins = await ctx.tick().sample(dut.events[0].valid)
            if begins:
                starts.append(cycle)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert [later - sooner for sooner, later in itertools.pairwise(starts)] == [9] * 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engines": 0, "clock_ns": 1}, "engines = 0 must be at least 1"),
        ({"engines": 1, "clock_ns": 0}, "clock_ns = 0 must be at least 1"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(ValueError, match=message):
        EngineAdapter(**settings)
