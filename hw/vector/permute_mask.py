"""Mask instructions: a word of mask bits at a time."""

from collections.abc import Callable

from amaranth import Cat, Module, Mux, Signal, Value

from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation

__all__ = ["MaskEngine", "ones_of"]

_O = PermuteOperation
_LOGICAL: dict[PermuteOperation, Callable[[Value, Value], Value]] = {
    _O.MASK_AND: lambda a, b: a & b,
    _O.MASK_AND_NOT: lambda a, b: a & ~b,
    _O.MASK_OR: lambda a, b: a | b,
    _O.MASK_XOR: lambda a, b: a ^ b,
    _O.MASK_OR_NOT: lambda a, b: a | ~b,
    _O.MASK_NAND: lambda a, b: ~(a & b),
    _O.MASK_NOR: lambda a, b: ~(a | b),
    _O.MASK_XNOR: lambda a, b: ~(a ^ b),
}


def ones_of(bits: Value) -> Value:
    """How many bits are set."""
    counts: list[Value] = list(bits)
    while len(counts) > 1:
        odd = counts[-1:] if len(counts) % 2 else []
        pairs = zip(counts[::2], counts[1::2], strict=False)
        counts = [a + b for a, b in pairs] + odd
    return counts[0]


class MaskEngine(PermuteEngine):
    """Logic on masks, and what depends on the first bit that is set.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.config.word_bits
        word, words = (Signal(range(self.config.words + 1), name=n) for n in ("word", "words"))
        needed, writes, complete, moves = Signal(), Signal(), Signal(), Signal()
        active, source, found = Signal(bits), Signal(bits), Signal()
        m.d.comb += [
            words.eq((self.instruction.vl + bits - 1) >> (bits.bit_length() - 1)),
            needed.eq(word != words),
            writes.eq(~self.is_any(_O.COUNT, _O.FIRST)),
            active.eq(
                self._below(m, self.instruction.vl, word, "within")
                & ~self._below(m, self.instruction.vstart, word, "before")
                & (self.mask.word_select(word, bits) | (~self.masked).replicate(bits))
            ),
            source.eq(self.vs2.value & active),
            complete.eq(
                self.active
                & needed
                & Cat(
                    self.fetch(m, port, self.word_of(field, word), wanted=wanted, release=moves)
                    for port, field, wanted in (
                        (self.vs2, "vs2", needed),
                        (self.vs1, "vs1", needed & self.is_any(*_LOGICAL)),
                        (self.vd, "vd", needed & writes),
                    )
                ).all()
            ),
            moves.eq(complete & (~self.write.valid | self.write.ready)),
            self.write.valid.eq(complete & writes & active.any()),
            self.write.address.eq(self.word_of("vd", word)),
            self.write.enable.eq(-1),
            self.done.eq(self.active & ~needed),
        ]
        with m.If(~self.active):
            m.d.sync += [word.eq(0), found.eq(0)]
        with m.Elif(moves):
            m.d.sync += [word.eq(word + 1), found.eq(found | source.any())]
        below = Signal(bits)
        m.d.comb += below.eq((source - 1) & ~source)
        result = self._result(m, source, below, found)
        m.d.comb += self.write.value.eq((self.vd.value & ~active) | (result & active))
        self._count(m, source, below, found, moves, word)
        return m

    def _below(self, m: Module, end: Value, word: Value, name: str) -> Signal:
        """Bits of a word that stand for elements below an end."""
        bits = self.config.word_bits
        below, places = Signal(bits, name=name), Signal(range(bits + 1), name=f"{name}_places")
        with m.If(end >= (word + 1) * bits):
            m.d.comb += places.eq(bits)
        with m.Elif(end > word * bits):
            m.d.comb += places.eq(end - word * bits)
        m.d.comb += below.eq((1 << places) - 1)
        return below

    def _result(self, m: Module, source: Value, below: Value, found: Value) -> Signal:
        """Bits of the destination; behind the first bit there are none."""
        result = Signal(self.config.word_bits)
        first = source & -source
        before = Mux(found, 0, below)
        with m.Switch(self.operation):
            for operation, function in _LOGICAL.items():
                with m.Case(operation):
                    m.d.comb += result.eq(function(self.vs2.value, self.vs1.value))
            with m.Case(_O.BEFORE_FIRST):
                m.d.comb += result.eq(before)
            with m.Case(_O.UP_TO_FIRST):
                m.d.comb += result.eq(Mux(found, 0, below | first))
            with m.Case(_O.ONLY_FIRST):
                m.d.comb += result.eq(Mux(found, 0, first))
        return result

    def _count(
        self, m: Module, source: Value, below: Value, found: Value, moves: Value, word: Value
    ) -> None:
        """Bits that are set, or those below the first one, which are its number."""
        bits = self.config.word_bits
        total, ones = Signal(32), Signal(range(bits + 1))
        counts = self.is_any(_O.COUNT)
        m.d.comb += [
            ones.eq(ones_of(Mux(counts, source, below))),
            self.value.eq(Mux(counts | found, total, 0xFFFFFFFF)),
        ]
        with m.If(~self.active):
            m.d.sync += total.eq(0)
        with m.Elif(moves & counts):
            m.d.sync += total.eq(total + ones)
        with m.Elif(moves & ~found):
            m.d.sync += total.eq(word * bits + ones)
