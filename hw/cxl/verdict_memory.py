"""A memory of verdicts between the switch and the policy engine.

A program takes longer than a request may wait. So the verdict of the engine is kept for its page,
and the next request of the same host, opcode and page has it at once. The engine goes on to see
what it can of the traffic, and its newest verdict holds.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.isa.cxl_event import VERDICT_FIELDS, Channel, VerdictAction, VerdictField
from fanweave.golden.isa.cxl_island import (
    FIRST_ADDRESS,
    ISLAND_COUNTERS,
    ISLAND_REGISTERS,
    PACED_PROGRAMS,
    SHIFT_BASE,
)
from fanweave.hw.cxl.payloads import PAGE_BITS, PolicyEvent, PolicyVerdict, RegisterWrite

__all__ = ["KEY_BITS", "VerdictMemory"]

_PORT_BITS, _OPCODE_BITS = 2, 4
#: Page, port of the host, channel and opcode.
KEY_BITS = PAGE_BITS + _PORT_BITS + 1 + _OPCODE_BITS
_PACE_BITS = 16
_FIELD = {field.name: field for field in VERDICT_FIELDS}
_A = VerdictAction

#: What is kept of a verdict.
_Known = data.StructLayout({"key": KEY_BITS, "r0": 64, "failed": 1})
#: An event, and whether and as what its verdict is kept.
_Held = data.StructLayout({"event": PolicyEvent, "key": KEY_BITS, "keyed": 1})


class VerdictMemory(wiring.Component):
    """Answers events whose verdict is known; gives the engine one event at a time.

    While it is off, events and verdicts pass as they are, and the engine has as many as it can
    hold. While it is on:

    - an event of a request whose verdict is known has it in the same cycle, and the engine sees
      the event if it has nothing to do;
    - any other request has none (unless ``hold`` is set), and its event waits for the engine, if
      none waits yet;
    - an engine's verdict holds when its program's pace is over, so when it does hangs on no data;
    - a promotion is not kept, since it is asked for once: its page has a pass instead, and asks
      again when the engine says so again;
    - a read with ``SPILL`` is told to go on or to another port by what is open at its own one;
    - what the engine has no place for is counted and forgotten: the switch never waits.

    A register write of switch or engine, or a step of a page's move, forgets all verdicts, and
    those of events that are with the engine are not kept.

    Parameters
    ----------
    config : IslandConfig

    Members
    -------
    write : In(1); command : In(RegisterWrite)
        A register is written, of the switch or here.
    touched : In(1)
        The engine's host writes to it.
    moved : In(1)
        A page is elsewhere from now on, in part at least.
    levels : In, array
        Reads that are open at each device.
    read_address : In(10); read_data : Out(32)
        A register, combinational.
    set_time : Out(1); new_time : Out(32)
        The clock is set.
    policy_events : stream in of `PolicyEvent`; policy_verdicts : stream out of `PolicyVerdict`
        The switch's side; it always takes a verdict.
    events : stream out of `PolicyEvent`; verdicts : stream in of `PolicyVerdict`
        The engine's side.
    """

    def __init__(self, *, config: IslandConfig) -> None:
        self.config = config
        self.entries = config.verdict_entries
        levels = data.ArrayLayout(range(config.switch.slots + 1), config.switch.downstream)
        super().__init__(
            {
                "write": In(1),
                "command": In(RegisterWrite),
                "touched": In(1),
                "moved": In(1),
                "levels": In(levels),
                "read_address": In(10),
                "read_data": Out(32),
                "set_time": Out(1),
                "new_time": Out(32),
                "policy_events": In(stream.Signature(PolicyEvent)),
                "policy_verdicts": Out(stream.Signature(PolicyVerdict)),
                "events": Out(stream.Signature(PolicyEvent)),
                "verdicts": In(stream.Signature(PolicyVerdict)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pulses = {name: Signal(name=f"pulse_{name}") for name, _ in ISLAND_COUNTERS}
        self._registers(m)
        self._waiting, self._waits = Signal(_Held), Signal()
        self._seat, self._seated = Signal(_Held), Signal()
        self._count = Signal(_PACE_BITS)
        release = self._release(m)
        head, hit, known = self._look_up(m)
        self._judge(m, head, hit, known, release)
        with m.If(~self._on):
            m.d.comb += [
                self.events.valid.eq(self.policy_events.valid),
                self.events.payload.eq(self.policy_events.payload),
                self.policy_events.ready.eq(self.events.ready),
                self.policy_verdicts.valid.eq(self.verdicts.valid),
                self.policy_verdicts.payload.eq(self.verdicts.payload),
                self.verdicts.ready.eq(self.policy_verdicts.ready),
            ]
        return m

    def _registers(self, m: Module) -> None:
        entries = {entry.name: entry for entry in ISLAND_REGISTERS}
        stored: dict[tuple[str, str], Value] = {}
        for entry in ISLAND_REGISTERS:
            if entry.access != "rw":
                continue
            for field in entry.fields:
                value = Signal(field.width, name=f"{entry.name}_{field.name}")
                stored[entry.name, field.name] = value
                with m.If(self.write & (self.command.address == entry.address)):
                    m.d.sync += value.eq(self.command.data[field.low :])
        self._on, self._hold, self._shift, self._kept = (
            stored["verdicts", field.name] for field in entries["verdicts"].fields
        )
        self._paces = [stored[f"pace_{number}", "cycles"] for number in range(PACED_PROGRAMS)]
        self._forget = Signal()
        forgets = self.command.address < FIRST_ADDRESS
        for name in ("forget", "verdicts"):
            forgets |= self.command.address == entries[name].address
        m.d.comb += [
            self._forget.eq(self.touched | self.moved | (self.write & forgets)),
            self._pulses["forgotten"].eq(self._forget),
            self.set_time.eq(self.write & (self.command.address == entries["clock"].address)),
            self.new_time.eq(self.command.data),
        ]
        for name, pulse in self._pulses.items():
            count = Signal(32, name=f"count_{name}")
            stored[f"counter_{name}", "count"] = count
            m.d.sync += count.eq(count + pulse)
        with m.Switch(self.read_address):
            for entry in ISLAND_REGISTERS:
                with m.Case(entry.address):
                    for field in entry.fields:
                        if (entry.name, field.name) in stored:
                            place = self.read_data[field.low : field.low + field.width]
                            m.d.comb += place.eq(stored[entry.name, field.name])

    def _place(self, key: Value) -> Value:
        """Where a key's verdict is kept."""
        bits = (self.entries - 1).bit_length()
        return (key[:bits] ^ key[bits : 2 * bits] ^ key[PAGE_BITS:])[:bits]

    def _look_up(self, m: Module) -> tuple[data.View, Signal, data.View]:
        """The event at hand, whether its verdict is known, and that."""
        came = self.policy_events.payload
        event = came.event
        head = Signal(_Held, name="head")
        page = (event.address[SHIFT_BASE:] >> self._shift)[:PAGE_BITS]
        key = Cat(page, event.port[:_PORT_BITS], event.channel[:1], event.opcode[:_OPCODE_BITS])
        m.d.comb += [
            head.event.eq(came),
            head.key.eq(key),
            head.keyed.eq(_is_request(event) & (self._kept >> came.program)[0]),
        ]
        m.submodules.known = memory = Memory(shape=_Known, depth=self.entries, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        valid = Signal(self.entries, name="known_valid")
        known, hit = read.data, Signal()
        place = self._place(self._seat.key)
        verdict = self.verdicts.payload
        fills = self._pulses["fills"]
        m.d.comb += [
            read.addr.eq(self._place(head.key)),
            hit.eq(head.keyed & valid.bit_select(read.addr, 1) & (known.key == head.key)),
            write.addr.eq(place),
            write.en.eq(fills),
            write.data.key.eq(self._seat.key),
            write.data.r0.eq(Mux(_action(verdict.r0) == _A.PROMOTE, 0, verdict.r0)),
            write.data.failed.eq(verdict.failed),
        ]
        with m.If(self._forget):
            m.d.sync += valid.eq(0)
        with m.Elif(fills):
            m.d.sync += valid.bit_select(place, 1).eq(1)
        return head, hit, known

    def _release(self, m: Module) -> Signal:
        """The engine's verdict holds: the switch gets it, and it is kept."""
        release, pace = Signal(), Signal(_PACE_BITS)
        program = self._seat.event.program
        m.d.comb += pace.eq(self._paces[-1])
        for number, cycles in enumerate(self._paces[:-1]):
            with m.If(program == number):
                m.d.comb += pace.eq(cycles)
        with m.If(self._on):
            m.d.comb += [
                release.eq(self._seated & self.verdicts.valid & (self._count >= pace)),
                self.verdicts.ready.eq(release),
                self._pulses["fills"].eq(release & self._seat.keyed & ~self._forget),
                self._pulses["overruns"].eq(release & (self._count != pace) & (pace != 0)),
            ]
        with m.If(~self._count.all()):
            m.d.sync += self._count.eq(self._count + 1)
        return release

    def _judge(
        self, m: Module, head: data.View, hit: Signal, known: data.View, release: Signal
    ) -> None:
        """What becomes of the event at hand, and which event the engine gets."""
        is_request = _is_request(head.event.event)
        taken, watched, waits = Signal(), Signal(), Signal()
        same = self._seated & self._seat.keyed & (self._seat.key == head.key) & head.keyed
        may_wait = ~self._waits & (~same | self._hold)
        told = self.policy_verdicts
        with m.If(self._on):
            m.d.comb += [
                self.policy_events.ready.eq(~release),
                taken.eq(self.policy_events.valid & ~release),
                watched.eq(taken & (hit | ~is_request)),
                waits.eq(taken & is_request & ~hit),
                told.valid.eq(release | (taken & head.keyed & (hit | ~self._hold))),
                told.payload.tag.eq(head.event.tag),
                told.payload.r0.eq(self._weighed(m, head.event.event, known.r0)),
                told.payload.failed.eq(~hit | known.failed),
                self.events.valid.eq(~self._seated & (self._waits | watched)),
                self.events.payload.eq(Mux(self._waits, self._waiting.event, head.event)),
            ]
            with m.If(release):
                seat = self._seat.event.event
                m.d.comb += [
                    told.payload.eq(self.verdicts.payload),
                    told.payload.again.eq(_action(self.verdicts.payload.r0) == _A.PROMOTE),
                    told.payload.host.eq(Mux(_is_request(seat), seat.port, seat.island)),
                    told.payload.page.eq(seat.address[SHIFT_BASE:]),
                ]
        sits = self.events.valid & self.events.ready & self._on
        m.d.comb += [
            self._pulses["hits"].eq(taken & hit),
            self._pulses["misses"].eq(taken & head.keyed & ~hit),
            self._pulses["unseen"].eq((watched & (~sits | self._waits)) | (waits & ~may_wait)),
        ]
        self._seats(m, head, release, sits, waits & may_wait)

    def _weighed(self, m: Module, event: data.View, known: Value) -> Value:
        """A known verdict as the switch takes it: a spill is weighed here, and it sees none."""
        config = self.config.switch
        levels, r0 = Signal(self.levels.shape()), Signal(64, name="weighed")
        m.d.sync += levels.eq(self.levels)
        own = Array(levels)[(event.island - config.upstream)[:3]]
        spills = (
            (event.channel == Channel.M2S_REQ)
            & (event.island >= config.upstream)
            & (own >= _field(known, _FIELD["tokens"]))
        )
        m.d.comb += r0.eq(known)
        with m.If(_action(known) == _A.SPILL):
            island = _field(known, _FIELD["island"]) << _FIELD["island"].lsb
            m.d.comb += r0.eq(Mux(spills, island | _A.REDIRECT, _A.PASS))
        return r0

    def _seats(
        self, m: Module, head: data.View, release: Signal, sits: Value, waits: Value
    ) -> None:
        """The event that the engine has, and the one that waits for it."""
        with m.If(release):
            m.d.sync += self._seated.eq(0)
        with m.If(sits):
            m.d.sync += [
                self._seated.eq(1),
                self._count.eq(1),
                self._seat.eq(Mux(self._waits, self._waiting.as_value(), head.as_value())),
            ]
            with m.If(self._waits):
                m.d.sync += self._waits.eq(0)
        with m.If(waits):
            m.d.sync += [self._waiting.eq(head), self._waits.eq(1)]
        with m.If(self._forget):
            m.d.sync += [self._seat.keyed.eq(0), self._waiting.keyed.eq(0)]
        with m.If(~self._on):
            m.d.sync += [self._seated.eq(0), self._waits.eq(0)]


def _field(r0: Value, field: VerdictField) -> Value:
    return r0[field.lsb : field.lsb + field.bits]


def _action(r0: Value) -> Value:
    return _field(r0, _FIELD["action"])


def _is_request(event: data.View) -> Value:
    return (event.channel == Channel.M2S_REQ) | (event.channel == Channel.M2S_RWD)
