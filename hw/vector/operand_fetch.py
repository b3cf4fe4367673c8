"""Reads the operands of an instruction, word by word, and makes beats of them."""

from collections.abc import Callable

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import address_bits, operand_beat, read_port
from fanweave.hw.vector.plans import beat_tag, slot_bits, vector_plan

__all__ = ["OperandFetch"]

_OPERANDS = ("vs2", "vs1", "vd")
_SIZES = range(3)


class OperandFetch(wiring.Component):
    """A beat a cycle where words may be read, without a pause between instructions.

    A beat has as many elements as fit a word at the widest operand, so the word of a narrower one
    serves two or four beats. It is read with the first of them and stays at its port.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    plans : stream in of `vector_plan`
        Each has elements to work on.
    mask : In(vlen)
    vs2, vs1, vd : read ports
    vs2_blocked, vs1_blocked, vd_blocked, mask_blocked : In(1)
        The word at a port's address may not be read yet; v0 may not be used yet.
    slot : Out
        The instruction whose words are read.
    fetched : Out(1)
        Its last word is being read, and v0 is not used any more.
    beats : stream out of `operand_beat`; tags : stream out of `beat_tag`
        Both are transferred together.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "plans": In(stream.Signature(vector_plan(config))),
                "mask": In(config.vlen),
                "vs2": Out(read_port(config)),
                "vs1": Out(read_port(config)),
                "vd": Out(read_port(config)),
                "vs2_blocked": In(1),
                "vs1_blocked": In(1),
                "vd_blocked": In(1),
                "mask_blocked": In(1),
                "slot": Out(slot_bits(config)),
                "fetched": Out(1),
                "beats": Out(stream.Signature(operand_beat(config))),
                "tags": Out(stream.Signature(beat_tag(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        self._plan = plan = Signal(vector_plan(config))
        #: Number of the beat that is read; of the one whose operands are there.
        self._beat = Signal(range(8 * config.words))
        self._shown_beat = Signal.like(self._beat)
        self._shown = Signal(vector_plan(config))
        self._tag = Signal(beat_tag(config))
        busy, there, free, moves = (Signal(name=n) for n in ("busy", "there", "free", "moves"))
        last = Signal()
        step = config.word_bytes
        begins = plan.instruction.vstart
        end = self._sized(m, plan.size, lambda size: (self._beat + 1) * (step >> size), "end")
        m.d.comb += [
            last.eq(end >= plan.instruction.vl),
            free.eq(~there | (self.beats.valid & self.beats.ready)),
            moves.eq(busy & free & ~self.mask_waits(m) & self._reads(m, busy & free)),
            self.slot.eq(plan.instruction.slot),
            self.fetched.eq(moves & last),
            self.plans.ready.eq(~busy | (moves & last)),
        ]
        with m.If(self.plans.valid & self.plans.ready):
            m.d.sync += [plan.eq(self.plans.payload), busy.eq(1), self._beat.eq(0)]
        with m.Elif(moves):
            m.d.sync += [busy.eq(~last), self._beat.eq(self._beat + 1)]
        with m.If(moves):
            m.d.sync += [there.eq(1), self._shown.eq(plan), self._shown_beat.eq(self._beat)]
            self._note(m, begins, last)
        with m.Elif(free):
            m.d.sync += there.eq(0)
        self._show(m, there)
        return m

    def mask_waits(self, m: Module) -> Value:
        """Whether v0 is needed and not there yet."""
        return self._plan.mask & self.mask_blocked

    def _sized(
        self, m: Module, size: ValueLike, value_of: Callable[[int], ValueLike], name: str
    ) -> Signal:
        """What depends on log2 of a width, the same for all that there are."""
        values = [Value.cast(value_of(number)) for number in _SIZES]
        chosen = Signal(max(len(value) for value in values), name=name)
        with m.Switch(size):
            for number, value in enumerate(values):
                with m.Case(number):
                    m.d.comb += chosen.eq(value)
        return chosen

    def _shift(self, plan: data.View, name: str) -> Value:
        """log2 of the beats that a word of an operand serves; old bits serve most."""
        shift = plan.size - plan[f"{name}_size"]
        return Mux(plan.bits, 3 + plan.size, shift)[:3] if name == "vd" else shift[:3]

    def _reads(self, m: Module, may: Value) -> Value:
        """Read what the beat needs; whether all of it is there in the next cycle."""
        plan, beat, config = self._plan, self._beat, self.config
        complete = []
        low = {"vd": 7, "vs1": 15, "vs2": 20}
        moves = Signal(name="all_read")
        for name in _OPERANDS:
            port = getattr(self, name)
            needs, got = Signal(name=f"needs_{name}"), Signal(name=f"got_{name}")
            shift = Signal(3, name=f"{name}_shift")
            register = plan.instruction.word[low[name] : low[name] + 5]
            m.d.comb += [
                shift.eq(self._shift(plan, name)),
                needs.eq(plan[f"reads_{name}"] & ((beat & ((1 << shift) - 1)) == 0)),
                port.address.eq(
                    (register * config.words + (beat >> shift))[: address_bits(config)]
                ),
                port.valid.eq(may & needs & ~got & ~getattr(self, f"{name}_blocked")),
            ]
            taken = port.valid & port.ready
            with m.If(taken):
                m.d.sync += got.eq(1)
            with m.If(may & moves & ~self.mask_waits(m)):
                m.d.sync += got.eq(0)
            complete.append(~needs | got | taken)
        m.d.comb += moves.eq(Cat(complete).all())
        return moves

    def _note(self, m: Module, begins: Value, last: Value) -> None:
        """What write back has to know, from the state of v0 now."""
        plan, beat, tag, config = self._plan, self._beat, self._tag, self.config
        width = config.word_bytes
        carry = self._sized(
            m, plan.size, lambda size: self.mask.word_select(beat, width >> size), "carry"
        )
        first = self._sized(m, plan.size, lambda size: beat * (width >> size), "first")
        parts = []
        for edge, name in ((begins, "before"), (plan.instruction.vl, "within")):
            places = Signal(range(width + 1), name=f"{name}_places")
            with m.If(edge >= first + width):
                m.d.comb += places.eq(width)
            with m.Elif(edge > first):
                m.d.comb += places.eq(edge - first)
            parts.append((1 << places) - 1)
        before, within = parts
        shift = self._shift(plan, "vd")
        vd = plan.instruction.word[7:12]
        self._carry = Signal(width, name="shown_carry")
        m.d.sync += [
            self._carry.eq(carry),
            tag.slot.eq(plan.instruction.slot),
            tag.address.eq(vd * config.words + (beat >> shift)),
            tag.place.eq(beat & ((1 << shift) - 1)),
            tag.complete.eq(~plan.bits & (((beat + 1) & ((1 << shift) - 1)) == 0)),
            tag.bits.eq(plan.bits),
            tag.size.eq(plan.size),
            tag.vd_size.eq(plan.vd_size),
            tag.active.eq(within & ~before & Mux(plan.masked, carry, (1 << width) - 1)),
            tag.last.eq(last),
        ]

    def _show(self, m: Module, there: Value) -> None:
        """The beat whose words are at the ports."""
        plan, beat = self._shown, self.beats.payload
        instruction = plan.instruction
        m.d.comb += [
            self.beats.valid.eq(there & self.tags.ready),
            self.tags.valid.eq(there & self.beats.ready),
            self.tags.payload.eq(self._tag),
            self.tags.payload.old.eq(self._old(m)),
            beat.operation.eq(plan.operation),
            beat.sew.eq(instruction.sew),
            beat.vs2.eq(self._aligned(m, "vs2")),
            beat.vs1.eq(
                Mux(plan.reads_vs1, self._aligned(m, "vs1"), self._splat(m, instruction.scalar))
            ),
            beat.vd.eq(self._aligned(m, "vd")),
            beat.active.eq(self._tag.active),
            beat.carry.eq(self._carry),
            beat.rounding.eq(instruction.rounding),
            beat.last.eq(self._tag.last),
            beat.slot.eq(instruction.slot),
        ]

    def _aligned(self, m: Module, name: str) -> Value:
        """The beat's elements of an operand, from bit 0 on."""
        plan, word = self._shown, getattr(self, name).value
        shift = plan.size - plan[f"{name}_size"]
        return self._sized(
            m,
            shift,
            lambda number: word.word_select(
                self._shown_beat[:number] if number else 0, self.config.word_bits >> number
            ),
            f"aligned_{name}",
        )

    def _splat(self, m: Module, scalar: Value) -> Value:
        """The scalar in all elements."""
        return self._sized(
            m,
            self._shown.vs1_size,
            lambda size: scalar[: 8 << size].replicate(self.config.word_bits // (8 << size)),
            "splat",
        )

    def _old(self, m: Module) -> Value:
        """Old bits of the destination: of the beat's elements, or the byte with them."""
        width = self.config.word_bytes

        def bits(size: int) -> Value:
            count = width >> size
            place = self._shown_beat[: 3 + size]
            if count < 8:
                return self.vd.value.word_select(place >> (8 // count - 1).bit_length(), 8)
            return self.vd.value.word_select(place, count)

        return self._sized(m, self._shown.size, bits, "old")
