"""Estimates of reciprocals and of reciprocals of square roots, to seven bits."""

from collections.abc import Iterable

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.fp.instructions.estimates import RECIPROCAL_ROOT_TABLE, RECIPROCAL_TABLE
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode
from fanweave.hw.fp.float_round import check_targets
from fanweave.hw.fp.product import EXPONENT_BIAS, Product

__all__ = ["FloatEstimate"]


class FloatEstimate(wiring.Component):
    """Combinational; takes the number as a product, so that subnormals are normalised already.

    Parameters
    ----------
    formats : iterable of ElementFormat
        FP32, FP16 or both.

    Members
    -------
    number : In of `Product`
    half : In(1)
        Number and result are FP16. Without effect if there is one format.
    root : In(1)
        Estimate 1 / sqrt(number).
    mode : In(3)
        `RoundingMode`, not dynamic; for what overflows.
    bits : Out(32), Out(16) if there is no FP32
    flags : Out(5)
        Without that of a signaling NaN, which a product does not tell.
    """

    def __init__(self, *, formats: Iterable[ElementFormat]) -> None:
        self.formats = check_targets(formats)
        super().__init__(
            {
                "number": In(Product),
                "half": In(1),
                "root": In(1),
                "mode": In(3),
                "bits": Out(self.formats[0].bits),
                "flags": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = self.number
        digits, exponent = Signal(7), Signal(signed(11))
        from_root, from_number = Signal(signed(11)), Signal(signed(11))
        fraction = number.significand[:-1]
        bias = self._bias()
        # Out of golden's tables: exponents less the bias, even ones of roots in the second half.
        index = Cat(fraction[-6:], number.exponent[0])
        m.d.comb += [
            digits.eq(
                Mux(
                    self.root,
                    _table(RECIPROCAL_ROOT_TABLE, index),
                    _table(RECIPROCAL_TABLE, fraction[-7:]),
                )
            ),
            from_root.eq(bias + ((EXPONENT_BIAS - 1 - number.exponent) >> 1)),
            from_number.eq(bias + (EXPONENT_BIAS - 1) - number.exponent),
            exponent.eq(Mux(self.root, from_root, from_number)),
        ]
        beyond, negative_root, by_zero = Signal(), Signal(), Signal()
        plain = ~(number.nan | number.infinity | number.zero)
        m.d.comb += [
            # The reciprocal of the least subnormals is above the largest number.
            beyond.eq(plain & ~self.root & (from_number > 2 * bias)),
            negative_root.eq(self.root & number.sign & ~number.zero & ~number.nan),
            by_zero.eq(number.zero),
        ]
        for item in self.formats:
            chosen = Const(1) if len(self.formats) == 1 else (
                self.half == (item is ElementFormat.FP16))  # fmt: skip
            with m.If(chosen):
                m.d.comb += self.bits.eq(self._pack(item, digits, exponent, beyond, negative_root))
        m.d.comb += self.flags.eq(
            Mux(negative_root, Flag.NV, 0)
            | Mux(by_zero, Flag.DZ, 0)
            | Mux(beyond, Flag.OF | Flag.NX, 0)
        )
        return m

    def _bias(self) -> Value:
        biases = [item.layout.bias for item in self.formats]
        return Const(biases[0]) if len(biases) == 1 else Mux(self.half, biases[1], biases[0])

    def _pack(
        self, item: ElementFormat, digits: Value, exponent: Value, beyond: Value, invalid: Value
    ) -> Value:
        """The result in a format."""
        number, layout = self.number, item.layout
        padding = Const(0, layout.fraction_bits - 7)
        infinity = Cat(Const(0, layout.fraction_bits), Const((1 << layout.exponent_bits) - 1))
        fraction = Cat(padding, digits)
        normal = Cat(fraction, exponent[: layout.exponent_bits])
        leading = Cat(fraction, Const(1, 1))
        # Reciprocals of the largest numbers are subnormal: at exponents 0 and -1.
        subnormal = Mux(exponent == 0, leading >> 1, leading >> 2)
        to_largest = (
            (self.mode == RoundingMode.RTZ)
            | ((self.mode == RoundingMode.RDN) & ~number.sign)
            | ((self.mode == RoundingMode.RUP) & number.sign)
        )
        magnitude = Mux(exponent <= 0, subnormal, normal)
        magnitude = Mux(number.infinity, 0, magnitude)
        magnitude = Mux(number.zero, infinity, magnitude)
        magnitude = Mux(beyond, infinity - to_largest, magnitude)
        invalid_or_nan = number.nan | invalid
        return Cat(
            Mux(invalid_or_nan, layout.canonical_nan, magnitude)[: layout.bits - 1],
            number.sign & ~invalid_or_nan,
        )


def _table(values: Iterable[int], index: Value) -> Value:
    return Array(Const(int(value), 7) for value in values)[index]
