"""Element formats of operands: code, width and layout of each, once."""

import enum
from dataclasses import dataclass

__all__ = ["ElementFormat", "FormatLayout"]


@dataclass(frozen=True, kw_only=True)
class FormatLayout:
    """Bit layout of an element format.

    Attributes
    ----------
    bits : int
        Width of an element in bits.
    exponent_bits, fraction_bits : int
        Field widths; 0 for integers.
    bias : int
        Exponent bias; 0 for integers.
    has_infinity : bool
        Whether the all-ones exponent holds infinities and NaNs as in IEEE 754. OCP E4M3 does
        not: there only the all-ones code is NaN, and the largest finite number is 448.
    canonical_nan : int
        The one quiet NaN that this project produces.
    """

    bits: int
    exponent_bits: int
    fraction_bits: int
    bias: int
    has_infinity: bool
    canonical_nan: int


class ElementFormat(enum.IntEnum):
    """Operand formats; the value is the code in the unit's ``format`` register field.

    Sources: IEEE 754-2019 (FP32, FP16), BF16 as truncated binary32, OCP 8-bit Floating Point
    Specification 1.0 (E4M3, E5M2).
    """

    FP32 = 0
    FP16 = 1
    BF16 = 2
    E4M3 = 3
    E5M2 = 4
    INT8 = 5

    @property
    def layout(self) -> FormatLayout:
        """Bit layout of this format."""
        return _LAYOUTS[self]

    @property
    def bits(self) -> int:
        """Width of an element in bits."""
        return _LAYOUTS[self].bits

    @property
    def is_integer(self) -> bool:
        """True for formats that accumulate in INT32; the others accumulate in FP32."""
        return self is ElementFormat.INT8


_LAYOUTS = {
    ElementFormat.FP32: FormatLayout(
        bits=32,
        exponent_bits=8,
        fraction_bits=23,
        bias=127,
        has_infinity=True,
        canonical_nan=0x7FC00000,
    ),
    ElementFormat.FP16: FormatLayout(
        bits=16,
        exponent_bits=5,
        fraction_bits=10,
        bias=15,
        has_infinity=True,
        canonical_nan=0x7E00,
    ),
    ElementFormat.BF16: FormatLayout(
        bits=16,
        exponent_bits=8,
        fraction_bits=7,
        bias=127,
        has_infinity=True,
        canonical_nan=0x7FC0,
    ),
    ElementFormat.E4M3: FormatLayout(
        bits=8,
        exponent_bits=4,
        fraction_bits=3,
        bias=7,
        has_infinity=False,
        canonical_nan=0x7F,
    ),
    ElementFormat.E5M2: FormatLayout(
        bits=8,
        exponent_bits=5,
        fraction_bits=2,
        bias=15,
        has_infinity=True,
        canonical_nan=0x7E,
    ),
    ElementFormat.INT8: FormatLayout(
        bits=8,
        exponent_bits=0,
        fraction_bits=0,
        bias=0,
        has_infinity=False,
        canonical_nan=0,
    ),
}
