"""Conversions between formats, and to and from integers."""

import numpy as np

from fanweave.golden.fp.instructions.compile import compiled
from fanweave.golden.fp.instructions.fields import (
    infinity,
    is_nan,
    is_signaling,
    quiet_nan,
    sign_bit,
    value_of,
)
from fanweave.golden.fp.instructions.rounding import NV, NX, RMM, RNE, RTZ, RUP, round_to_kind

__all__ = ["convert", "from_integer", "to_integer"]


@compiled
def to_integer(signed, a, kind, bits, mode):
    """Result of `bits` bits, low-aligned."""
    least = -(np.int64(1) << (bits - 1)) if signed else np.int64(0)
    most = (np.int64(1) << (bits - 1)) - 1 if signed else (np.int64(1) << bits) - 1
    mask = (np.int64(1) << bits) - 1
    if is_nan(a, kind):
        return most, NV
    x = value_of(a, kind)
    if np.isinf(x) or abs(x) >= 9e18:
        return (most if x > 0 else least & mask), NV
    whole = np.floor(x)
    rest = x - whole
    up = False
    if rest != 0.0:
        if mode == RNE:
            up = rest > 0.5 or (rest == 0.5 and whole % 2 != 0)
        elif mode == RTZ:
            up = x < 0
        elif mode == RUP:
            up = True
        elif mode == RMM:
            up = rest > 0.5 or (rest == 0.5 and x > 0)
    result = np.int64(whole) + (1 if up else 0)
    if result < least:
        return least & mask, NV
    if result > most:
        return most, NV
    return result & mask, NX if rest != 0.0 else 0


@compiled
def convert(a, a_kind, kind, mode):
    if is_nan(a, a_kind):
        return quiet_nan(kind), NV if is_signaling(a, a_kind) else 0
    sign = sign_bit(kind) if a & sign_bit(a_kind) else 0
    x = value_of(a, a_kind)
    if np.isinf(x):
        return sign | infinity(kind), 0
    if x == 0.0:
        return sign, 0
    return round_to_kind(x, kind, mode)


@compiled
def from_integer(a, kind, mode):
    if a == 0:
        return np.int64(0), 0
    return round_to_kind(np.float64(a), kind, mode)
