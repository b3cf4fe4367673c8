"""Adds an exact product to a number, for rounding in every mode."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import RoundingMode
from fanweave.hw.fp.float_round import SUM_BITS, Unrounded
from fanweave.hw.fp.product import SIGNIFICAND_BITS, Product

__all__ = ["FloatAdder"]

_WIDTH = SUM_BITS - 1
#: Exponents are those of FP32: the least normal one of FP16 among them.
_LEAST_HALF = 1 + ElementFormat.FP32.layout.bias - ElementFormat.FP16.layout.bias


class FloatAdder(wiring.Component):
    """``addend + product`` before rounding; a register lies between adding and normalising.

    Aligns as `fanweave.hw.fp.accumulator.Accumulator` does, and for the same reasons loses
    nothing that rounding needs; but the sum leaves unrounded, in the units of its target, and an
    exact cancellation has the sign that the rounding mode asks for.

    Members
    -------
    product : In of `Product`
    addend : In(32)
        FP32.
    multiply : In(1)
        The addend does not count; a zero keeps the product's sign.
    half : In(1)
        The sum is for FP16; only with ``multiply``.
    mode : In(3)
        `RoundingMode`.
    sum : Out of `Unrounded`
        A cycle later.
    invalid : Out(1)
        With ``sum``: infinities were subtracted.
    """

    product: In(Product)
    addend: In(32)
    multiply: In(1)
    half: In(1)
    mode: In(3)
    sum: Out(Unrounded)
    invalid: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total, exponent = Signal(SUM_BITS), Signal(10)
        sign, nan, infinity = (Signal(name=f"sum_{name}") for name in ("sign", "nan", "infinity"))
        self._add(m, total, exponent, sign, nan, infinity)
        for step in (32, 16, 8, 4, 2, 1):
            shift = Signal(name=f"shift_by_{step}")
            shifted = Signal(SUM_BITS, name=f"total_{step}")
            lowered = Signal(10, name=f"exponent_{step}")
            m.d.comb += [
                shift.eq(~total[SUM_BITS - step :].any() & (exponent >= step)),
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
        product = self.product
        larger, smaller, at, larger_sign, subtract = self._align(m)
        difference = Signal(signed(_WIDTH + 1))
        added, negative, cancelled = Signal(SUM_BITS), Signal(), Signal()
        m.d.comb += [
            difference.eq(larger - smaller),
            negative.eq(subtract & difference[_WIDTH]),
            added.eq(
                Mux(subtract, Mux(negative, -difference, difference)[:_WIDTH], larger + smaller)
            ),
            cancelled.eq(subtract & ~added.any()),
        ]
        addend_special = self.addend[23:31].all() & ~self.multiply
        addend_infinite = addend_special & ~self.addend[:23].any()
        addend_nan = addend_special & self.addend[:23].any()
        opposed = product.infinity & addend_infinite & (product.sign ^ self.addend[31])
        rounding_down = self.mode == RoundingMode.RDN
        is_nan = product.nan | addend_nan
        m.d.sync += [
            total.eq(added),
            exponent.eq(at - Mux(self.half, _LEAST_HALF - 1, 0)),
            sign.eq(Mux(cancelled, rounding_down, larger_sign ^ negative)),
            nan.eq(is_nan | opposed),
            infinity.eq(product.infinity | addend_infinite),
            self.invalid.eq(opposed & ~is_nan),
        ]
        with m.If(product.infinity | addend_infinite):
            m.d.sync += sign.eq(Mux(product.infinity, product.sign, self.addend[31]))

    def _align(self, m: Module) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """The summand with the larger exponent at the top, and the other relative to it."""
        product = self.product
        magnitude = Signal(31)
        sign, subtract, normal = Signal(), Signal(), Signal()
        least = Mux(self.half, _LEAST_HALF, 1)
        addend_exponent = Signal(8)
        m.d.comb += [
            magnitude.eq(Mux(self.multiply, 0, self.addend[:31])),
            sign.eq(Mux(self.multiply, product.sign, self.addend[31])),
            subtract.eq(product.sign ^ sign),
            normal.eq(magnitude[23:].any()),
            addend_exponent.eq(Mux(normal, magnitude[23:], least)),
        ]
        difference = Signal(signed(11))
        product_larger, distance = Signal(), Signal(range(_WIDTH + 1))
        farther = Signal(11)
        larger, smaller, shifted = Signal(_WIDTH), Signal(_WIDTH), Signal(_WIDTH)
        lost, at, larger_sign = Signal(_WIDTH), Signal(10), Signal()
        from_product = Cat(Const(0, _WIDTH - SIGNIFICAND_BITS), product.significand)
        from_addend = Cat(Const(0, _WIDTH - 24), magnitude[:23], normal)
        far = Signal(_WIDTH)
        m.d.comb += [
            difference.eq(product.exponent - addend_exponent),
            product_larger.eq(difference >= 0),
            farther.eq(Mux(product_larger, difference, -difference)),
            distance.eq(Mux(farther > _WIDTH, _WIDTH, farther)),
            larger.eq(Mux(product_larger, from_product, from_addend)),
            far.eq(Mux(product_larger, from_addend, from_product)),
            shifted.eq(far >> distance),
            lost.eq(far & ~((Const((1 << _WIDTH) - 1) >> distance) << distance)),
            smaller.eq(Cat(shifted[0] | lost.any(), shifted[1:])),
            at.eq(Mux(product_larger, product.exponent, addend_exponent)),
            larger_sign.eq(Mux(product_larger, product.sign, sign)),
        ]
        return larger, smaller, at, larger_sign, subtract
