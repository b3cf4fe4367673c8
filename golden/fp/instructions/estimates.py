"""Estimates of seven bits: of a reciprocal, and of the reciprocal of a square root."""

import numpy as np

from fanweave.golden.fp.instructions.compile import compiled
from fanweave.golden.fp.instructions.fields import (
    exponent_bits,
    fraction_bits,
    infinity,
    is_nan,
    is_signaling,
    quiet_nan,
    sign_bit,
)
from fanweave.golden.fp.instructions.rounding import DZ, NV, NX, OF, RDN, RTZ, RUP

__all__ = ["RECIPROCAL_ROOT_TABLE", "RECIPROCAL_TABLE", "reciprocal_7", "reciprocal_root_7"]

# The reciprocal (root) of the middle of each interval, rounded to 8 bits.
_MIDDLE = 1 + (np.arange(128) + 0.5) / 128
RECIPROCAL_TABLE = np.rint(256 / _MIDDLE).astype(np.int64) - 128
_HALF = 1 + (np.arange(64) + 0.5) / 64
RECIPROCAL_ROOT_TABLE = (
    np.rint(256 / np.sqrt(np.concatenate([2 * _HALF, _HALF]))).astype(np.int64) - 128
)  # even exponents (of a number in [2, 4)) first


@compiled
def _normal(magnitude, kind):
    """Exponent and fraction of a number that is not zero, a subnormal made normal."""
    fb = fraction_bits(kind)
    exponent = magnitude >> fb
    fraction = magnitude & ((np.int64(1) << fb) - 1)
    if exponent == 0:
        while fraction >> (fb - 1) & 1 == 0:
            exponent -= 1
            fraction <<= 1
        fraction = (fraction << 1) & ((np.int64(1) << fb) - 1)
    return exponent, fraction


@compiled
def reciprocal_root_7(a, kind):
    fb = fraction_bits(kind)
    if is_nan(a, kind):
        return quiet_nan(kind), NV if is_signaling(a, kind) else 0
    magnitude = a & (sign_bit(kind) - 1)
    if magnitude == 0:
        return a | infinity(kind), DZ
    if a & sign_bit(kind):
        return quiet_nan(kind), NV
    if magnitude == infinity(kind):
        return np.int64(0), 0
    exponent, fraction = _normal(magnitude, kind)
    bias = (np.int64(1) << (exponent_bits(kind) - 1)) - 1
    index = (exponent & 1) << 6 | fraction >> (fb - 6)
    return (3 * bias - 1 - exponent) // 2 << fb | RECIPROCAL_ROOT_TABLE[index] << (fb - 7), 0


@compiled
def reciprocal_7(a, kind, mode):
    fb = fraction_bits(kind)
    if is_nan(a, kind):
        return quiet_nan(kind), NV if is_signaling(a, kind) else 0
    sign = a & sign_bit(kind)
    magnitude = a & (sign_bit(kind) - 1)
    if magnitude == 0:
        return sign | infinity(kind), DZ
    if magnitude == infinity(kind):
        return sign, 0
    exponent, fraction = _normal(magnitude, kind)
    bias = (np.int64(1) << (exponent_bits(kind) - 1)) - 1
    if exponent < -1:  # beyond the largest number
        down = mode == RTZ or (mode == RDN and sign == 0) or (mode == RUP and sign != 0)
        return sign | (infinity(kind) - (1 if down else 0)), NX | OF
    out = 2 * bias - 1 - exponent
    result = RECIPROCAL_TABLE[fraction >> (fb - 7)] << (fb - 7)
    if out <= 0:  # subnormal
        result = (result | np.int64(1) << fb) >> (1 - out)
        out = np.int64(0)
    return sign | out << fb | result, 0
