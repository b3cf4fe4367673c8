"""Reductions of integers."""

from collections.abc import Callable

from amaranth import Cat, Const, Module, Mux, Signal, Value

from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation

__all__ = ["ReduceEngine"]

_O = PermuteOperation
_WIDE = (_O.WIDE_SUM, _O.WIDE_SUM_UNSIGNED)


def _lesser(a: Value, b: Value) -> Value:
    return Mux(a < b, a, b)


def _greater(a: Value, b: Value) -> Value:
    return Mux(a < b, b, a)


#: What becomes of two elements.
_FUNCTIONS: dict[PermuteOperation, Callable[[Value, Value], Value]] = {
    **dict.fromkeys((_O.SUM, *_WIDE), lambda a, b: (a + b)[: len(a)]),
    _O.AND: lambda a, b: a & b,
    _O.OR: lambda a, b: a | b,
    _O.XOR: lambda a, b: a ^ b,
    _O.MIN_UNSIGNED: _lesser,
    _O.MIN: lambda a, b: _lesser(a.as_signed(), b.as_signed()),
    _O.MAX_UNSIGNED: _greater,
    _O.MAX: lambda a, b: _greater(a.as_signed(), b.as_signed()),
}


class ReduceEngine(PermuteEngine):
    """Takes a word a cycle into as many partial results, then folds these into one.

    What it computes does not depend on the order. A widening sum takes half a word a cycle.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    See `PermuteEngine`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, instruction = self.config, self.instruction
        bits = config.word_bits
        self._wide, self._size = Signal(), Signal(2)
        m.d.comb += [
            self._wide.eq(self.is_any(*_WIDE)),
            self._size.eq(instruction.sew + self._wide),
        ]
        count = range(8 * config.words + 1)
        asked, word, words = Signal(count), Signal(count), Signal(count)
        needed, moves, half, ends_word = Signal(), Signal(), Signal(), Signal()
        result, operand, total = Signal(bits), Signal(bits), Signal(bits)
        #: Bytes that a partial result is folded by.
        fold = Signal(range(config.word_bytes))
        m.d.comb += [
            words.eq(self.words_of(instruction.vl, instruction.sew)),
            needed.eq(self.active & (word != words)),
            ends_word.eq(~self._wide | half),
            self.vs2.valid.eq(self.active & (asked != words) & (~moves | ends_word)),
            self.vs2.address.eq(self.word_of("vs2", asked)),
        ]
        start_known = self.fetch(
            m, self.vs1, self.word_of("vs1", 0), wanted=self.active, release=Const(0, 1)
        )
        identity, taken = self._operand(m, word, half)
        started, finishes = Signal(), Signal()
        m.d.comb += [
            finishes.eq(self.active & ~needed & (fold < (1 << self._size)) & start_known),
            operand.eq(
                Mux(
                    needed,
                    taken,
                    Mux(finishes, self.vs1.value, total >> (fold << 3)),
                )
            ),
            self.write.valid.eq(finishes & (instruction.vl != 0)),
            self.write.address.eq(self.word_of("vd", 0)),
            self.write.value.eq(result),
            self.write.enable.eq((1 << (1 << self._size)) - 1),
            self.done.eq(finishes & (~self.write.valid | self.write.ready)),
        ]
        self._function(m, Mux(started, total, identity), operand, result)
        with m.If(~self.active):
            m.d.sync += [asked.eq(0), word.eq(0), half.eq(0), moves.eq(0), started.eq(0)]
            m.d.sync += fold.eq(config.word_bytes // 2)
        with m.Else():
            taken_word = self.vs2.valid & self.vs2.ready
            m.d.sync += [
                asked.eq(asked + taken_word),
                moves.eq(taken_word | (moves & ~ends_word)),
            ]
        with m.If(self.active & moves):
            m.d.sync += [
                word.eq(word + ends_word),
                half.eq(self._wide & ~half),
                started.eq(1),
                total.eq(result),
            ]
        with m.Elif(self.active & ~needed & (fold >= (1 << self._size))):
            m.d.sync += [total.eq(result), fold.eq(fold >> 1)]
        return m

    def _operand(self, m: Module, word: Signal, half: Signal) -> tuple[Signal, Signal]:
        """The identity in all elements, and the word's elements, it in place of inactive ones."""
        width = self.config.word_bytes
        active = self.active_bytes(m, word)
        identity, taken = Signal(8 * width), Signal(8 * width)
        low, high = Signal(), Signal()
        m.d.comb += [
            low.eq(self.is_any(_O.AND, _O.MIN_UNSIGNED, _O.MIN)),
            high.eq(low ^ self.is_any(_O.MIN, _O.MAX)),
        ]
        one = Cat(low.replicate(31), high)
        with m.Switch(self._size):
            for size in range(3):
                bits = 8 << size
                with m.Case(size):
                    element = Cat(one[: bits - 1], high)
                    m.d.comb += identity.eq(element.replicate(8 * width // bits))
        value = self.vs2.value
        with m.If(~self._wide):
            for at in range(width):
                part = slice(8 * at, 8 * at + 8)
                m.d.comb += taken[part].eq(Mux(active.enable[at], value[part], identity[part]))
        with m.Else():
            signed = self.is_any(_O.WIDE_SUM)
            for size in range(2):
                bits = 8 << size
                with m.If(self.instruction.sew == size):
                    chosen = value.word_select(half, 4 * width)
                    enable = active.enable.word_select(half, width // 2)
                    for at in range(4 * width // bits):
                        element = chosen[at * bits : at * bits + bits]
                        extended = Cat(element, (signed & element[-1]).replicate(bits))
                        m.d.comb += taken[2 * bits * at : 2 * bits * (at + 1)].eq(
                            Mux(enable[at << size], extended, 0)
                        )
        return identity, taken

    def _function(self, m: Module, a: Value, b: Value, result: Signal) -> None:
        """All elements of two words."""
        bits = len(result)
        first, second = Signal(bits, name="first"), Signal(bits, name="second")
        m.d.comb += [first.eq(a), second.eq(b)]
        for size in range(3):
            wide = 8 << size
            with m.If(self._size == size), m.Switch(self.operation):
                for operation, function in _FUNCTIONS.items():
                    with m.Case(operation):
                        for at in range(0, bits, wide):
                            part = slice(at, at + wide)
                            m.d.comb += result[part].eq(function(first[part], second[part]))
