# amaranth: UnusedElaboratable=no

"""The memory of verdicts against golden, cycle by cycle."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.columns import COUNTS, EVENT
from fanweave.golden.cxl.timed.events import adapt
from fanweave.golden.cxl.timed.state import new_islands
from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.isa.cxl_event import Channel, Verdict, VerdictAction
from fanweave.golden.isa.cxl_island import ISLAND_COUNTERS, ISLAND_REGISTERS
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.hw.cxl.verdict_memory import VerdictMemory

CONFIG = IslandConfig(verdict_entries=16)
UP, DOWN = CONFIG.switch.upstream, CONFIG.switch.downstream
REGISTERS = {entry.name: entry for entry in ISLAND_REGISTERS}
REQ, RWD, NDR, DRS = Channel.M2S_REQ, Channel.M2S_RWD, Channel.S2M_NDR, Channel.S2M_DRS
#: Programs and their paces; the last one's verdicts are not kept.
PACES = (12, 30, 20)
KEPT = 0b011
VERDICTS = (
    Verdict(action=VerdictAction.PASS),
    Verdict(action=VerdictAction.REDIRECT, island=3),
    Verdict(action=VerdictAction.DELAY, tokens=9),
    Verdict(action=VerdictAction.DENY),
    Verdict(action=VerdictAction.PROMOTE, island=2),
    Verdict(action=VerdictAction.SPILL, island=3, tokens=20),
    Verdict(action=VerdictAction.SPILL, island=2, tokens=40),
    None,
)


class Bench:
    """The memory, a switch that asks and an engine that answers in time."""

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.ctx.set(dut.policy_verdicts.ready, 1)
        self.ctx.set(dut.events.ready, 1)

    async def write(self, name, **fields):
        register = REGISTERS[name]
        self.ctx.set(self.dut.command.address, register.address)
        self.ctx.set(self.dut.command.data, register.pack(**fields))
        self.ctx.set(self.dut.write, 1)
        await self.ctx.tick()
        self.ctx.set(self.dut.write, 0)

    def event(self, row, tag):
        fields = {
            "address": row["line"] * 64,
            "port": row["port"],
            "island": row["island"],
            "channel": row["channel"],
            "opcode": row["opcode"],
        }
        payload = {"event": fields, "tag": tag, "program": row["program"]}
        self.ctx.set(self.dut.policy_events.payload, payload)

    def told(self):
        """r0, or None of a verdict that says nothing; nothing if there is none."""
        told = self.dut.policy_verdicts
        if not self.ctx.get(told.valid):
            return ()
        said = self.ctx.get(told.payload)
        return (None if said.failed else said.r0,)

    def counter(self, name):
        self.ctx.set(self.dut.read_address, REGISTERS[f"counter_{name}"].address)
        return self.ctx.get(self.dut.read_data)


def play(body):
    dut = VerdictMemory(config=CONFIG)

    async def run(ctx):
        bench = Bench(ctx, dut)
        for number, cycles in enumerate(PACES):
            await bench.write(f"pace_{number}", cycles=cycles)
        await bench.write("verdicts", enable=1, shift=0, programs=KEPT)
        await body(ctx, bench)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(run)
    simulator.run()


def random_event(generator):
    channel = generator.choice([REQ, REQ, REQ, RWD, RWD, NDR, DRS])
    request = channel in (REQ, RWD)
    host, device = generator.randrange(UP), UP + generator.randrange(DOWN)
    return {
        "line": generator.randrange(4) * 64 * 17 + generator.randrange(64),
        "port": host if request else device,
        "island": device if request else host,
        "channel": int(channel),
        "opcode": generator.choice([1, 2]),
        "program": generator.randrange(len(PACES)),
    }


class Golden:
    """The timed model's part that the memory is, with nothing around it."""

    def __init__(self):
        self.state = new_islands(
            islands=1,
            upstream=UP,
            downstream=DOWN,
            queue=8,
            slots=64,
            rules=1,
            decoders=1,
            entries=CONFIG.verdict_entries,
            moves=4,
            move_lines=8,
        )
        self.state.memory[0] = [1, 0, KEPT]
        self.state.pace[0] = [*PACES, *[PACES[-1]] * 13]
        none = np.zeros(1, dtype=np.int64)
        shapes = {"hosts": (1, 10), "tasks": (1, 7), "flows": (1, 6), "told": (1, 6)}
        arrays = {name: np.zeros(shape, dtype=np.int64) for name, shape in shapes.items()}
        logs = dict.fromkeys(("line", "flow", "host", "tag", "sent", "done"), none)
        self.traffic = Traffic(**arrays, **logs)

    def offer(self, row):
        event = self.state.hook[0, int(self.state.hook_at[0, 0])]
        event[:] = 0
        for name, value in row.items():
            event[getattr(EVENT, name)] = value
        self.state.hook_at[0, 1] = 1

    def cycle(self, now, levels):
        """Verdicts of the cycle, whether the event was taken, and the one that the engine gets."""
        self.state.clock[3] = 0
        self.state.reads[0, :DOWN, 0] = levels
        asked = adapt(self.state, self.traffic, 0, now)
        row = self.traffic.told[0]
        told = ()
        if self.state.clock[3]:
            values = {"action": VerdictAction(int(row[3])), "island": row[4], "tokens": row[5]}
            told = (Verdict(**values).encode() if row[2] else None,)
        return told, not self.state.hook_at[0, 1], asked

    @property
    def seat(self):
        return [int(self.state.seat[0, getattr(EVENT, name)]) for name in ("line", "program")]

    def says(self, verdict):
        row = self.state.verdict[0]
        row[:] = [1, verdict.action, verdict.island, verdict.tokens] if verdict else 0


@pytest.mark.parametrize("seed", range(4))
def test_it_does_what_golden_does(seed):
    generator = random.Random(seed)
    golden = Golden()
    pressure = (0.1, 0.5, 0.9, 1.0)[seed]

    async def body(ctx, bench):
        dut, levels, offered, answer = bench.dut, [0] * DOWN, None, None
        for now in range(2500):
            before, levels = levels, [generator.randrange(65) for _ in range(DOWN)]
            ctx.set(dut.levels, levels)
            if offered is None and generator.random() < pressure:
                offered = random_event(generator)
                golden.offer(offered)
                bench.event(offered, now & 0xFFFF)
            ctx.set(dut.policy_events.valid, int(offered is not None))
            if answer and answer[0] <= now:
                verdict = answer[1]
                r0 = verdict.encode() if verdict else 0
                ctx.set(dut.verdicts.payload, {"r0": r0, "failed": int(verdict is None)})
                ctx.set(dut.verdicts.valid, 1)
            had = offered is not None
            told, free, asked = golden.cycle(now, before)
            assert bench.told() == told, now
            if had:
                assert ctx.get(dut.policy_events.ready) == free, now
            assert ctx.get(dut.events.valid) == asked, now
            if asked:
                seen = ctx.get(dut.events.payload)
                assert [seen.event.address // 64, seen.program] == golden.seat, now
                verdict = generator.choice(VERDICTS)
                golden.says(verdict)
                pace = PACES[seen.program]
                answer = now + generator.randrange(1, pace + 1), verdict
            released = ctx.get(dut.verdicts.valid & dut.verdicts.ready)
            await ctx.tick()
            if had and free:
                offered = None
            if released:
                ctx.set(dut.verdicts.valid, 0)
                answer = None
        ctx.set(dut.policy_events.valid, 0)
        for name, _ in ISLAND_COUNTERS:
            if name not in ("overruns", "forgotten"):
                expected = int(golden.state.counts[0, getattr(COUNTS, name)])
                assert bench.counter(name) == expected, name
                assert expected > 0, name
        assert bench.counter("overruns") == 0

    play(body)


async def ask(ctx, bench, row, verdict, *, cycles=60):
    """An event, what its engine says, and all that the switch is told until it is quiet."""
    dut, told = bench.dut, []
    bench.event(row, 7)
    ctx.set(dut.policy_events.valid, 1)
    ctx.set(dut.verdicts.payload, {"r0": verdict.encode()})
    ctx.set(dut.verdicts.valid, 1)
    for _ in range(cycles):
        if ctx.get(dut.policy_verdicts.valid):
            told.append(ctx.get(dut.policy_verdicts.payload))
        await ctx.tick()
        ctx.set(dut.policy_events.valid, 0)
    return told


ROW = {"line": 64 * 5, "port": 1, "island": 2, "channel": REQ, "opcode": 1, "program": 0}


def test_each_promotion_reaches_the_switch():
    """Of an event that had its verdict already, from a hit or for want of one."""
    promote = Verdict(action=VerdictAction.PROMOTE, island=3)

    async def body(ctx, bench):
        for first in (None, 0):  # a miss, then hits: the page has a pass instead
            told = await ask(ctx, bench, ROW, promote)
            assert len(told) == 2
            assert told[0].failed if first is None else told[0].r0 == 0
            assert (told[1].again, told[1].host, told[1].page) == (1, 1, 5)
            assert told[1].r0 == promote.encode()
        # An answer's host is where it goes.
        answer = {**ROW, "port": 3, "island": 0, "channel": DRS, "program": 2}
        told = await ask(ctx, bench, answer, promote)
        assert [(said.again, said.host, said.page) for said in told] == [(1, 0, 5)]
        redirect = Verdict(action=VerdictAction.REDIRECT, island=3)
        told = await ask(ctx, bench, ROW, redirect)
        assert [said.again for said in told] == [0, 0]

    play(body)


def test_a_page_that_moves_forgets_verdicts():
    redirect = Verdict(action=VerdictAction.REDIRECT, island=3)

    async def body(ctx, bench):
        await ask(ctx, bench, ROW, redirect)
        told = await ask(ctx, bench, ROW, redirect)
        assert told[0].r0 == redirect.encode()
        ctx.set(bench.dut.moved, 1)
        await ctx.tick()
        ctx.set(bench.dut.moved, 0)
        assert bench.counter("forgotten") == 2  # the register that switched it on, and this
        told = await ask(ctx, bench, ROW, redirect)
        assert told[0].failed

    play(body)


def test_an_entry_count_that_cannot_be_is_refused():
    from fanweave.golden.errors import InputError

    with pytest.raises(InputError, match="verdict_entries = 12 is illegal"):
        IslandConfig(verdict_entries=12)
    assert PAGE_BYTES == 1 << 12
