"""Adds an exact product to a number, for rounding in every mode."""

from collections.abc import Iterable

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import RoundingMode
from fanweave.hw.fp.float_round import check_targets, sum_bits, unrounded
from fanweave.hw.fp.product import SIGNIFICAND_BITS, Product

__all__ = ["FloatAdder"]

#: Exponents are those of FP32: the least normal one of FP16 among them.
_LEAST_HALF = 1 + ElementFormat.FP32.layout.bias - ElementFormat.FP16.layout.bias


class _Aligned(data.Struct):
    """What `_align` finds beside the summands."""

    exponent: signed(10)
    sign: unsigned(1)
    subtract: unsigned(1)


class FloatAdder(wiring.Component):
    """``addend + product`` before rounding; a register lies between adding and normalising.

    Aligns as `fanweave.hw.fp.accumulator.Accumulator` does, and for the same reasons loses
    nothing that rounding needs; but the sum leaves unrounded, in the units of its target, and an
    exact cancellation has the sign that the rounding mode asks for. An FP16 addend of an FP32 sum
    may be a subnormal, and so not normalised: then the product must be an FP16 number, and no bit
    is lost at all.

    Parameters
    ----------
    formats : iterable of ElementFormat
        Formats of addends and sums: FP32, FP16 or both. Without FP32 products are those of FP16
        numbers.

    Members
    -------
    product : In of `Product`
    addend : In(32), In(16) if there is no FP32
    addend_half : In(1)
        The addend is an FP16 number. Without effect if there is one format.
    multiply : In(1)
        The addend does not count; a zero keeps the product's sign.
    half : In(1)
        The sum is for FP16; with ``addend_half`` or ``multiply``.
    mode : In(3)
        `RoundingMode`.
    sum : Out of `unrounded`
        A cycle later.
    invalid : Out(1)
        With ``sum``: infinities were subtracted.

    Raises
    ------
    InputError
        If the formats are others.
    """

    def __init__(self, *, formats: Iterable[ElementFormat]) -> None:
        self.formats = check_targets(formats)
        self._bits = sum_bits(self.formats)
        super().__init__(
            {
                "product": In(Product),
                "addend": In(self.formats[0].bits),
                "addend_half": In(1),
                "multiply": In(1),
                "half": In(1),
                "mode": In(3),
                "sum": Out(unrounded(self._bits)),
                "invalid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total, exponent = Signal(self._bits), Signal(10)
        sign, nan, infinity = (Signal(name=f"sum_{name}") for name in ("sign", "nan", "infinity"))
        self._unpack(m)
        self._add(m, total, exponent, sign, nan, infinity)
        for step in (32, 16, 8, 4, 2, 1):
            if step >= self._bits:
                continue
            shift = Signal(name=f"shift_by_{step}")
            shifted = Signal(self._bits, name=f"total_{step}")
            lowered = Signal(10, name=f"exponent_{step}")
            m.d.comb += [
                shift.eq(~total[self._bits - step :].any() & (exponent >= step)),
                shifted.eq(Mux(shift, total << step, total)),
                lowered.eq(exponent - Mux(shift, step, 0)),
            ]
            total, exponent = shifted, lowered
        m.d.comb += [
            self.sum.significand.eq(total),
            self.sum.exponent.eq(exponent),
            self.sum.sign.eq(sign),
            self.sum.nan.eq(nan),
            self.sum.infinity.eq(infinity),
        ]
        return m

    def _choose(self, half: Value, single_value: Value | int, half_value: Value | int) -> Value:
        """What belongs to the format of an addend or sum."""
        if len(self.formats) == 2:
            return Mux(half, half_value, single_value)
        both = single_value if self.formats[0] is ElementFormat.FP32 else half_value
        return Value.cast(both)

    def _unpack(self, m: Module) -> None:
        """The addend's fields; its exponent as FP32 has it, a subnormal's that of the least."""
        significand = self.formats[0].layout.fraction_bits + 1
        half, half_field, half_sign = self.addend[:10], self.addend[10:15], self.addend[15]
        single, single_field, single_sign = half, half_field, half_sign
        if ElementFormat.FP32 in self.formats:
            single, single_field, single_sign = (
                self.addend[:23], self.addend[23:31], self.addend[31],
            )  # fmt: skip
        least = self._choose(self.addend_half, 1, _LEAST_HALF)
        half_exponent = half_field + (_LEAST_HALF - 1)
        self._significand = Signal(significand, name="addend_significand")
        self._exponent = Signal(8, name="addend_exponent")
        self._sign = Signal(name="addend_sign")
        self._special, self._fraction = Signal(name="special"), Signal(name="fraction")
        normal = Signal()
        padded = Cat(Const(0, significand - 11), half, normal)
        chosen = self.addend_half
        m.d.comb += [
            self._special.eq(
                self._choose(chosen, single_field.all(), half_field.all()) & ~self.multiply
            ),
            self._fraction.eq(self._choose(chosen, single.any(), half.any())),
            normal.eq(self._choose(chosen, single_field.any(), half_field.any())),
            self._sign.eq(self._choose(chosen, single_sign, half_sign)),
        ]
        with m.If(self.multiply):
            # Nothing, at the exponent of the least number that the sum may have.
            m.d.comb += self._exponent.eq(self._choose(self.half, 1, _LEAST_HALF))
        with m.Else():
            m.d.comb += [
                self._significand.eq(self._choose(chosen, Cat(single, normal), padded)),
                self._exponent.eq(
                    Mux(normal, self._choose(chosen, single_field, half_exponent), least)
                ),
            ]

    def _add(
        self,
        m: Module,
        total: Signal,
        exponent: Signal,
        sign: Signal,
        nan: Signal,
        infinity: Signal,
    ) -> None:
        """Sum and its exponent, and what else it may be; all registered."""
        product, width = self.product, self._bits - 1
        larger, smaller, aligned = self._align(m)
        difference = Signal(signed(width + 1))
        added, negative, cancelled = Signal(self._bits), Signal(), Signal()
        m.d.comb += [
            difference.eq(larger - smaller),
            negative.eq(aligned.subtract & difference[width]),
            added.eq(
                Mux(
                    aligned.subtract,
                    Mux(negative, -difference, difference)[:width],
                    larger + smaller,
                )
            ),
            cancelled.eq(aligned.subtract & ~added.any()),
        ]
        addend_infinite = self._special & ~self._fraction
        opposed = product.infinity & addend_infinite & (product.sign ^ self._sign)
        rounding_down = self.mode == RoundingMode.RDN
        is_nan = product.nan | (self._special & self._fraction)
        m.d.sync += [
            total.eq(added),
            exponent.eq(aligned.exponent - self._choose(self.half, 0, _LEAST_HALF - 1)),
            sign.eq(Mux(cancelled, rounding_down, aligned.sign ^ negative)),
            nan.eq(is_nan | opposed),
            infinity.eq(product.infinity | addend_infinite),
            self.invalid.eq(opposed & ~is_nan),
        ]
        with m.If(product.infinity | addend_infinite):
            m.d.sync += sign.eq(Mux(product.infinity, product.sign, self._sign))

    def _align(self, m: Module) -> tuple[Signal, Signal, data.View]:
        """The summand with the larger exponent at the top, and the other relative to it."""
        product, width = self.product, self._bits - 1
        sign = Signal()
        difference = Signal(signed(11))
        product_larger, distance = Signal(), Signal(range(width + 1))
        farther = Signal(11)
        larger, smaller, shifted = Signal(width), Signal(width), Signal(width)
        lost, far, aligned = Signal(width), Signal(width), Signal(_Aligned)
        given = product.significand[max(SIGNIFICAND_BITS - width, 0) :]
        from_product = Cat(Const(0, width - len(given)), given)
        from_addend = Cat(Const(0, width - len(self._significand)), self._significand)
        m.d.comb += [
            sign.eq(Mux(self.multiply, product.sign, self._sign)),
            difference.eq(product.exponent - self._exponent),
            product_larger.eq(difference >= 0),
            farther.eq(Mux(product_larger, difference, -difference)),
            distance.eq(Mux(farther > width, width, farther)),
            larger.eq(Mux(product_larger, from_product, from_addend)),
            far.eq(Mux(product_larger, from_addend, from_product)),
            shifted.eq(far >> distance),
            lost.eq(far & ~((Const((1 << width) - 1) >> distance) << distance)),
            smaller.eq(Cat(shifted[0] | lost.any(), shifted[1:])),
            aligned.exponent.eq(Mux(product_larger, product.exponent, self._exponent)),
            aligned.sign.eq(Mux(product_larger, product.sign, sign)),
            aligned.subtract.eq(product.sign ^ sign),
        ]
        return larger, smaller, aligned
