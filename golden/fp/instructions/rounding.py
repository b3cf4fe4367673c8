"""One rounding from binary64, and what binary64 loses of a sum, product or quotient."""

import numpy as np

from fanweave.golden.fp.instructions.compile import compiled, inlined
from fanweave.golden.fp.instructions.fields import exponent_bits, fraction_bits, infinity, sign_bit
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode

__all__ = [
    "DZ",
    "NV",
    "NX",
    "OF",
    "RDN",
    "RMM",
    "RNE",
    "ROD",
    "RTZ",
    "RUP",
    "UF",
    "product_error",
    "round_to_kind",
    "to_odd",
]

# The tables' numbers as constants that compiled code can take in.
NV, DZ, OF, UF, NX = (int(flag) for flag in (Flag.NV, Flag.DZ, Flag.OF, Flag.UF, Flag.NX))
RNE, RTZ, RDN, RUP, RMM = (int(mode) for mode in RoundingMode if mode is not RoundingMode.DYN)
#: To odd, for a conversion that will be rounded again; no rounding mode of the scalar core.
ROD = 6


@inlined
def _rounds_up(quotient, rest, half, negative, mode):
    """Whether the magnitude is rounded up."""
    if rest == 0:
        return False
    if mode == RNE:
        return rest > half or (rest == half and quotient & 1 == 1)
    if mode == RDN:
        return negative
    if mode == RUP:
        return not negative
    if mode == RMM:
        return rest >= half
    return mode == ROD and quotient & 1 == 0


@compiled
def round_to_kind(value, kind, mode):
    """Bits and flags of a finite number that is not zero, exact or rounded to odd."""
    fb = fraction_bits(kind)
    pattern = np.float64(value).view(np.int64)
    negative = pattern < 0
    exponent = ((pattern >> 52) & 0x7FF) - 1023
    significand = (pattern & ((np.int64(1) << 52) - 1)) | (np.int64(1) << 52)
    least = 2 - (np.int64(1) << (exponent_bits(kind) - 1))
    shift = 52 - fb + max(least - exponent, 0)
    shift = min(shift, 60)
    quotient = significand >> shift
    rest = significand & ((np.int64(1) << shift) - 1)
    half = np.int64(1) << (shift - 1)
    code = quotient + max(exponent - least, 0) * (np.int64(1) << fb)
    if _rounds_up(quotient, rest, half, negative, mode):
        code += 1
    flags = NX if rest != 0 else 0
    if code >= infinity(kind):
        flags = OF | NX
        toward_zero = RUP if negative else RDN
        to_largest = mode in (RTZ, ROD, toward_zero)
        code = infinity(kind) - (1 if to_largest else 0)
    elif exponent < least and rest != 0:
        # Tiny after rounding: also with an unbounded exponent it would stay below the least.
        tiny = True
        if exponent == least - 1:
            shift = 52 - fb
            quotient = significand >> shift
            rest = significand & ((np.int64(1) << shift) - 1)
            if _rounds_up(quotient, rest, np.int64(1) << (shift - 1), negative, mode):
                quotient += 1
            tiny = quotient < np.int64(1) << (fb + 1)
        if tiny:
            flags |= UF
    return code | (sign_bit(kind) if negative else 0), flags


@inlined
def to_odd(value, error):
    """The neighbour with an odd significand, where `error` was lost."""
    pattern = np.float64(value).view(np.int64)
    if error != 0.0 and pattern & 1 == 0:
        pattern += 1 if (error > 0.0) == (value > 0.0) else -1
    return np.int64(pattern).view(np.float64)


@compiled
def product_error(a, b, product):
    """a * b - product, exactly."""
    split = 134217729.0
    scaled = split * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = split * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
