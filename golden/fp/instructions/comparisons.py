"""Comparisons, minima, maxima and classes."""

import numpy as np

from fanweave.golden.fp.instructions.compile import compiled
from fanweave.golden.fp.instructions.fields import (
    fraction_bits,
    infinity,
    is_nan,
    is_signaling,
    quiet_nan,
    sign_bit,
    value_of,
)
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.fp.instructions.rounding import NV

__all__ = ["classify", "compare", "extreme"]


@compiled
def extreme(largest, a, b, kind):
    """The IEEE 754-2019 minimumNumber and maximumNumber."""
    flags = NV if is_signaling(a, kind) or is_signaling(b, kind) else 0
    if is_nan(a, kind):
        return (quiet_nan(kind) if is_nan(b, kind) else b), flags
    if is_nan(b, kind):
        return a, flags
    x, y = value_of(a, kind), value_of(b, kind)
    if x == y:  # also +0 and -0
        first = (a & sign_bit(kind) != 0) != largest
    else:
        first = (x > y) == largest
    return (a if first else b), flags


@compiled
def compare(operation, a, b, kind):
    if is_nan(a, kind) or is_nan(b, kind):
        signaling = is_signaling(a, kind) or is_signaling(b, kind)
        return 0, NV if signaling or operation != Operation.EQ else 0
    x, y = value_of(a, kind), value_of(b, kind)
    if operation == Operation.EQ:
        return np.int64(x == y), 0
    if operation == Operation.LT:
        return np.int64(x < y), 0
    return np.int64(x <= y), 0


@compiled
def classify(a, kind):
    negative = a & sign_bit(kind) != 0
    magnitude = a & (sign_bit(kind) - 1)
    if magnitude > infinity(kind):
        return np.int64(1) << (8 if is_signaling(a, kind) else 9)
    if magnitude == infinity(kind):
        place = 0
    elif magnitude == 0:
        place = 3
    elif magnitude >> fraction_bits(kind) == 0:
        place = 2
    else:
        place = 1
    return np.int64(1) << (place if negative else 7 - place)
