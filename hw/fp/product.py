"""What travels from a multiplier to an accumulator: an exact, unrounded product."""

from amaranth.hdl import signed
from amaranth.lib import data

__all__ = ["EXPONENT_BIAS", "SIGNIFICAND_BITS", "ZERO_EXPONENT", "Product"]

#: Bias of the exponent field; that of FP32, so it can be compared with an addend's as it is.
EXPONENT_BIAS = 127

#: Width of the significand: that of the product of two FP32 significands.
SIGNIFICAND_BITS = 48

#: Exponent field of a zero: less than that of any number, so a zero never sets the scale.
ZERO_EXPONENT = -256


class Product(data.Struct):
    """Exact product of two elements.

    A nonzero finite number is ``(-1)**sign * significand * 2**(exponent - 127 - 47)`` with bit
    47 of the significand set: also products of subnormals are normalised. The exponent field is
    biased as in FP32 and lies between -171 (two smallest FP32 subnormals) and 382.

    A zero has ``zero`` set, a significand of 0, and an exponent less than any other. With
    ``infinity`` or ``nan`` set, exponent and significand have no meaning; a NaN's sign has none.

    An INT8 product is in the low 16 bits of the significand, in two's complement; every other
    field is 0.
    """

    sign: 1
    zero: 1
    infinity: 1
    nan: 1
    exponent: signed(10)
    significand: SIGNIFICAND_BITS
