"""Floating-point instructions, bit-exact with all rounding modes and exception flags, compiled.

FP32 and FP16 operands are exact in binary64. A result that binary64 cannot hold exactly is
first rounded to it *to odd*; rounding that to the target, which has at most 24 bits, gives what
one rounding of the exact result would (see `fanweave.golden.fp.arithmetic`). What an operation
lost is found exactly: by Knuth's TwoSum for sums, by Veltkamp's and Dekker's product for
quotients and square roots.

Values of operands and results are bits, low-aligned; FP16 scalars are not boxed here.
"""

import enum

import numba
import numpy as np

from fanweave.golden.isa.formats import ElementFormat

__all__ = [
    "RECIPROCAL_ROOT_TABLE",
    "RECIPROCAL_TABLE",
    "Operation",
    "compute",
    "compute_array",
]


class Operation(enum.IntEnum):
    """What `compute` does with operands a, b and c."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    SQRT = 4  # of a
    FMA = 5  # a * b + c
    MIN = 6
    MAX = 7
    EQ = 8
    LT = 9
    LE = 10
    CLASS = 11
    CONVERT = 12  # a to the result's format
    TO_SIGNED = 13  # a to an integer of `bits` bits
    TO_UNSIGNED = 14
    FROM_SIGNED = 15  # the integer a, sign-extended to 64 bits
    FROM_UNSIGNED = 16
    RECIPROCAL_7 = 17
    RECIPROCAL_ROOT_7 = 18


_FP32 = int(ElementFormat.FP32)
_NV, _DZ, _OF, _UF, _NX = 16, 8, 4, 2, 1
_RNE, _RTZ, _RDN, _RUP, _RMM = 0, 1, 2, 3, 4
#: To odd, for a conversion that will be rounded again; no rounding mode of the scalar core.
_ROD = 6

# Estimates: the reciprocal (root) of the middle of each interval, rounded to 8 bits.
_MIDDLE = 1 + (np.arange(128) + 0.5) / 128
RECIPROCAL_TABLE = np.rint(256 / _MIDDLE).astype(np.int64) - 128
_HALF = 1 + (np.arange(64) + 0.5) / 64
RECIPROCAL_ROOT_TABLE = (
    np.rint(256 / np.sqrt(np.concatenate([2 * _HALF, _HALF]))).astype(np.int64) - 128
)  # even exponents (of a number in [2, 4)) first


@numba.njit(cache=True, inline="always")
def _fraction_bits(kind):
    return 23 if kind == _FP32 else 10


@numba.njit(cache=True, inline="always")
def _exponent_bits(kind):
    return 8 if kind == _FP32 else 5


@numba.njit(cache=True, inline="always")
def _nan(kind):
    return 0x7FC00000 if kind == _FP32 else 0x7E00


@numba.njit(cache=True, inline="always")
def _infinity(kind):
    return 0x7F800000 if kind == _FP32 else 0x7C00


@numba.njit(cache=True, inline="always")
def _sign_bit(kind):
    return 0x80000000 if kind == _FP32 else 0x8000


@numba.njit(cache=True, inline="always")
def _is_nan(bits, kind):
    return bits & (_sign_bit(kind) - 1) > _infinity(kind)


@numba.njit(cache=True, inline="always")
def _is_signaling(bits, kind):
    quiet = np.int64(1) << (_fraction_bits(kind) - 1)
    return _is_nan(bits, kind) and bits & quiet == 0


@numba.njit(cache=True)
def _value(bits, kind):
    """The number that bits stand for; not for NaNs."""
    fb = _fraction_bits(kind)
    magnitude = bits & (_sign_bit(kind) - 1)
    if magnitude == _infinity(kind):
        value = np.inf
    else:
        exponent = magnitude >> fb
        fraction = magnitude & ((np.int64(1) << fb) - 1)
        bias = (np.int64(1) << (_exponent_bits(kind) - 1)) - 1
        if exponent == 0:
            # A power of two as bits: exact, and every such number is normal in binary64.
            scale = np.int64((1 - bias - fb + 1023) << 52).view(np.float64)
            value = np.float64(fraction) * scale
        else:
            pattern = ((exponent - bias + 1023) << 52) | (fraction << (52 - fb))
            value = np.int64(pattern).view(np.float64)
    return -value if bits & _sign_bit(kind) else value


@numba.njit(cache=True, inline="always")
def _up(quotient, rest, half, negative, mode):
    """Whether the magnitude is rounded up."""
    if rest == 0:
        return False
    if mode == _RNE:
        return rest > half or (rest == half and quotient & 1 == 1)
    if mode == _RDN:
        return negative
    if mode == _RUP:
        return not negative
    if mode == _RMM:
        return rest >= half
    return mode == _ROD and quotient & 1 == 0


@numba.njit(cache=True)
def _round(value, kind, mode):
    """Bits and flags of a finite number that is not zero, exact or rounded to odd."""
    fb = _fraction_bits(kind)
    pattern = np.float64(value).view(np.int64)
    negative = pattern < 0
    exponent = ((pattern >> 52) & 0x7FF) - 1023
    significand = (pattern & ((np.int64(1) << 52) - 1)) | (np.int64(1) << 52)
    least = 2 - (np.int64(1) << (_exponent_bits(kind) - 1))
    shift = 52 - fb + max(least - exponent, 0)
    shift = min(shift, 60)
    quotient = significand >> shift
    rest = significand & ((np.int64(1) << shift) - 1)
    half = np.int64(1) << (shift - 1)
    code = quotient + max(exponent - least, 0) * (np.int64(1) << fb)
    if _up(quotient, rest, half, negative, mode):
        code += 1
    flags = _NX if rest != 0 else 0
    if code >= _infinity(kind):
        flags = _OF | _NX
        toward_zero = _RUP if negative else _RDN
        to_largest = mode in (_RTZ, _ROD, toward_zero)
        code = _infinity(kind) - (1 if to_largest else 0)
    elif exponent < least and rest != 0:
        # Tiny after rounding: also with an unbounded exponent it would stay below the least.
        tiny = True
        if exponent == least - 1:
            shift = 52 - fb
            quotient = significand >> shift
            rest = significand & ((np.int64(1) << shift) - 1)
            if _up(quotient, rest, np.int64(1) << (shift - 1), negative, mode):
                quotient += 1
            tiny = quotient < np.int64(1) << (fb + 1)
        if tiny:
            flags |= _UF
    return code | (_sign_bit(kind) if negative else 0), flags


@numba.njit(cache=True, inline="always")
def _to_odd(value, error):
    """The neighbour with an odd significand, where `error` was lost."""
    pattern = np.float64(value).view(np.int64)
    if error != 0.0 and pattern & 1 == 0:
        pattern += 1 if (error > 0.0) == (value > 0.0) else -1
    return np.int64(pattern).view(np.float64)


@numba.njit(cache=True)
def _product_error(a, b, product):
    """a * b - product, exactly."""
    split = 134217729.0
    scaled = split * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = split * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@numba.njit(cache=True)
def _sum(x, y, kind, mode):
    """Bits and flags of a sum of two numbers, neither a NaN; x may have 48 bits."""
    if np.isinf(x) or np.isinf(y):
        if np.isinf(x) and np.isinf(y) and x != y:
            return _nan(kind), _NV
        total = x if np.isinf(x) else y
        return _infinity(kind) | (_sign_bit(kind) if total < 0 else 0), 0
    total = x + y
    if total == 0.0:
        # Sums of normal binary64 numbers this far from its limits are zero only if exact.
        both_negative = np.copysign(1.0, x) < 0 and np.copysign(1.0, y) < 0
        same = x == 0.0 and y == 0.0 and np.copysign(1.0, x) == np.copysign(1.0, y)
        negative = both_negative if same else mode == _RDN
        return _sign_bit(kind) if negative else 0, 0
    part = total - x
    error = (x - (total - part)) + (y - part)
    return _round(_to_odd(total, error), kind, mode)


@numba.njit(cache=True)
def _arithmetic(operation, a, b, a_kind, b_kind, kind, mode):
    """ADD, SUB, MUL and DIV."""
    if _is_nan(a, a_kind) or _is_nan(b, b_kind):
        invalid = _is_signaling(a, a_kind) or _is_signaling(b, b_kind)
        return _nan(kind), _NV if invalid else 0
    x, y = _value(a, a_kind), _value(b, b_kind)
    if operation == 0:
        return _sum(x, y, kind, mode)
    if operation == 1:
        return _sum(x, -y, kind, mode)
    negative = (np.copysign(1.0, x) < 0) != (np.copysign(1.0, y) < 0)
    sign = _sign_bit(kind) if negative else 0
    if operation == 2:
        if (np.isinf(x) and y == 0.0) or (np.isinf(y) and x == 0.0):
            return _nan(kind), _NV
        if np.isinf(x) or np.isinf(y):
            return sign | _infinity(kind), 0
        if x == 0.0 or y == 0.0:
            return sign, 0
        return _round(x * y, kind, mode)
    if (np.isinf(x) and np.isinf(y)) or (x == 0.0 and y == 0.0):
        return _nan(kind), _NV
    if np.isinf(x):
        return sign | _infinity(kind), 0
    if y == 0.0:
        return sign | _infinity(kind), _DZ
    if x == 0.0 or np.isinf(y):
        return sign, 0
    quotient = x / y
    product = quotient * y
    rest = (x - product) - _product_error(quotient, y, product)
    return _round(_to_odd(quotient, rest if y > 0 else -rest), kind, mode)


@numba.njit(cache=True)
def _fused(a, b, c, a_kind, b_kind, kind, mode):
    invalid_product = False
    if not _is_nan(a, a_kind) and not _is_nan(b, b_kind):
        x, y = _value(a, a_kind), _value(b, b_kind)
        invalid_product = (np.isinf(x) and y == 0.0) or (np.isinf(y) and x == 0.0)
    if invalid_product or _is_nan(a, a_kind) or _is_nan(b, b_kind) or _is_nan(c, kind):
        signaling = _is_signaling(a, a_kind) or _is_signaling(b, b_kind)
        signaling |= _is_signaling(c, kind)
        return _nan(kind), _NV if signaling or invalid_product else 0
    return _sum(_value(a, a_kind) * _value(b, b_kind), _value(c, kind), kind, mode)


@numba.njit(cache=True)
def _root(a, a_kind, kind, mode):
    if _is_nan(a, a_kind):
        return _nan(kind), _NV if _is_signaling(a, a_kind) else 0
    x = _value(a, a_kind)
    if x == 0.0:
        return a, 0
    if x < 0.0:
        return _nan(kind), _NV
    if np.isinf(x):
        return a, 0
    root = np.sqrt(x)
    product = root * root
    rest = (x - product) - _product_error(root, root, product)
    return _round(_to_odd(root, rest), kind, mode)


@numba.njit(cache=True)
def _extreme(largest, a, b, kind):
    """The IEEE 754-2019 minimumNumber and maximumNumber."""
    flags = _NV if _is_signaling(a, kind) or _is_signaling(b, kind) else 0
    if _is_nan(a, kind):
        return (_nan(kind) if _is_nan(b, kind) else b), flags
    if _is_nan(b, kind):
        return a, flags
    x, y = _value(a, kind), _value(b, kind)
    if x == y:  # also +0 and -0
        first = (a & _sign_bit(kind) != 0) != largest
    else:
        first = (x > y) == largest
    return (a if first else b), flags


@numba.njit(cache=True)
def _compare(operation, a, b, kind):
    if _is_nan(a, kind) or _is_nan(b, kind):
        signaling = _is_signaling(a, kind) or _is_signaling(b, kind)
        return 0, _NV if signaling or operation != 8 else 0
    x, y = _value(a, kind), _value(b, kind)
    if operation == 8:
        return np.int64(x == y), 0
    if operation == 9:
        return np.int64(x < y), 0
    return np.int64(x <= y), 0


@numba.njit(cache=True)
def _class(a, kind):
    negative = a & _sign_bit(kind) != 0
    magnitude = a & (_sign_bit(kind) - 1)
    if magnitude > _infinity(kind):
        return np.int64(1) << (8 if _is_signaling(a, kind) else 9)
    if magnitude == _infinity(kind):
        place = 0
    elif magnitude == 0:
        place = 3
    elif magnitude >> _fraction_bits(kind) == 0:
        place = 2
    else:
        place = 1
    return np.int64(1) << (place if negative else 7 - place)


@numba.njit(cache=True)
def _to_integer(signed, a, kind, bits, mode):
    """Result of `bits` bits, low-aligned."""
    least = -(np.int64(1) << (bits - 1)) if signed else np.int64(0)
    most = (np.int64(1) << (bits - 1)) - 1 if signed else (np.int64(1) << bits) - 1
    mask = (np.int64(1) << bits) - 1
    if _is_nan(a, kind):
        return most, _NV
    x = _value(a, kind)
    if np.isinf(x) or abs(x) >= 9e18:
        return (most if x > 0 else least & mask), _NV
    whole = np.floor(x)
    rest = x - whole
    up = False
    if rest != 0.0:
        if mode == _RNE:
            up = rest > 0.5 or (rest == 0.5 and whole % 2 != 0)
        elif mode == _RTZ:
            up = x < 0
        elif mode == _RUP:
            up = True
        elif mode == _RMM:
            up = rest > 0.5 or (rest == 0.5 and x > 0)
    result = np.int64(whole) + (1 if up else 0)
    if result < least:
        return least & mask, _NV
    if result > most:
        return most, _NV
    return result & mask, _NX if rest != 0.0 else 0


@numba.njit(cache=True)
def _convert(a, a_kind, kind, mode):
    if _is_nan(a, a_kind):
        return _nan(kind), _NV if _is_signaling(a, a_kind) else 0
    sign = _sign_bit(kind) if a & _sign_bit(a_kind) else 0
    x = _value(a, a_kind)
    if np.isinf(x):
        return sign | _infinity(kind), 0
    if x == 0.0:
        return sign, 0
    return _round(x, kind, mode)


@numba.njit(cache=True)
def _from_integer(a, kind, mode):
    if a == 0:
        return np.int64(0), 0
    return _round(np.float64(a), kind, mode)


@numba.njit(cache=True)
def _normal(magnitude, kind):
    """Exponent and fraction of a number that is not zero, a subnormal made normal."""
    fb = _fraction_bits(kind)
    exponent = magnitude >> fb
    fraction = magnitude & ((np.int64(1) << fb) - 1)
    if exponent == 0:
        while fraction >> (fb - 1) & 1 == 0:
            exponent -= 1
            fraction <<= 1
        fraction = (fraction << 1) & ((np.int64(1) << fb) - 1)
    return exponent, fraction


@numba.njit(cache=True)
def _reciprocal_root_7(a, kind):
    fb = _fraction_bits(kind)
    if _is_nan(a, kind):
        return _nan(kind), _NV if _is_signaling(a, kind) else 0
    magnitude = a & (_sign_bit(kind) - 1)
    if magnitude == 0:
        return a | _infinity(kind), _DZ
    if a & _sign_bit(kind):
        return _nan(kind), _NV
    if magnitude == _infinity(kind):
        return np.int64(0), 0
    exponent, fraction = _normal(magnitude, kind)
    bias = (np.int64(1) << (_exponent_bits(kind) - 1)) - 1
    index = (exponent & 1) << 6 | fraction >> (fb - 6)
    return (3 * bias - 1 - exponent) // 2 << fb | RECIPROCAL_ROOT_TABLE[index] << (fb - 7), 0


@numba.njit(cache=True)
def _reciprocal_7(a, kind, mode):
    fb = _fraction_bits(kind)
    if _is_nan(a, kind):
        return _nan(kind), _NV if _is_signaling(a, kind) else 0
    sign = a & _sign_bit(kind)
    magnitude = a & (_sign_bit(kind) - 1)
    if magnitude == 0:
        return sign | _infinity(kind), _DZ
    if magnitude == _infinity(kind):
        return sign, 0
    exponent, fraction = _normal(magnitude, kind)
    bias = (np.int64(1) << (_exponent_bits(kind) - 1)) - 1
    if exponent < -1:  # beyond the largest number
        down = mode == _RTZ or (mode == _RDN and sign == 0) or (mode == _RUP and sign != 0)
        return sign | (_infinity(kind) - (1 if down else 0)), _NX | _OF
    out = 2 * bias - 1 - exponent
    result = RECIPROCAL_TABLE[fraction >> (fb - 7)] << (fb - 7)
    if out <= 0:  # subnormal
        result = (result | np.int64(1) << fb) >> (1 - out)
        out = np.int64(0)
    return sign | out << fb | result, 0


@numba.njit(cache=True)
def compute(operation, a, b, c, a_kind, b_kind, kind, mode, bits):
    """One instruction on scalars.

    Parameters
    ----------
    operation : int
        An `Operation`.
    a, b, c : int
        Operands, low-aligned; the addend c has the result's format. Unused ones are 0.
    a_kind, b_kind, kind : int
        `ElementFormat` of a, b and the result, FP32 or FP16; comparisons and minima take them
        from `a_kind`.
    mode : int
        A `RoundingMode` other than DYN, or 6 for rounding to odd.
    bits : int
        Width of an integer result, 8 to 32; otherwise unused.

    Returns
    -------
    result, flags : int
        Result low-aligned (a comparison gives 0 or 1), and exceptions as in `Flag`.
    """
    if operation <= 3:
        return _arithmetic(operation, a, b, a_kind, b_kind, kind, mode)
    if operation == 4:
        return _root(a, a_kind, kind, mode)
    if operation == 5:
        return _fused(a, b, c, a_kind, b_kind, kind, mode)
    if operation <= 7:
        return _extreme(operation == 7, a, b, a_kind)
    if operation <= 10:
        return _compare(operation, a, b, a_kind)
    if operation == 11:
        return _class(a, a_kind), 0
    if operation == 12:
        return _convert(a, a_kind, kind, mode)
    if operation <= 14:
        return _to_integer(operation == 13, a, a_kind, bits, mode)
    if operation <= 16:
        return _from_integer(a, kind, mode)
    if operation == 17:
        return _reciprocal_7(a, a_kind, mode)
    return _reciprocal_root_7(a, a_kind)


@numba.njit(cache=True)
def compute_array(operation, a, b, c, active, out, a_kind, b_kind, kind, mode, bits):
    """One instruction on arrays.

    Parameters
    ----------
    operation, a_kind, b_kind, kind, mode, bits : int
        As in `compute`.
    a, b, c : ndarray, int64 [n]
        Operands.
    active : ndarray, bool [n]
        Elements that are computed.
    out : ndarray, int64 [n]
        Results; inactive elements stay.

    Returns
    -------
    int
        All flags that were raised.
    """
    raised = 0
    for i in range(out.shape[0]):
        if active[i]:
            result, flags = compute(operation, a[i], b[i], c[i], a_kind, b_kind, kind, mode, bits)
            out[i] = result
            raised |= flags
    return raised
