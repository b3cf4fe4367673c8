"""Pages move while their host reads and writes them: nothing is lost, nothing torn.

Devices have memory. A host has one request for a line at most, so a read gives what the last write
brought, wherever the line was meanwhile. The soak does the same at length in Verilator.
"""

from dataclasses import replace

import pytest
from amaranth.hdl import Const, Signal
from test_switch_traffic import LINES, Traffic

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.messages import message
from fanweave.golden.cxl.tables import Device
from fanweave.golden.isa.cxl_event import (
    Channel,
    DrsOpcode,
    NdrOpcode,
    ReqOpcode,
    Verdict,
    VerdictAction,
)
from fanweave.golden.isa.cxl_messages import answers_of
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.hw.cxl.line_copier import LineCopier
from fanweave.hw.cxl.migrator import Migrator
from fanweave.hw.cxl.payloads import Hold
from fanweave.hw.cxl.request_entry import RequestEntry
from fanweave.sim.benches.cxl.checker import DifferenceError
from fanweave.sim.benches.cxl.contents import LineContents, initial

TINY = PRESETS["tiny"]
#: Page 8 is at port 3.
PAGE, HOME, OTHER = 8, 3, 2


class Moves(Traffic):
    """``promotes`` says which cycle's next event moves its page, and to which port."""

    def __init__(self, config=TINY, *, promotes, requests=40, lines=None, **more):
        super().__init__(config, requests=requests, rate=0.3, **more)
        self.checker.contents = self.contents = LineContents()
        self.memory = {}
        self.promotes, self.begins = dict(promotes), len(promotes)
        self.verdicts_due = {}
        self.steps = []
        self.lines = lines or [*range(PAGE * LINES, PAGE * LINES + 16)]
        self.nones = set()  # port, opcode and channel of requests that are not answered
        self.register("rule_0_match", ports=0b11, channels=0b11)
        self.register("rule_0_opcodes", mask=0xFFFF)
        self.register("rule_0_last_high", page=0xFFFFF)
        self.register("rule_0_control", enable=1)

    def new_request(self, host, lines, **more):
        busy = {request.sent["address"] for request in self.requests[host].values()}
        free = [line for line in lines if line not in busy]
        if free:
            super().new_request(host, free, **more)

    def at_device(self, port, came):
        self.checker.at_device(port, came)
        device, line = Device(port, came["ld_id"]), came["address"]
        content = self.memory.get((device, line)) or initial(device, line)
        if came.channel is Channel.M2S_RWD:
            self.memory[device, line] = content.under(came)
        if (port, came["opcode"], came.channel) in self.nones:
            return
        due = self.cycle + self.random.randint(*self.device_delay)
        for channel in sorted(answers_of(came.channel, came["opcode"], came["snoop"])):
            values = {"tag": came["tag"], "ld_id": came["ld_id"]}
            if channel is Channel.S2M_DRS:
                values |= {"opcode": DrsOpcode.MEM_DATA, **vars(content)}
            else:
                values |= {"opcode": NdrOpcode.CMP}
            self.answers_due[due].append((port, message(channel, **values)))

    def watched(self, dut):
        return [dut.events.valid, dut.events.payload.tag, dut.moving.step]

    def drive(self, ctx):
        self._set(ctx, self.dut.events.ready, 1)
        tag, r0 = self.verdicts_due.pop(self.cycle, (0, None))
        self._set(ctx, self.dut.verdicts.valid, int(r0 is not None))
        ctx.set(self.dut.verdicts.payload.tag, tag)
        ctx.set(self.dut.verdicts.payload.r0, r0 or 0)

    def watch(self, values):
        valid, tag, step = values
        if step:
            self.steps.append(step)
        due = [cycle for cycle in self.promotes if cycle <= self.cycle]
        if valid and due:
            verdict = Verdict(action=VerdictAction.PROMOTE, island=self.promotes.pop(min(due)))
            self.verdicts_due[self.cycle + 2] = tag, verdict.encode()

    def done(self):
        moved = self.count["begin"] == self.begins and self.checker.model.moves.going is None
        return super().done() and moved

    def places(self, page=PAGE, host=0):
        return {self.checker.model.locate(host, page * LINES + line) for line in range(LINES)}


def ended(moves, cycles=4000):
    moves.run(cycles)
    assert moves.done(), (moves.requests, moves.count)
    return moves.count


def busy():
    config = replace(TINY, move_lines=16)
    moves = Moves(config, promotes={70: OTHER}, requests=160, device_delay=(10, 60), seed=14)
    moves.rate = 0.9
    moves.lines = [PAGE * LINES + line for line in range(0, LINES, 2)]
    return moves


def test_a_page_moves_while_it_is_in_use():
    moves = busy()
    count = ended(moves)
    assert (count["begin"], count["hold"], count["flip"], count["end"]) == (1, 4, 4, 1)
    assert count["copies"] == 2 * LINES
    assert moves.contents.reads > 100
    assert {device.port for device in moves.places(host=0) | moves.places(host=1)} == {OTHER, HOME}


def test_a_page_of_which_a_part_moved_goes_on():
    moves = Moves(promotes={80: OTHER, 700: OTHER}, requests=60, seed=10)
    moves.left[1], moves.rate = 0, 0.06
    moves.register("timeout", cycles=100)
    respond = moves.at_device

    def at_device(port, came):
        own = moves.checker.model.moves.going and came["address"] == PAGE * LINES + 35
        moves.nones = {(HOME, ReqOpcode.MEM_RD, Channel.M2S_REQ)} if own and fails else set()
        if moves.nones:
            fails.pop()
            moves.checker.silent.add(HOME)
        respond(port, came)

    fails = [True]
    moves.at_device = at_device
    count = ended(moves)
    assert (count["begin"], count["give_up"], count["end"]) == (2, 1, 1)
    assert (count["flip"], count["hold"]) == (8, 9)
    assert moves.places() == {Device(OTHER, 0)}


class Dropped(Moves):
    """When its page was moved, the host looks at the registers, and then drops it."""

    def __init__(self, **more):
        super().__init__(promotes={80: OTHER}, requests=20, **more)
        self.left[1] = 0
        self.seen = {}
        self.names = ["move_0_0", "move_0_0_low", "counter_moved_pages", "counter_moved_lines"]
        self.reads, self.late = None, 0
        self.dropped = False

    def turn(self):
        super().turn()
        moved = MoveStep.END in self.steps and not any(self.requests) and not self.left[0]
        if moved and len(self.seen) == len(self.names) and not self.dropped:
            self.register("move_0_0")
            self.contents = self.checker.contents = None
            self.dropped, self.left[0] = True, 10

    def watched(self, dut):
        return [*super().watched(dut), dut.read_data]

    def drive(self, ctx):
        super().drive(ctx)
        self.reads = self.names[self.cycle % len(self.names)]
        ctx.set(self.dut.read_address, self.by_name[self.reads].address)

    def watch(self, values):
        *values, word = values
        super().watch(values)
        # Counters are a cycle late.
        self.late += MoveStep.END in self.steps
        if self.late > 2 and not self.dropped:
            self.seen[self.reads] = word

    def done(self):
        return self.dropped and super().done()


def test_a_host_sees_its_moved_pages_and_drops_them():
    moves = Dropped(seed=11)
    ended(moves)
    entry, word = moves.by_name["move_0_0"], moves.seen["move_0_0"]
    fields = {field.name: field.extract(word) for field in entry.fields}
    assert fields == {"valid": 1, "whole": 1, "port": OTHER, "ld_id": 0}
    assert moves.seen["move_0_0_low"] == PAGE << 12
    assert (moves.seen["counter_moved_pages"], moves.seen["counter_moved_lines"]) == (1, LINES)
    assert moves.places() == {Device(HOME, 0)}


def test_a_group_may_be_a_single_line():
    config = replace(TINY, moves=1, move_lines=1)
    moves = Moves(config, promotes={80: OTHER}, requests=30, device_delay=(1, 3), seed=13)
    moves.left[1] = 0
    count = ended(moves)
    assert (count["flip"], count["end"]) == (LINES, 1)


# A switch that does it wrongly is found.


def without_drain(monkeypatch):
    """Answers to earlier requests are not awaited."""
    elaborate = Migrator.elaborate

    def changed(self, platform):
        self.noted = Const(0)
        return elaborate(self, platform)

    monkeypatch.setattr(Migrator, "elaborate", changed)


def without_hold(monkeypatch):
    """Requests go on while their lines are copied."""
    elaborate = RequestEntry.elaborate

    def changed(self, platform):
        self.hold = Signal(Hold)
        return elaborate(self, platform)

    monkeypatch.setattr(RequestEntry, "elaborate", changed)


def without_answers(monkeypatch):
    """A group flips when its writes were sent, answered or not."""
    send = LineCopier._send

    def changed(self, m, read):
        waits = send(self, m, read)
        self._wrote = Signal(self.lines)
        return waits

    monkeypatch.setattr(LineCopier, "_send", changed)


@pytest.mark.parametrize(
    ("breaks", "difference"),
    [
        (without_drain, "is copied while it is in use"),
        (without_hold, "is copied while it is in use"),
        (without_answers, "flips before lines"),
    ],
)
def test_a_switch_that_moves_pages_wrongly_is_found(monkeypatch, breaks, difference):
    breaks(monkeypatch)
    with pytest.raises(DifferenceError, match=difference):
        ended(busy())
