"""Sums, products, quotients and square roots."""

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
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.fp.instructions.rounding import (
    DZ,
    NV,
    RDN,
    product_error,
    round_to_kind,
    to_odd,
)

__all__ = ["add", "arithmetic", "fused", "root"]


@compiled
def add(x, y, kind, mode):
    """Bits and flags of a sum of two numbers, neither a NaN; x may have 48 bits."""
    if np.isinf(x) or np.isinf(y):
        if np.isinf(x) and np.isinf(y) and x != y:
            return quiet_nan(kind), NV
        total = x if np.isinf(x) else y
        return infinity(kind) | (sign_bit(kind) if total < 0 else 0), 0
    total = x + y
    if total == 0.0:
        # Sums of normal binary64 numbers this far from its limits are zero only if exact.
        both_negative = np.copysign(1.0, x) < 0 and np.copysign(1.0, y) < 0
        same = x == 0.0 and y == 0.0 and np.copysign(1.0, x) == np.copysign(1.0, y)
        negative = both_negative if same else mode == RDN
        return sign_bit(kind) if negative else 0, 0
    part = total - x
    error = (x - (total - part)) + (y - part)
    return round_to_kind(to_odd(total, error), kind, mode)


@compiled
def arithmetic(operation, a, b, a_kind, b_kind, kind, mode):
    """ADD, SUB, MUL and DIV."""
    if is_nan(a, a_kind) or is_nan(b, b_kind):
        invalid = is_signaling(a, a_kind) or is_signaling(b, b_kind)
        return quiet_nan(kind), NV if invalid else 0
    x, y = value_of(a, a_kind), value_of(b, b_kind)
    if operation == Operation.ADD:
        return add(x, y, kind, mode)
    if operation == Operation.SUB:
        return add(x, -y, kind, mode)
    negative = (np.copysign(1.0, x) < 0) != (np.copysign(1.0, y) < 0)
    sign = sign_bit(kind) if negative else 0
    if operation == Operation.MUL:
        if (np.isinf(x) and y == 0.0) or (np.isinf(y) and x == 0.0):
            return quiet_nan(kind), NV
        if np.isinf(x) or np.isinf(y):
            return sign | infinity(kind), 0
        if x == 0.0 or y == 0.0:
            return sign, 0
        return round_to_kind(x * y, kind, mode)
    if (np.isinf(x) and np.isinf(y)) or (x == 0.0 and y == 0.0):
        return quiet_nan(kind), NV
    if np.isinf(x):
        return sign | infinity(kind), 0
    if y == 0.0:
        return sign | infinity(kind), DZ
    if x == 0.0 or np.isinf(y):
        return sign, 0
    quotient = x / y
    product = quotient * y
    rest = (x - product) - product_error(quotient, y, product)
    return round_to_kind(to_odd(quotient, rest if y > 0 else -rest), kind, mode)


@compiled
def fused(a, b, c, a_kind, b_kind, kind, mode):
    invalid_product = False
    if not is_nan(a, a_kind) and not is_nan(b, b_kind):
        x, y = value_of(a, a_kind), value_of(b, b_kind)
        invalid_product = (np.isinf(x) and y == 0.0) or (np.isinf(y) and x == 0.0)
    if invalid_product or is_nan(a, a_kind) or is_nan(b, b_kind) or is_nan(c, kind):
        signaling = is_signaling(a, a_kind) or is_signaling(b, b_kind)
        signaling |= is_signaling(c, kind)
        return quiet_nan(kind), NV if signaling or invalid_product else 0
    return add(value_of(a, a_kind) * value_of(b, b_kind), value_of(c, kind), kind, mode)


@compiled
def root(a, a_kind, kind, mode):
    if is_nan(a, a_kind):
        return quiet_nan(kind), NV if is_signaling(a, a_kind) else 0
    x = value_of(a, a_kind)
    if x == 0.0:
        return a, 0
    if x < 0.0:
        return quiet_nan(kind), NV
    if np.isinf(x):
        return a, 0
    root = np.sqrt(x)
    product = root * root
    rest = (x - product) - product_error(root, root, product)
    return round_to_kind(to_odd(root, rest), kind, mode)
