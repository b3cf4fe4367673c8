"""What verdicts make of requests, and that an engine that is slow or absent holds up nothing."""

from collections import Counter

from test_switch_traffic import LINES, Traffic

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES

A = VerdictAction
#: By the line's lowest three bits; ports 2 and 3 are the hosts' own.
VERDICTS = (
    Verdict(action=A.PASS),
    Verdict(action=A.REDIRECT, island=2),
    Verdict(action=A.DENY),
    Verdict(action=A.MIRROR, island=3),
    Verdict(action=A.DELAY, tokens=2),
    Verdict(action=A.PROMOTE, island=3),
    Verdict(action=A.REDIRECT, island=0),
    None,
)


class Policed(Traffic):
    """An engine that answers each event after a few cycles, or never."""

    def __init__(self, *, answers, deny=False, **more):
        super().__init__(PRESETS["tiny"], **more)
        self.answers = answers
        self.verdicts_due = {}
        self.checker.judge = lambda host, came, judged: (
            self.verdict_of(came["address"]) if judged else None,
            deny,
        )
        self.seen = Counter()
        for host in range(2):
            self.register(f"tokens_{host}", rate=64, limit=4)
        self.register("rule_0_match", ports=0b11, channels=0b11)
        self.register("rule_0_opcodes", mask=0xFFFF)
        self.register("rule_0_last_high", page=0xFFFFF)
        self.register("rule_0_control", enable=1, inline=1, deny=deny)

    def verdict_of(self, line):
        return VERDICTS[line & 7]

    def on_request(self, host, came):
        super().on_request(host, came)
        self.taken = self.cycle

    def at_device(self, port, came):
        super().at_device(port, came)
        self.waited = self.cycle - self.taken

    def watched(self, dut):
        event = dut.events.payload
        return [
            dut.events.valid,
            event.tag,
            event.event.address,
        ]

    def drive(self, ctx):
        self._set(ctx, self.dut.events.ready, int(self.answers))
        tag, r0 = self.verdicts_due.pop(self.cycle, (0, None))
        self._set(ctx, self.dut.verdicts.valid, int(r0 is not None))
        ctx.set(self.dut.verdicts.payload.tag, tag)
        ctx.set(self.dut.verdicts.payload.r0, r0 or 0)

    def watch(self, values):
        valid, tag, address = values
        if valid and self.answers:
            verdict = self.verdict_of(address >> 6)
            # An action that there is not stands for a program that says nothing.
            r0 = verdict.encode() if verdict else 0xFF
            due = self.cycle + 4
            while due in self.verdicts_due:
                due += 1
            self.verdicts_due[due] = (tag, r0)
            self.seen[r0] += 1


def test_every_verdict_does_what_the_model_says():
    policed = Policed(answers=True, requests=60, rate=0.04, seed=8)
    policed.run(6000)
    assert policed.done(), policed.requests
    assert len(policed.seen) == len(VERDICTS)
    assert policed.count["begin"] > 1


def test_without_an_engine_requests_wait_for_the_bound_and_no_longer():
    policed = Policed(answers=False, requests=1, rate=1.0, seed=9)
    policed.left = [1, 0]
    policed.lines = [LINES]
    policed.run(400)
    assert policed.done(), policed.requests
    assert policed.waited == 4 + MAX_VERDICT_CYCLES


def test_a_closed_default_denies_what_nobody_judged():
    policed = Policed(answers=False, deny=True, requests=30, rate=0.5, seed=10)
    policed.run(2000)
    assert policed.done(), policed.requests
    assert policed.count["delivered"] == 0


def test_an_engine_that_takes_nothing_costs_no_rate():
    """All requests are matched and none is judged; 300 of each host are answered in 420 cycles."""
    policed = Policed(answers=False, requests=300, rate=1.0, seed=11)
    policed.lines = policed.lines[: 2 * LINES]
    policed.new = policed.new_request
    policed.new_request = lambda host, lines: policed.new(host, lines, tags=4096, reads=1.0)
    start = 60
    policed.run(start + 300 + 60)
    assert policed.done(), policed.requests
