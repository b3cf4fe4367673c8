"""Single elements: gathers, compress, and those of scalar registers."""

from amaranth import Cat, Const, Module, Mux, Signal, Value

from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation, is_floating

__all__ = ["ElementEngine", "GatherEngine", "SplatEngine"]

_O = PermuteOperation


class GatherEngine(PermuteEngine):
    """An element a cycle, and two cycles for each word of indices or mask bits.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        instruction, size = self.instruction, self.instruction.sew
        length = len(self.vlmax)
        element, target = Signal(length), Signal(length)
        compresses, needed, works, moves = Signal(), Signal(), Signal(), Signal()
        there, moved, enters, inside = Signal(), Signal(), Signal(), Signal()
        position, known = self._position(m, element, compresses, needed, moves)
        free = ~there | moved
        chosen = Mux(
            compresses,
            self.vs1.value.bit_select(element[: self.place_bits + 3], 1),
            (element >= instruction.vstart) & (~self.masked | self.mask.bit_select(element, 1)),
        )
        m.d.comb += [
            compresses.eq(self.is_any(_O.COMPRESS)),
            needed.eq(self.active & (element != instruction.vl)),
            works.eq(needed & known & chosen),
            inside.eq(position < self.vlmax),
            self.vs2.valid.eq(works & inside & free),
            self.vs2.address.eq(
                self.word_of("vs2", (position[:length] << size) >> self.place_bits)
            ),
            enters.eq(works & free & (~inside | self.vs2.ready)),
            moves.eq(needed & known & (~chosen | enters)),
            self.done.eq(self.active & ~needed & free),
        ]
        source, place, zero = Signal(self.place_bits), Signal(length + 2), Signal()
        with m.If(~self.active):
            m.d.sync += [element.eq(0), target.eq(0), there.eq(0)]
        with m.Else():
            m.d.sync += [element.eq(element + moves), there.eq(enters | (there & ~moved))]
            with m.If(enters):
                m.d.sync += [
                    source.eq(position << size),
                    place.eq(Mux(compresses, target, element) << size),
                    zero.eq(~inside),
                    target.eq(target + 1),
                ]
        picked = self.pick(m, self.vs2.value, source, size, "picked")
        bytes_of_element = (1 << (1 << size)) - 1
        m.d.comb += [
            self.write.valid.eq(there),
            self.write.address.eq(self.word_of("vd", place >> self.place_bits)),
            self.write.value.eq(self.splat(m, Mux(zero, 0, picked), size, "value")),
            self.write.enable.eq(bytes_of_element << place[: self.place_bits]),
            moved.eq(there & self.write.ready),
        ]
        return m

    def _position(
        self, m: Module, element: Signal, compresses: Signal, needed: Signal, moves: Signal
    ) -> tuple[Signal, Value]:
        """Where the element comes from, and whether that is known."""
        width = Signal(2)
        place, following = Signal(len(element) + 2), Signal(len(element) + 2)
        word, last = Signal(range(8 * self.config.words + 1)), Signal()
        bits = self.place_bits
        m.d.comb += [
            width.eq(Mux(self.is_any(_O.GATHER_16), 1, self.instruction.sew)),
            place.eq(element << width),
            following.eq((element + 1) << width),
            word.eq(Mux(compresses, element >> (bits + 3), place >> bits)),
            last.eq(~Mux(compresses, (element + 1)[: bits + 3].any(), following[:bits].any())),
        ]
        known = self.fetch(
            m, self.vs1, self.word_of("vs1", word), wanted=needed, release=moves & last
        )
        position = Signal(32)
        index = self.pick(m, self.vs1.value, place[:bits], width, "index")
        m.d.comb += position.eq(Mux(compresses, element, index))
        return position, known


class SplatEngine(PermuteEngine):
    """One element of a group, or none, into all of another: read once, then a word a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        instruction, size = self.instruction, self.instruction.sew
        place, inside = Signal(len(self.vlmax) + 2), Signal()
        count = range(8 * self.config.words + 1)
        word, words, needed, moves = Signal(count), Signal(count), Signal(), Signal()
        m.d.comb += [
            inside.eq(instruction.scalar < self.vlmax),
            place.eq(instruction.scalar[: len(self.vlmax)] << size),
            words.eq(self.words_of(instruction.vl, size)),
            needed.eq(self.active & (word != words)),
        ]
        known = self.fetch(
            m,
            self.vs2,
            self.word_of("vs2", place >> self.place_bits),
            wanted=needed & inside,
            release=Const(0, 1),
        )
        picked = self.pick(m, self.vs2.value, place[: self.place_bits], size, "picked")
        active = self.active_bytes(m, word)
        m.d.comb += [
            self.write.valid.eq(needed & known & active.enable.any()),
            self.write.address.eq(self.word_of("vd", word)),
            self.write.value.eq(self.splat(m, Mux(inside, picked, 0), size, "value")),
            self.write.enable.eq(active.enable),
            moves.eq(needed & known & (~active.enable.any() | self.write.ready)),
            self.done.eq(self.active & ~needed),
        ]
        m.d.sync += word.eq(Mux(self.active, word + moves, 0))
        return m


class ElementEngine(PermuteEngine):
    """Element 0 to a scalar register, or from one.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        instruction, size = self.instruction, self.instruction.sew
        reads, writes, floating = Signal(), Signal(), Signal()
        m.d.comb += [
            reads.eq(self.is_any(_O.TO_SCALAR)),
            writes.eq(~reads & (instruction.vstart < instruction.vl)),
            floating.eq(is_floating(instruction.word)),
        ]
        known = self.fetch(m, self.vs2, self.word_of("vs2", 0), wanted=reads, release=Const(0, 1))
        element = self.vs2.value
        # Numbers are boxed, integers extended with their sign.
        sign = floating | Mux(size == 0, element[7], element[15])
        m.d.comb += [
            self.value.eq(
                Mux(
                    size == 2,
                    element[:32],
                    Cat(
                        element[:8],
                        Mux(size == 1, element[8:16], sign.replicate(8)),
                        sign.replicate(16),
                    ),
                )
            ),
            self.write.valid.eq(self.active & writes),
            self.write.address.eq(self.word_of("vd", 0)),
            self.write.value.eq(instruction.scalar),
            self.write.enable.eq((1 << (1 << size)) - 1),
            self.done.eq(self.active & Mux(reads, known, ~writes | self.write.ready)),
        ]
        return m
