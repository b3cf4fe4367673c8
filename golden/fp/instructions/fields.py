"""Fields of FP32 and FP16 bits: where they are, and what the whole stands for."""

import numpy as np

from fanweave.golden.fp.instructions.compile import compiled, inlined
from fanweave.golden.isa.formats import ElementFormat

__all__ = [
    "exponent_bits",
    "fraction_bits",
    "infinity",
    "is_nan",
    "is_signaling",
    "quiet_nan",
    "sign_bit",
    "value_of",
]

_FP32 = int(ElementFormat.FP32)


@inlined
def fraction_bits(kind):
    return 23 if kind == _FP32 else 10


@inlined
def exponent_bits(kind):
    return 8 if kind == _FP32 else 5


@inlined
def quiet_nan(kind):
    return 0x7FC00000 if kind == _FP32 else 0x7E00


@inlined
def infinity(kind):
    return 0x7F800000 if kind == _FP32 else 0x7C00


@inlined
def sign_bit(kind):
    return 0x80000000 if kind == _FP32 else 0x8000


@inlined
def is_nan(bits, kind):
    return bits & (sign_bit(kind) - 1) > infinity(kind)


@inlined
def is_signaling(bits, kind):
    quiet = np.int64(1) << (fraction_bits(kind) - 1)
    return is_nan(bits, kind) and bits & quiet == 0


@compiled
def value_of(bits, kind):
    """The number that bits stand for; not for NaNs."""
    fb = fraction_bits(kind)
    magnitude = bits & (sign_bit(kind) - 1)
    if magnitude == infinity(kind):
        value = np.inf
    else:
        exponent = magnitude >> fb
        fraction = magnitude & ((np.int64(1) << fb) - 1)
        bias = (np.int64(1) << (exponent_bits(kind) - 1)) - 1
        if exponent == 0:
            # A power of two as bits: exact, and every such number is normal in binary64.
            scale = np.int64((1 - bias - fb + 1023) << 52).view(np.float64)
            value = np.float64(fraction) * scale
        else:
            pattern = ((exponent - bias + 1023) << 52) | (fraction << (52 - fb))
            value = np.int64(pattern).view(np.float64)
    return -value if bits & sign_bit(kind) else value
