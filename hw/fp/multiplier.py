"""Exact multiplier of elements of several formats around one integer multiplier."""

from collections.abc import Iterable

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp.product import EXPONENT_BIAS, SIGNIFICAND_BITS, ZERO_EXPONENT, Product

__all__ = [
    "Multiplier",
    "ProductNormaliser",
    "SignificandMultiplier",
    "check_formats",
    "raw_product_layout",
]


def check_formats(
    formats: Iterable[ElementFormat], *, name: str = "formats"
) -> tuple[ElementFormat, ...]:
    """Formats of the parameter ``name``, sorted by code and without doubles.

    Raises
    ------
    InputError
        If there is none, or one that is not an `ElementFormat`.
    """
    if isinstance(formats, (str, bytes)) or not isinstance(formats, Iterable):
        raise InputError(f"{name} is {formats!r}; expected a collection of ElementFormat members")
    members = tuple(formats)
    for member in members:
        if not isinstance(member, ElementFormat):
            raise InputError(f"{name} contains {member!r}; expected only ElementFormat members")
    if not members:
        raise InputError(f"{name} is empty; name at least one ElementFormat member")
    return tuple(sorted(set(members)))


def raw_product_layout(formats: Iterable[ElementFormat]) -> data.StructLayout:
    """A product before it is normalised: the significands' product as it is.

    ``exponent`` belongs to a significand with its leading bit at the top.
    """
    bits = 2 * _operand_bits(check_formats(formats))
    return data.StructLayout(
        {
            "sign": 1,
            "zero": 1,
            "infinity": 1,
            "nan": 1,
            "exponent": signed(10),
            "significand": bits,
            "format": 3,
        }
    )


def _operand_bits(formats: tuple[ElementFormat, ...]) -> int:
    return max(item.bits if item.is_integer else item.layout.fraction_bits + 1 for item in formats)


class SignificandMultiplier(wiring.Component):
    """The first half of a `Multiplier`: decodes both elements and multiplies their significands.

    Parameters
    ----------
    formats : iterable of ElementFormat
        Formats to build. Other codes give an unspecified product.

    Members
    -------
    a, b : ``In``, bits of the widest format
        Raw elements, low-aligned. Bits above the element are ignored.
    format : ``In``, 3 bits
        Code of the format of both.
    raw : ``Out``, see `raw_product_layout`
    """

    def __init__(self, *, formats: Iterable[ElementFormat]):
        self.formats = check_formats(formats)
        bits = max(element_format.bits for element_format in self.formats)
        raw = raw_product_layout(self.formats)
        super().__init__({"a": In(bits), "b": In(bits), "format": In(3), "raw": Out(raw)})

    def elaborate(self, platform):
        m = Module()
        operand_bits = _operand_bits(self.formats)
        left, right = (self._decode(m, name, operand_bits) for name in ("a", "b"))
        # Two significands below 2.0 make a product below 4.0, hence the 1.
        offset = Signal(signed(9))
        with m.Switch(self.format):
            for item in self.formats:
                if not item.is_integer:
                    with m.Case(item):
                        m.d.comb += offset.eq(EXPONENT_BIAS - 2 * item.layout.bias + 1)
        raw, zero, infinity = self.raw, Signal(), Signal()
        m.d.comb += [
            zero.eq(left["zero"] | right["zero"]),
            infinity.eq(left["infinity"] | right["infinity"]),
            raw.significand.eq(left["significand"] * right["significand"]),
            raw.sign.eq(left["sign"] ^ right["sign"]),
            raw.exponent.eq(left["exponent"] + right["exponent"] + offset),
            raw.zero.eq(zero),
            raw.infinity.eq(infinity),
            raw.nan.eq(left["nan"] | right["nan"] | (zero & infinity)),
            raw.format.eq(self.format),
        ]
        return m

    def _decode(self, m: Module, name: str, operand_bits: int) -> dict[str, Signal]:
        """Split operand ``name`` into sign, exponent field, and left-aligned significand.

        The significand of an integer is its magnitude, right-aligned.
        """
        port: Value = getattr(self, name)
        fields = {
            field: Signal(width, name=f"{name}_{field}")
            for field, width in (
                ("sign", 1),
                ("zero", 1),
                ("infinity", 1),
                ("nan", 1),
                ("exponent", 8),
                ("significand", operand_bits),
            )
        }
        with m.Switch(self.format):
            for item in self.formats:
                with m.Case(item):
                    if item.is_integer:
                        sign = port[item.bits - 1]
                        element = port[: item.bits]
                        m.d.comb += [
                            fields["sign"].eq(sign),
                            fields["significand"].eq(Mux(sign, -element, element)[: item.bits]),
                        ]
                    else:
                        m.d.comb += _decode_float(port, item, fields, operand_bits)
        return fields


class ProductNormaliser(wiring.Component):
    """The second half of a `Multiplier`.

    Parameters
    ----------
    formats : iterable of ElementFormat
        As in the first half.

    Members
    -------
    raw : ``In``, see `raw_product_layout`
    product : ``Out``, `Product`
    """

    def __init__(self, *, formats: Iterable[ElementFormat]):
        self.formats = check_formats(formats)
        super().__init__({"raw": In(raw_product_layout(self.formats)), "product": Out(Product)})

    def elaborate(self, platform):
        m = Module()
        raw, product = self.raw, self.product
        if any(not item.is_integer for item in self.formats):
            significand, exponent = _normalise(m, raw.significand, raw.exponent)
            m.d.comb += [
                product.sign.eq(raw.sign),
                product.zero.eq(raw.zero),
                product.infinity.eq(raw.infinity),
                product.nan.eq(raw.nan),
                product.exponent.eq(Mux(raw.zero, ZERO_EXPONENT, exponent)),
                product.significand.eq(
                    Cat(Const(0, SIGNIFICAND_BITS - len(raw.significand)), significand)
                ),
            ]
        for item in self.formats:
            if item.is_integer:
                magnitude = raw.significand[: 2 * item.bits]
                with m.If(raw.format == item):
                    m.d.comb += [
                        product.eq(0),
                        product.significand.eq(
                            Mux(raw.sign, -raw.significand, magnitude)[: 2 * item.bits]
                        ),
                    ]
        return m


class Multiplier(wiring.Component):
    """Multiplies two elements of one format exactly; combinational, so of latency 1.

    All formats share one unsigned multiplier as wide as the widest significand. Significands
    of narrower formats enter left-aligned, and subnormals as they are: it is the product that
    is normalised, which takes one shifter instead of two.

    Parameters
    ----------
    formats : iterable of ElementFormat
        Formats to build. Other codes give an unspecified product.

    Members
    -------
    a, b : ``In``, bits of the widest format
        Raw elements, low-aligned. Bits above the element are ignored.
    format : ``In``, 3 bits
        Code of the format of both.
    product : ``Out``, `Product`
        The exact product.

    Raises
    ------
    InputError
        If ``formats`` is empty or holds something else.
    """

    def __init__(self, *, formats: Iterable[ElementFormat]):
        self.formats = check_formats(formats)
        self.latency = 1
        bits = max(element_format.bits for element_format in self.formats)
        super().__init__({"a": In(bits), "b": In(bits), "format": In(3), "product": Out(Product)})

    @staticmethod
    def model(a: ArrayLike, b: ArrayLike, element_format: ElementFormat) -> NDArray[np.float64]:
        """Exact products of arrays of raw elements, as numbers."""
        with np.errstate(invalid="ignore"):
            return np.asarray(decode(a, element_format) * decode(b, element_format))

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiply = multiply = SignificandMultiplier(formats=self.formats)
        m.submodules.normalise = normalise = ProductNormaliser(formats=self.formats)
        m.d.comb += [
            multiply.a.eq(self.a),
            multiply.b.eq(self.b),
            multiply.format.eq(self.format),
            normalise.raw.eq(multiply.raw),
            self.product.eq(normalise.product),
        ]
        return m


def _decode_float(
    port: Value, element_format: ElementFormat, fields: dict[str, Signal], operand_bits: int
) -> list:
    """Assignments that decode one floating-point format."""
    layout = element_format.layout
    fraction = port[: layout.fraction_bits]
    exponent = port[layout.fraction_bits : layout.bits - 1]
    normal = exponent.any()
    special = exponent.all()
    if layout.has_infinity:
        infinity, nan = special & ~fraction.any(), special & fraction.any()
    else:
        infinity, nan = Const(0, 1), special & fraction.all()
    padding = Const(0, operand_bits - layout.fraction_bits - 1)
    return [
        fields["sign"].eq(port[layout.bits - 1]),
        fields["zero"].eq(~normal & ~fraction.any()),
        fields["infinity"].eq(infinity),
        fields["nan"].eq(nan),
        fields["exponent"].eq(Cat(exponent[0] | ~normal, exponent[1:])),
        fields["significand"].eq(Cat(padding, fraction, normal)),
    ]


def _normalise(m: Module, value: Value, exponent: Value) -> tuple[Value, Value]:
    """Shift a nonzero value left until its top bit is set, and lower its exponent as much."""
    width = len(value)
    step = 1 << (width - 1).bit_length() - 1
    while step:
        shift = Signal(name=f"shift_by_{step}")
        shifted = Signal(width, name=f"value_{step}")
        lowered = Signal(exponent.shape(), name=f"exponent_{step}")
        m.d.comb += [
            shift.eq(~value[width - step :].any()),
            shifted.eq(Mux(shift, Cat(Const(0, step), value[: width - step]), value)),
            lowered.eq(exponent - Mux(shift, step, 0)),
        ]
        value, exponent = shifted, lowered
        step //= 2
    return value, exponent
