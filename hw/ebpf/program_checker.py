"""Checks in hardware that a program is well formed, before anything may run it."""

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf import WideKind
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import MAPS
from fanweave.hw.ebpf.decoder import Decoder
from fanweave.hw.ebpf.program_payloads import LENGTH_BITS, SLOT_BITS, LoadCause

__all__ = ["CHECK_CYCLES", "ProgramChecker"]

#: A sound program of n slots is checked in 2 n + `CHECK_CYCLES` cycles, another in no more: so
#: many after the cycle of ``start`` comes ``done``.
CHECK_CYCLES = 5
#: Cycles from the reading of a slot to the first and the second walk's judgement.
_FIRST_LATENCY = 2
_SECOND_LATENCY = 3

_STAGE = {"valid": 1, "slot": SLOT_BITS}


class ProgramChecker(wiring.Component):
    """Walks through a program twice, a slot in each cycle.

    The first walk checks each slot by itself: the encoding, the second slots of 64-bit immediate
    loads, the numbers of maps and helpers, that jumps and local calls stay inside, and that the
    program ends in an exit or an unconditional jump. On its way it notes which slots are second
    ones. The second walk looks up the targets of jumps and calls in these notes.

    It decides as ``fanweave.sw.ebpf.check`` does but for one thing: how deep local calls go, and
    whether they are recursive, is not looked at. The core bounds both when the program runs.

    Parameters
    ----------
    slots : int
        Slots of the largest program; a power of two.
    maps : int
        Maps that a program may name, 0 to 256.

    Members
    -------
    start, base, length : In(1), In(16), In(17)
        Check `length` slots, 1 to `slots` of them, from `base` on; only while not `busy`. The
        others hold still from start to done, and so do the slots.
    read_slot : Out(16); read_word : In(64)
        Reads the instruction memory: the word of the slot of one cycle is there in the next.
    busy : Out(1)
        A check is going on, from the cycle after `start` until `done`, this one included.
    done, fault, slot : Out(1), Out of `LoadCause`, Out(16)
        In one cycle: the check has ended, with what is wrong and where, or slot 0. The first walk
        comes first, and in a walk the lowest slot.

    Attributes
    ----------
    at, walking, fetched : Signal
        Cycles since a walk began; which walk it is, a bit for each; and whether `read_word` is a
        slot of the program, and which. For proofs.

    Raises
    ------
    ValueError
        If a parameter is not as described.
    """

    def __init__(self, *, slots: int, maps: int) -> None:
        if not 2 <= slots <= 1 << SLOT_BITS or slots & slots - 1:
            raise ValueError(f"slots = {slots} must be a power of two from 2 to {1 << SLOT_BITS}")
        if not 0 <= maps <= MAPS:
            raise ValueError(f"maps = {maps} must be from 0 to {MAPS}")
        self.slots = slots
        self.maps = maps
        self.at = Signal(LENGTH_BITS)
        self.walking = Signal(2)
        self.fetched = Signal(data.StructLayout(_STAGE))
        super().__init__(
            {
                "start": In(1),
                "base": In(SLOT_BITS),
                "length": In(LENGTH_BITS),
                "read_slot": Out(SLOT_BITS),
                "read_word": In(64),
                "busy": Out(1),
                "done": Out(1),
                "fault": Out(LoadCause),
                "slot": Out(SLOT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.read_slot.eq(self.base + self.at)
        # What is on its way at the end of a check is dropped, or the next one would see it.
        m.d.sync += [
            self.fetched.valid.eq(self.walking.any() & (self.at < self.length) & ~self.done),
            self.fetched.slot.eq(self.at),
        ]
        decoded = self._decode(m)
        self._judge(m, decoded)
        self._control(m)
        return m

    def _decode(self, m: Module) -> data.View:
        """Whether the word that was read is right by itself, and where it leads."""
        m.submodules.decoder = decoder = Decoder()
        word, controls = decoder.word, decoder.controls
        fetched = self.fetched
        self._second = second = Signal()  # the word is the second slot of a wide load
        self._without_high = Signal()  # which must be zero altogether
        last = Signal()
        leads = Signal()
        m.d.comb += [
            Value.cast(word).eq(self.read_word),
            last.eq(fetched.slot == self.length - 1),
            leads.eq(controls.is_conditional | controls.is_goto | controls.is_local_call),
        ]
        with m.If(~fetched.valid):
            m.d.sync += self._second.eq(0)
        with m.Else():
            m.d.sync += [
                self._second.eq(controls.is_wide_load & ~second),
                self._without_high.eq(word.src.matches(WideKind.MAP_FD, WideKind.MAP_INDEX)),
            ]
        decoded = Signal(
            data.StructLayout(
                {
                    **_STAGE,
                    "fault": LoadCause,
                    "leads": 1,
                    "target": signed(34),
                }
            )
        )
        m.d.sync += [
            decoded.valid.eq(fetched.valid),
            decoded.slot.eq(fetched.slot),
            decoded.fault.eq(self._own_fault(decoder, last)),
            decoded.leads.eq(leads),
            decoded.target.eq(
                fetched.slot
                + 1
                + Mux(
                    controls.distance_in_imm,
                    word.imm.as_signed(),
                    word.offset.as_signed(),
                )
            ),
        ]
        return decoded

    def _own_fault(self, decoder: Decoder, last: Signal) -> Value:
        """What is wrong with the word, apart from where it leads."""
        word, controls = decoder.word, decoder.controls
        second = self._second
        wide = controls.is_wide_load & ~second
        # A second slot is at fault unless its low half is zero, and opcode 0 is of the class of
        # wide loads: only what is said of that class must leave second slots out.
        fault: Value = Value.cast(LoadCause.NONE)
        # From the least urgent on.
        for cause, wrong in (
            (LoadCause.NO_END, last & ~controls.is_exit & ~controls.is_goto),
            (
                LoadCause.UNKNOWN_HELPER,
                controls.is_helper_call & ~word.imm.matches(*HELPERS),
            ),
            (
                LoadCause.UNKNOWN_MAP,
                wide & (word.src != WideKind.IMMEDIATE) & (word.imm >= self.maps),
            ),
            (LoadCause.CUT_OFF, last & wide),
            (LoadCause.ILLEGAL_INSTRUCTION, ~controls.legal & ~second),
            (
                LoadCause.SECOND_SLOT,
                second
                & ((self.read_word[:32] != 0) | (self._without_high & (self.read_word[32:] != 0))),
            ),
        ):
            fault = Mux(wrong, cause, fault)
        return fault

    def _judge(self, m: Module, decoded: data.View) -> None:
        """What each walk finds, some cycles after a slot was read."""
        m.submodules.seconds = seconds = Memory(shape=1, depth=self.slots, init=[])
        self._note, self._recall = seconds.write_port(), seconds.read_port()
        leads = Signal(data.StructLayout(_STAGE))
        outside = Signal()
        first, second = self.walking
        m.d.comb += [
            self._note.en.eq(first & self.fetched.valid),
            self._note.addr.eq(self.fetched.slot),
            self._note.data.eq(self._second),
            self._recall.en.eq(1),
            self._recall.addr.eq(decoded.target.as_unsigned()),
            outside.eq(decoded.leads & (decoded.target.as_unsigned() >= self.length)),
        ]
        m.d.sync += [
            leads.valid.eq(second & decoded.valid & decoded.leads),
            leads.slot.eq(decoded.slot),
        ]
        with m.If(second & leads.valid & self._recall.data):
            m.d.comb += [self.fault.eq(LoadCause.TARGET_WITHIN), self.slot.eq(leads.slot)]
        with m.Elif(first & decoded.valid & (decoded.fault != LoadCause.NONE)):
            m.d.comb += [self.fault.eq(decoded.fault), self.slot.eq(decoded.slot)]
        with m.Elif(first & decoded.valid & outside):
            m.d.comb += [self.fault.eq(LoadCause.TARGET_OUTSIDE), self.slot.eq(decoded.slot)]

    def _control(self, m: Module) -> None:
        first, second = self.walking
        wrong = Signal()
        through = Signal()
        m.d.comb += [
            self.busy.eq(self.walking.any()),
            wrong.eq(self.fault != LoadCause.NONE),
            # The last slot is being judged.
            through.eq(self.at == self.length - 1 + Mux(second, _SECOND_LATENCY, _FIRST_LATENCY)),
            self.done.eq(wrong | (second & through)),
        ]
        m.d.sync += self.at.eq(self.at + 1)
        with m.If(self.done):
            m.d.sync += self.walking.eq(0)
        with m.Elif(first & through):
            m.d.sync += [self.walking.eq(0b10), self.at.eq(0)]
        with m.Elif(self.start):
            m.d.sync += [self.walking.eq(0b01), self.at.eq(0)]
