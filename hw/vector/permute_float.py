"""Reductions of floating-point numbers, in the order of the elements."""

from amaranth import Cat, Const, Module, Mux, Signal, Value

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.fp.float_adder import FloatAdder
from fanweave.hw.fp.float_round import FloatRounder
from fanweave.hw.fp.float_simple import FloatSimple, SimpleOperation
from fanweave.hw.fp.multiplier import Multiplier
from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_operations import PermuteOperation

__all__ = ["FloatReduceEngine"]

_O = PermuteOperation
_FORMATS = (ElementFormat.FP32, ElementFormat.FP16)
_ONE, _HALF_ONE = 0x3F800000, 0x3C00


class FloatReduceEngine(PermuteEngine):
    """A sum takes two cycles an element, a minimum or maximum one; others take one.

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
        element, number, total = Signal(len(self.vlmax)), Signal(32), Signal(32)
        self._half, self._half_result = Signal(), Signal()
        sums, needed, works, moves = Signal(), Signal(), Signal(), Signal()
        added, started, finishes = Signal(), Signal(), Signal()
        place, following = Signal(len(element) + 2), Signal(len(element) + 2)
        m.d.comb += [
            self._half.eq(size == 1),
            self._half_result.eq(self._half & ~self.is_any(_O.FLOAT_WIDE_SUM)),
            sums.eq(self.is_any(_O.FLOAT_SUM, _O.FLOAT_WIDE_SUM)),
            needed.eq(self.active & (element != instruction.vl)),
            place.eq(element << size),
            following.eq((element + 1) << size),
        ]
        start_known = self.fetch(
            m, self.vs1, self.word_of("vs1", 0), wanted=self.active, release=Const(0, 1)
        )
        known = self.fetch(
            m,
            self.vs2,
            self.word_of("vs2", place >> self.place_bits),
            wanted=needed,
            release=moves & ~following[: self.place_bits].any(),
        )
        picked = self.pick(m, self.vs2.value, place[: self.place_bits], size, "picked")
        chosen = ~self.masked | self.mask.bit_select(element, 1)
        m.d.comb += [
            number.eq(picked),
            works.eq(needed & known & started & chosen),
            moves.eq(needed & known & started & (~chosen | ~sums | added)),
            finishes.eq(started & ~needed),
            self.write.valid.eq(self.active & finishes & (instruction.vl != 0)),
            self.write.address.eq(self.word_of("vd", 0)),
            self.write.value.eq(total),
            self.write.enable.eq(Mux(self._half_result, 0b11, 0b1111)),
            self.done.eq(self.active & finishes & (~self.write.valid | self.write.ready)),
        ]
        result, flags = self._result(m, sums, total, number)
        with m.If(~self.active):
            m.d.sync += [element.eq(0), added.eq(0), started.eq(0), self.flags.eq(0)]
        with m.Elif(~started), m.If(start_known):
            m.d.sync += [
                started.eq(1),
                total.eq(Mux(self._half_result, self.vs1.value[:16], self.vs1.value[:32])),
            ]
        with m.Else():
            m.d.sync += [element.eq(element + moves), added.eq(works & sums & ~added)]
            with m.If(works & moves):
                m.d.sync += [total.eq(result), self.flags.eq(self.flags | flags)]
        return m

    def _result(
        self, m: Module, sums: Signal, total: Signal, number: Signal
    ) -> tuple[Value, Value]:
        """The next total; of a sum in the second cycle."""
        m.submodules.simple = simple = FloatSimple()
        value, flags = self._sum(m, total, number)
        half, least = self._half, self.is_any(_O.FLOAT_MIN)
        m.d.comb += [
            simple.operation.eq(Mux(least, SimpleOperation.MIN, SimpleOperation.MAX)),
            simple.a.eq(Mux(half, _stretched(total), total)),
            simple.b.eq(Mux(half, _stretched(number), number)),
        ]
        extreme = simple.result
        narrow = Cat(extreme[13:23], extreme[23:28], extreme[31], Const(0, 16))
        return (
            Mux(sums, value, Mux(half, narrow, extreme)),
            Mux(sums, flags, simple.flags),
        )

    def _sum(self, m: Module, total: Signal, number: Signal) -> tuple[Value, Value]:
        m.submodules.product = product = Multiplier(formats=_FORMATS)
        m.submodules.adder = adder = FloatAdder(formats=_FORMATS)
        m.submodules.rounder = rounder = FloatRounder(formats=_FORMATS)
        half, half_result = self._half, self._half_result
        signaling = _is_signaling(number, half) | _is_signaling(total, half_result)
        m.d.comb += [
            product.a.eq(number),
            product.b.eq(Mux(half, _HALF_ONE, _ONE)),
            product.format.eq(Mux(half, ElementFormat.FP16, ElementFormat.FP32)),
            adder.product.eq(product.product),
            adder.addend.eq(total),
            adder.addend_half.eq(half_result),
            adder.half.eq(half_result),
            adder.mode.eq(self.instruction.rounding),
            rounder.number.eq(adder.sum),
            rounder.half.eq(half_result),
            rounder.mode.eq(self.instruction.rounding),
        ]
        value = Mux(half_result, rounder.bits[:16], rounder.bits)
        return value, rounder.flags | Mux(adder.invalid | signaling, Flag.NV, 0)


def _stretched(bits: Value) -> Value:
    """An FP16 number's bits in an FP32 number's places: another number, in the same order."""
    exponent = Cat(bits[10:15], bits[10:15].all().replicate(3))
    return Cat(Const(0, 13), bits[:10], exponent, bits[15])


def _is_signaling(bits: Value, half: Value) -> Value:
    """Whether a number is a signaling NaN."""
    single = bits[23:31].all() & ~bits[22] & bits[:22].any()
    return Mux(half, bits[10:15].all() & ~bits[9] & bits[:9].any(), single)
