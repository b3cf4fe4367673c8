"""Slides, and moves of whole registers: bytes that go up or down."""

from amaranth import Const, Module, Mux, Signal, Value

from fanweave.hw.vector.memory_load import rotated
from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation

__all__ = ["SlideEngine"]

_O = PermuteOperation


class SlideEngine(PermuteEngine):
    """A word a cycle, made of the last two words of the source.

    A slide down that is no whole number of words has a step more in front, which only reads.
    Words are read before those that lie lower are written, so a destination that is the source
    does no harm.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._measure(m)
        count = range(8 * self.config.words + 2)
        number, asking = Signal(count), Signal()
        there, moved, enters = Signal(), Signal(), Signal()
        source, target = Signal(len(number) + 1), Signal(count)
        reads, sinks = Signal(), Signal()
        asking_more = number != self._steps
        m.d.comb += [
            source.eq(Mux(self._up, number, number + self._whole)),
            reads.eq(source < self._source_words),
            asking.eq(self.active & asking_more & (~there | moved)),
            self.vs2.valid.eq(asking & reads),
            self.vs2.address.eq(self.word_of("vs2", source)),
            enters.eq(asking & (~reads | self.vs2.ready)),
            self.done.eq(self.active & ~asking_more & (~there | moved)),
        ]
        has_source = Signal()
        with m.If(~self.active):
            m.d.sync += [number.eq(0), there.eq(0)]
        with m.Elif(enters):
            m.d.sync += [
                number.eq(number + 1),
                there.eq(1),
                has_source.eq(reads),
                sinks.eq((number != 0) | ~self._prepares),
                target.eq(Mux(self._up, number + self._whole, number - self._prepares)),
            ]
        with m.Elif(moved):
            m.d.sync += there.eq(0)
        self._write(m, there, moved, has_source, sinks, target)
        return m

    def _measure(self, m: Module) -> None:
        """How far, and how many words."""
        config, instruction = self.config, self.instruction
        length = len(self.vlmax)
        one = self.is_any(_O.SLIDE_ONE_UP, _O.SLIDE_ONE_DOWN)
        registers = self.is_any(_O.MOVE_REGISTERS)
        count = Const(config.vlen // 8) * (instruction.word[15:18] + 1)
        offset, self._length = Signal(length), Signal(length)
        self._up, self._first = Signal(), Signal(length)
        shift, self._whole = Signal(self.place_bits), Signal(range(8 * config.words + 1))
        self._turn, self._prepares = Signal(self.place_bits), Signal()
        self._source_words, self._steps = (
            Signal(range(8 * config.words + 2), name=name) for name in ("source_words", "steps")
        )
        words = Signal(range(8 * config.words + 1))
        m.d.comb += [
            self._length.eq(Mux(registers, count >> instruction.sew, instruction.vl)),
            self._up.eq(self.is_any(_O.SLIDE_UP, _O.SLIDE_ONE_UP)),
            words.eq(self.words_of(self._length, instruction.sew)),
            shift.eq(offset << instruction.sew),
            self._whole.eq((offset << instruction.sew) >> self.place_bits),
            self._turn.eq(Mux(self._up, shift, -shift)),
            self._prepares.eq(~self._up & (shift != 0)),
            self._first.eq(instruction.vstart),
            self._source_words.eq(
                Mux(registers, words, self.words_of(self.vlmax, instruction.sew))
            ),
        ]
        with m.If(one):
            m.d.comb += offset.eq(1)
        with m.Elif(registers):
            m.d.comb += offset.eq(0)
        with m.Elif(instruction.scalar < self.vlmax):
            m.d.comb += offset.eq(instruction.scalar)
        with m.Else():
            m.d.comb += offset.eq(self.vlmax)
        with m.If(self.is_any(_O.SLIDE_UP) & (offset > instruction.vstart)):
            m.d.comb += self._first.eq(offset)
        with m.If(self._length <= self._first):
            m.d.comb += self._steps.eq(0)
        with m.Elif(self._up):
            m.d.comb += self._steps.eq(words - self._whole)
        with m.Else():
            m.d.comb += self._steps.eq(words + self._prepares)

    def _write(
        self,
        m: Module,
        there: Signal,
        moved: Signal,
        has_source: Signal,
        sinks: Signal,
        target: Signal,
    ) -> None:
        config, instruction = self.config, self.instruction
        width = config.word_bytes
        active = self.active_bytes(m, target)
        known, turned, before = (
            Signal(config.word_bits, name=name) for name in ("known", "turned", "before")
        )
        m.d.comb += [
            active.first.eq(self._first),
            active.length.eq(self._length),
            active.masked.eq(self.masked & ~self.is_any(_O.MOVE_REGISTERS)),
            known.eq(Mux(has_source, self.vs2.value & self._inside(m), 0)),
            turned.eq(rotated(known, self._turn, 8)),
            self.write.valid.eq(there & sinks & active.enable.any()),
            self.write.address.eq(self.word_of("vd", target)),
            self.write.enable.eq(active.enable),
            moved.eq(there & (~self.write.valid | self.write.ready)),
        ]
        with m.If(moved):
            m.d.sync += before.eq(turned)
        scalar = self.splat(m, instruction.scalar, instruction.sew, "scalars")
        place = Mux(self._up, 0, (instruction.vl - 1) << instruction.sew)
        scalar_bytes = Signal(width)
        with m.If(
            self.is_any(_O.SLIDE_ONE_UP, _O.SLIDE_ONE_DOWN) & (target == place >> self.place_bits)
        ):
            element = (1 << (1 << instruction.sew)) - 1
            m.d.comb += scalar_bytes.eq(element << place[: self.place_bits])
        for at in range(width):
            part = slice(8 * at, 8 * at + 8)
            m.d.comb += self.write.value[part].eq(
                Mux(
                    scalar_bytes[at],
                    scalar[part],
                    Mux(self._turn <= at, turned[part], before[part]),
                )
            )

    def _inside(self, m: Module) -> Value:
        """Bytes of a source's word that its group has; a fractional group is less than a word."""
        inside = Signal(self.config.word_bits)
        bits = Signal(range(8 * self.config.vlen + 1))
        full = self.is_any(_O.MOVE_REGISTERS)
        m.d.comb += bits.eq(self.vlmax << (self.instruction.sew + 3))
        with m.If(full | (bits >= self.config.word_bits)):
            m.d.comb += inside.eq(-1)
        with m.Else():
            m.d.comb += inside.eq((1 << bits[: self.config.word_bits.bit_length()]) - 1)
        return inside
