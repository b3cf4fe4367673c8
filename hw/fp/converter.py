"""The drain path: an accumulator times a scale, converted to an element format."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.fp import convert_accumulator
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp.accumulator import Accumulator
from fanweave.hw.fp.multiplier import Multiplier, check_formats
from fanweave.hw.fp.pipeline import check_latency, stage

__all__ = ["AccumulatorConverter"]

#: Where registers go for each latency: after converting integers, multiplying by the scale,
#: within and after rounding the scaled number.
_CUTS = {
    1: (),
    2: ("product",),
    3: ("product", "scaled"),
    4: ("single", "product", "scaled"),
    5: ("single", "product", "within", "scaled"),
}


@dataclass(frozen=True, kw_only=True)
class _Rounding:
    """How an FP32 number becomes a code of a target: shift right, round, add the exponent.

    Attributes
    ----------
    fraction_bits : int
        Fraction bits of the target.
    least_exponent : int
        FP32 exponent field below which the target is subnormal.
    largest : int
        Largest finite code without sign.
    overflow : int
        Code without sign for what is beyond.
    """

    fraction_bits: int
    least_exponent: int
    largest: int
    overflow: int

    @classmethod
    def of(cls, target: ElementFormat) -> "_Rounding":
        layout = target.layout
        if target.is_integer:
            # Numbers below 256 as if subnormals of a format with 7 fraction bits: the code is
            # their magnitude. Any larger number has a larger code and saturates all the same.
            return cls(fraction_bits=7, least_exponent=127 + 7, largest=127, overflow=127)
        if layout.has_infinity:
            infinity = ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
            largest, overflow = infinity - 1, infinity
        else:
            largest = overflow = layout.canonical_nan - 1
        return cls(
            fraction_bits=layout.fraction_bits,
            least_exponent=128 - layout.bias,
            largest=largest,
            overflow=overflow,
        )


class AccumulatorConverter(wiring.Component):
    """Converts an accumulator: to FP32, times a scale, to the target; each step rounds once.

    A pipeline without enable: ``bits`` belongs to the inputs of ``latency - 1`` cycles before.

    Parameters
    ----------
    targets : iterable of ElementFormat
        Formats that can be chosen. Other codes give unspecified bits.
    latency : int
        From 1 to 5.

    Members
    -------
    accumulator : ``In``, 32 bits
        FP32, or INT32 in two's complement.
    scale : ``In``, 32 bits
        Factor in FP32.
    source_integer : ``In``, 1 bit
        The accumulator is INT32.
    target : ``In``, 3 bits
        Code of the result's format.
    raw : ``In``, 1 bit
        Pass the accumulator as it is instead.
    bits : ``Out``, 32 bits
        Result, low-aligned, zero above the element. FP32, FP16, BF16 and E5M2 overflow to
        infinity; E4M3 and INT8 saturate, infinities included. A NaN becomes the canonical one,
        in INT8 zero.

    Raises
    ------
    InputError
        If ``targets`` or ``latency`` is not as described.
    """

    def __init__(self, *, targets: Iterable[ElementFormat], latency: int = 3):
        self.targets = check_formats(targets, name="targets")
        self.latency = check_latency(latency, max(_CUTS))
        super().__init__(
            {
                "accumulator": In(32),
                "scale": In(32),
                "source_integer": In(1),
                "target": In(3),
                "raw": In(1),
                "bits": Out(32),
            }
        )

    @staticmethod
    def model(
        accumulator: ArrayLike,
        *,
        scale: ArrayLike,
        source_integer: bool,
        target: ElementFormat | None,
    ) -> NDArray[np.uint32]:
        """Results for arrays of accumulators; raw ones if ``target`` is None."""
        return convert_accumulator(
            accumulator, scale=scale, source_is_integer=source_integer, target=target
        )

    def elaborate(self, platform):
        m = Module()
        cuts = _CUTS[self.latency]
        m.submodules.multiplier = multiplier = Multiplier(formats=(ElementFormat.FP32,))
        m.submodules.rounder = rounder = Accumulator(
            latency=2 if "within" in cuts else 1, integer=False
        )
        single = stage(
            m,
            "single",
            "single" in cuts,
            number=Mux(
                self.source_integer & ~self.raw,
                _integer_to_single(m, self.accumulator),
                self.accumulator,
            ),
            scale=self.scale,
            target=self.target,
            raw=self.raw,
        )
        m.d.comb += [
            multiplier.a.eq(single.number),
            multiplier.b.eq(single.scale),
            multiplier.format.eq(ElementFormat.FP32),
        ]
        product = stage(
            m,
            "product",
            "product" in cuts,
            product=multiplier.product.as_value(),
            number=single.number,
            target=single.target,
            raw=single.raw,
        )
        m.d.comb += [
            rounder.product.eq(product.product),
            rounder.multiply.eq(1),
        ]
        within = stage(
            m,
            "within",
            "within" in cuts,
            number=product.number,
            target=product.target,
            raw=product.raw,
        )
        scaled = stage(
            m,
            "scaled",
            "scaled" in cuts,
            number=Mux(within.raw, within.number, rounder.sum),
            target=within.target,
            raw=within.raw,
        )
        self._convert(m, scaled)
        return m

    def _convert(self, m: Module, scaled: SimpleNamespace) -> None:
        """Round an FP32 number to the target format."""
        number = scaled.number
        sign, fraction, field = number[31], number[:23], number[23:31]
        normal = field.any()
        exponent = Signal(8)
        least_exponent = Signal(8)
        narrowing = Signal(5)
        infinity = Signal()
        nan = Signal()
        m.d.comb += [
            exponent.eq(Cat(field[0] | ~normal, field[1:])),
            infinity.eq(field.all() & ~fraction.any()),
            nan.eq(field.all() & fraction.any()),
        ]
        for item in self._cases(m, scaled.target):
            rounding = _Rounding.of(item)
            m.d.comb += [
                least_exponent.eq(rounding.least_exponent),
                narrowing.eq(23 - rounding.fraction_bits),
            ]
        above = Signal(signed(9))
        m.d.comb += above.eq(exponent - least_exponent)
        distance = Mux(above < 0, narrowing - above, narrowing)
        magnitude = _round_right(m, Cat(fraction, normal), distance)

        code = Signal(32)
        code_exponent = Mux(above < 0, 0, above)[:8]
        for item in self._cases(m, scaled.target):
            rounding = _Rounding.of(item)
            m.d.comb += code.eq(magnitude + Cat(Const(0, rounding.fraction_bits), code_exponent))
        with m.If(scaled.raw):
            m.d.comb += self.bits.eq(number)
        with m.Else():
            for item in self._cases(m, scaled.target):
                m.d.comb += self.bits.eq(_finish(code, sign, infinity, nan, item))

    def _cases(self, m: Module, target: Value):
        """Each target in turn, with the statements to come under its case."""
        with m.Switch(target):
            for item in self.targets:
                with m.Case(item):
                    yield item


def _finish(code: Value, sign: Value, infinity: Value, nan: Value, target: ElementFormat) -> Value:
    """Overflow, sign and special cases of one target."""
    rounding = _Rounding.of(target)
    layout = target.layout
    if target.is_integer:
        largest = rounding.largest + sign
        limited = Mux((code > largest) | infinity, largest, code)[: layout.bits]
        return Mux(nan, layout.canonical_nan, Mux(sign, -limited, limited)[: layout.bits])
    limited = Mux((code > rounding.largest) | infinity, rounding.overflow, code)
    return Mux(nan, layout.canonical_nan, Cat(limited[: layout.bits - 1], sign))


def _round_right(m: Module, value: Value, distance: Value) -> Value:
    """Value shifted right, rounded to nearest even."""
    width = len(value) + 1
    extended = Signal(width)  # with a place for the first bit that is shifted out
    limited = Signal(5)
    shifted = Signal(width)
    lost = Signal(width)
    m.d.comb += [
        extended.eq(Cat(Const(0, 1), value)),
        limited.eq(Mux(distance > width, width, distance)),
        shifted.eq(extended >> limited),
        lost.eq(extended & (Const((1 << width) - 1, width) >> (width - limited)[:5])),
    ]
    round_up = shifted[0] & (shifted[1] | lost.any())
    return shifted[1:] + round_up


def _integer_to_single(m: Module, value: Value) -> Value:
    """INT32 to FP32, rounded to nearest even."""
    sign = value[31]
    magnitude = Signal(32)
    m.d.comb += magnitude.eq(Mux(sign, -value, value)[:32])
    # The exponent field of a number with its leading bit in place 31, less one: the leading
    # bit of the significand adds it.
    exponent: Value = Const(127 + 31 - 1, 8)
    for step in (16, 8, 4, 2, 1):
        shift = Signal(name=f"integer_shift_{step}")
        shifted = Signal(32, name=f"integer_{step}")
        m.d.comb += [
            shift.eq(~magnitude[32 - step :].any()),
            shifted.eq(Mux(shift, Cat(Const(0, step), magnitude[: 32 - step]), magnitude)),
        ]
        magnitude = shifted
        exponent = (exponent - Mux(shift, step, 0))[:8]
    round_up = magnitude[7] & (magnitude[8] | magnitude[:7].any())
    packed = Cat(Const(0, 23), exponent) + magnitude[8:] + round_up
    return Mux(value.any(), Cat(packed[:31], sign), 0)
