"""Adds an exact product to an accumulator and rounds once."""

from types import SimpleNamespace

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.errors import InputError
from fanweave.golden.fp import accumulate_product
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp.pipeline import check_latency, stage
from fanweave.hw.fp.product import Product

__all__ = ["Accumulator"]

#: Width of an aligned significand. The larger summand starts at the top. If exponents differ
#: by at most 1, where cancellation can be deep, the 48-bit product shifted by 1 fits whole. If
#: they differ by more, at most one leading bit cancels, and what is shifted out is far enough
#: below the 24 result bits for one sticky bit, kept in the lowest place, to stand for it. The
#: same holds of an unnormalised (subnormal) addend: then results are rounded at the place of
#: the smallest subnormal, which is 24 bits from the top.
_ALIGNED_BITS = 49

#: Where registers go for each latency: after aligning, adding, normalising.
_CUTS = {1: (), 2: ("add",), 3: ("add", "normalise"), 4: ("align", "add", "normalise")}

_SIGNIFICAND_BITS = 24
_NAN = ElementFormat.FP32.layout.canonical_nan


class Accumulator(wiring.Component):
    """``addend + product`` in FP32, rounded once to nearest even; or in INT32, wrapping.

    A pipeline without enable: ``sum`` belongs to the inputs of ``latency - 1`` cycles before,
    so with a latency of 1 it is combinational. The datapath: compare exponents, set the larger
    summand at the top of a 49-bit field and shift the other right, keeping a sticky bit; add or
    subtract; shift left until the leading bit is at the top or the exponent at its least; round.

    Parameters
    ----------
    latency : int
        From 1 to 4. Registers lie at 2 between adding and normalising, at 3 also before
        rounding, at 4 also before adding.
    integer : bool
        Whether INT8 products can be added to INT32.

    Members
    -------
    product : ``In``, `Product`
        An exact product.
    addend : ``In``, 32 bits
        FP32, or INT32 in two's complement.
    multiply : ``In``, 1 bit
        The addend does not count: round the product alone, and keep the sign of a zero.
    integer : ``In``, 1 bit
        Product and addend are integers. Without effect if they are not built.
    sum : ``Out``, 32 bits
        The sum, in the addend's format. Every NaN is the canonical one.

    Raises
    ------
    InputError
        If ``latency`` is out of range, or ``integer`` is not a bool.
    """

    def __init__(self, *, latency: int, integer: bool):
        self.latency = check_latency(latency, max(_CUTS))
        if not isinstance(integer, bool):
            raise InputError(f"integer is {integer!r}; expected True or False")
        self.has_integer = integer
        super().__init__(
            {
                "product": In(Product),
                "addend": In(32),
                "multiply": In(1),
                "integer": In(1),
                "sum": Out(32),
            }
        )

    @staticmethod
    def model(accumulator: ArrayLike, product: ArrayLike) -> NDArray[np.uint32]:
        """FP32 sums of arrays of accumulator bits and exact products (float64)."""
        return accumulate_product(accumulator, product)

    def elaborate(self, platform):
        m = Module()
        cuts = _CUTS[self.latency]
        operands = self._unpack(m)
        aligned = self._align(m, operands, "align" in cuts)
        added = self._add(m, aligned, "add" in cuts)
        normalised = self._normalise(m, added, "normalise" in cuts)
        self._round(m, normalised)
        return m

    def _unpack(self, m: Module) -> SimpleNamespace:
        """Fields of the addend, and what needs no datapath: special cases and integers."""
        product = self.product
        sign = Mux(self.multiply, product.sign, self.addend[31])
        magnitude = stage(m, "addend", False, bits=Mux(self.multiply, 0, self.addend[:31])).bits
        exponent, fraction = magnitude[23:], magnitude[:23]
        normal = exponent.any()
        special = exponent.all()
        fields = stage(
            m,
            "unpack",
            False,
            sign=sign,
            # A subnormal has the exponent of the smallest normal number, but no hidden bit.
            exponent=Cat(exponent[0] | ~normal, exponent[1:]),
            significand=Cat(fraction, normal),
            infinity=special & ~fraction.any(),
            subtract=product.sign ^ sign,
        )
        fields.nan = product.nan | (special & fraction.any())
        fields.nan |= product.infinity & fields.infinity & fields.subtract
        fields.integer_sum = (
            Mux(self.multiply, 0, self.addend) + product.significand[:16].as_signed()
        )[:32]
        return fields

    def _align(self, m: Module, operands: SimpleNamespace, cut: bool) -> SimpleNamespace:
        """Set the summand with the larger exponent at the top and the other relative to it."""
        product = self.product
        width = _ALIGNED_BITS
        difference = Signal(signed(10))
        product_larger = Signal()
        distance = Signal(6)
        larger = Signal(width)
        smaller = Signal(width)
        farther = Signal(9)
        from_product = Cat(Const(0, width - len(product.significand)), product.significand)
        from_addend = Cat(Const(0, width - _SIGNIFICAND_BITS), operands.significand)
        m.d.comb += [
            difference.eq(product.exponent - operands.exponent),
            product_larger.eq(difference >= 0),
            farther.eq(Mux(product_larger, difference, -difference)),
            distance.eq(Mux(farther > width, width, farther)),
            larger.eq(Mux(product_larger, from_product, from_addend)),
            smaller.eq(Mux(product_larger, from_addend, from_product)),
        ]
        lost = Signal(width)
        shifted = Signal(width)
        m.d.comb += [
            lost.eq(Const((1 << width) - 1, width) >> (width - distance)[:6]),
            shifted.eq(smaller >> distance),
        ]
        sticky = (smaller & lost).any()
        return stage(
            m,
            "align",
            cut,
            larger=larger,
            smaller=Cat(shifted[0] | sticky, shifted[1:]),
            exponent=Mux(product_larger, product.exponent, operands.exponent)[:9],
            larger_sign=Mux(product_larger, product.sign, operands.sign),
            subtract=operands.subtract,
            nan=operands.nan,
            infinity=product.infinity | operands.infinity,
            infinity_sign=Mux(product.infinity, product.sign, operands.sign),
            **self._passed(integer=self.integer, integer_sum=operands.integer_sum),
        )

    def _add(self, m: Module, aligned: SimpleNamespace, cut: bool) -> SimpleNamespace:
        """Magnitude and sign of the sum."""
        width = _ALIGNED_BITS
        difference = Signal(signed(width + 1))
        negative = Signal()
        total = Signal(width + 1)
        m.d.comb += [
            difference.eq(aligned.larger - aligned.smaller),
            negative.eq(aligned.subtract & difference[width]),
            total.eq(
                Mux(
                    aligned.subtract,
                    Mux(negative, aligned.smaller - aligned.larger, difference)[:width],
                    aligned.larger + aligned.smaller,
                )
            ),
        ]
        # An exact cancellation is +0.
        cancelled = aligned.subtract & ~total.any()
        sign = (aligned.larger_sign ^ negative) & ~cancelled
        return stage(
            m,
            "add",
            cut,
            total=total,
            exponent=aligned.exponent,
            sign=Mux(aligned.infinity, aligned.infinity_sign, sign),
            nan=aligned.nan,
            infinity=aligned.infinity,
            **self._passed_on(aligned),
        )

    def _normalise(self, m: Module, added: SimpleNamespace, cut: bool) -> SimpleNamespace:
        """Shift the leading bit to the top, unless the exponent is at its least before."""
        total, exponent = added.total, added.exponent
        width = len(total)
        for step in (32, 16, 8, 4, 2, 1):
            shift = Signal(name=f"shift_by_{step}")
            shifted = Signal(width, name=f"total_{step}")
            lowered = Signal(exponent.shape(), name=f"exponent_{step}")
            m.d.comb += [
                shift.eq(~total[width - step :].any() & (exponent >= step)),
                shifted.eq(Mux(shift, Cat(Const(0, step), total[: width - step]), total)),
                lowered.eq(exponent - Mux(shift, step, 0)),
            ]
            total, exponent = shifted, lowered
        guard = width - _SIGNIFICAND_BITS - 1
        return stage(
            m,
            "normalise",
            cut,
            significand=total[guard + 1 :],
            # Without a leading bit the exponent is at its least, or the sum is zero.
            exponent=Mux(total[width - 1], exponent, 0),
            round_up=total[guard] & (total[:guard].any() | total[guard + 1]),
            sign=added.sign,
            nan=added.nan,
            infinity=added.infinity,
            **self._passed_on(added),
        )

    def _round(self, m: Module, normalised: SimpleNamespace) -> None:
        """Pack, round, and choose among number, special cases and integer.

        The field exponent is one less than a normal number's: the leading bit of the
        significand adds the one, and a subnormal has no leading bit. A carry out of the
        significand does the same.
        """
        packed = Signal(32)
        infinity = Signal()
        m.d.comb += [
            packed.eq(
                Cat(Const(0, 23), normalised.exponent)
                + normalised.significand
                + normalised.round_up
            ),
            infinity.eq(normalised.infinity | (packed[23:] >= 0xFF)),
        ]
        finite = Cat(packed[:31], normalised.sign)
        infinite = Cat(Const(0, 23), Const(0xFF, 8), normalised.sign)
        m.d.comb += self.sum.eq(
            Mux(normalised.nan, _NAN, Mux(infinity, infinite, finite)),
        )
        if self.has_integer:
            with m.If(normalised.integer):
                m.d.comb += self.sum.eq(normalised.integer_sum)

    def _passed(self, **values):
        """Values of the integer path, if it is built."""
        return values if self.has_integer else {}

    def _passed_on(self, previous: SimpleNamespace):
        """The integer path's values of the stage before, if it is built."""
        if not self.has_integer:
            return {}
        return {"integer": previous.integer, "integer_sum": previous.integer_sum}
