"""Operands for multiply-accumulate and conversion: corners, hard cases, random ones."""

import itertools

import numpy as np
from numpy.typing import NDArray

from fanweave.golden.fp import multiply
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["class_samples", "conversion_vectors", "corner_vectors", "corners", "random_vectors"]

_FP32 = ElementFormat.FP32
_ONE = 0x3F800000


def corners(element_format: ElementFormat) -> NDArray[np.uint32]:
    """Elements at the edges of every class of a format, with both signs."""
    if element_format.is_integer:
        return np.array([0, 1, 2, 63, 64, 126, 127, 128, 129, 192, 254, 255], dtype=np.uint32)
    layout = element_format.layout
    hidden = 1 << layout.fraction_bits
    one = layout.bias << layout.fraction_bits
    special = ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
    if layout.has_infinity:
        top = [special - 1, special, special + 1, special + hidden // 2, special + hidden - 1]
    else:
        top = [special, layout.canonical_nan - 2, layout.canonical_nan - 1, layout.canonical_nan]
    low = [0, 1, 2, hidden // 2, hidden - 1, hidden, hidden + 1, 2 * hidden - 1, 2 * hidden]
    middle = [one - hidden, one - 1, one, one + 1, one + hidden // 2, one + hidden - 1]
    magnitudes = np.array(sorted({*low, *middle, *top}), dtype=np.uint32)
    return np.concatenate([magnitudes, magnitudes | np.uint32(1 << (layout.bits - 1))])


def corner_vectors(
    element_format: ElementFormat,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Every combination of corner elements a and b and corner accumulators."""
    if element_format.is_integer:
        addends = np.array(
            [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFC000, 0x80004000], dtype=np.uint32
        )
    else:
        addends = corners(_FP32)
    elements = corners(element_format)
    a, b, addend = np.meshgrid(elements, elements, addends, indexing="ij")
    return a.ravel(), b.ravel(), addend.ravel()


def class_samples(
    element_format: ElementFormat, count: int, rng: np.random.Generator
) -> NDArray[np.uint32]:
    """Random elements, every class (zero, subnormal, normal, infinity, NaN) equally often."""
    if element_format.is_integer:
        return rng.integers(0, 256, count, dtype=np.uint32)
    layout = element_format.layout
    hidden = 1 << layout.fraction_bits
    special = ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
    infinity, nan = special, (special + 1, special + hidden)
    if not layout.has_infinity:  # what stands for infinity here is the largest number
        infinity, nan = layout.canonical_nan - 1, (layout.canonical_nan, layout.canonical_nan + 1)
    normal = (hidden, special if layout.has_infinity else layout.canonical_nan - 1)
    choices = np.stack(
        [
            np.zeros(count, dtype=np.uint32),
            rng.integers(1, hidden, count, dtype=np.uint32),
            rng.integers(*normal, count, dtype=np.uint32),
            np.full(count, infinity, dtype=np.uint32),
            rng.integers(*nan, count, dtype=np.uint32),
        ]
    )
    magnitude = choices[rng.integers(0, len(choices), count), np.arange(count)]
    sign = rng.integers(0, 2, count, dtype=np.uint32) << np.uint32(layout.bits - 1)
    return magnitude | sign


def random_vectors(
    element_format: ElementFormat, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Random a, b and accumulators, one third each of three kinds.

    Uniform bit patterns; every pair of classes with every class of accumulator; and
    accumulators near the negated product, where cancellation and rounding are hardest: within
    a few units in the last place, or with an exponent up to 50 apart.
    """
    bits = element_format.bits
    a = rng.integers(0, 1 << bits, count, dtype=np.uint32)
    b = rng.integers(0, 1 << bits, count, dtype=np.uint32)
    addend = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    if element_format.is_integer:
        return a, b, addend
    third = count // 3
    a[:third] = class_samples(element_format, third, rng)
    b[:third] = class_samples(element_format, third, rng)
    addend[:third] = class_samples(_FP32, third, rng)

    near = slice(third, 2 * third)
    product = multiply(a[near], b[near], element_format)
    sign = product & np.uint32(0x80000000) ^ np.uint32(0x80000000)
    last_place = rng.integers(-3, 4, third)
    exponent = rng.integers(-50, 51, third) << 23
    change = np.where(rng.integers(0, 2, third) == 0, last_place, exponent + last_place)
    magnitude = np.clip((product & 0x7FFFFFFF).astype(np.int64) + change, 0, 0x7F7FFFFF)
    addend[near] = magnitude.astype(np.uint32) | sign
    order = rng.permutation(count)
    return a[order], b[order], addend[order]


def conversion_vectors(
    target: ElementFormat, source_is_integer: bool, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Accumulators and scales whose conversion to a target meets every case.

    A third are corners times corner scales, or plain; a third are random within and around the
    target's range, half of them ties of the rounding; the rest are uniform bit patterns.
    """
    accumulator = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    scale = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    scale[::2] = _ONE
    third = count // 3
    ranged = slice(third, 2 * third)
    if source_is_integer:
        edges = np.array([0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x01000001], dtype=np.uint32)
        magnitude = rng.integers(0, 1 << 32, third) >> rng.integers(0, 32, third)
        accumulator[ranged] = (magnitude * rng.choice([-1, 1], third)).astype(np.uint32)
    else:
        edges = corners(_FP32)
        layout = target.layout
        low, high = (-3, 12)
        if not target.is_integer:
            low = max(-149, -layout.bias - layout.fraction_bits - 3)
            high = min(127, layout.bias + 3)
        significand = rng.integers(1 << 23, 1 << 24, third, dtype=np.uint32)
        kept = rng.integers(0, 24, third)
        significand = np.where(
            rng.integers(0, 2, third) == 0, significand, (significand >> kept) << kept
        )
        number = np.ldexp(significand.astype(np.float64), rng.integers(low, high + 1, third) - 23)
        accumulator[ranged] = (number * rng.choice([-1, 1], third)).astype(np.float32).view("u4")
    pairs = np.array(list(itertools.product(edges, corners(_FP32))), dtype=np.uint32)
    chosen = pairs[rng.integers(0, len(pairs), third)]
    accumulator[:third], scale[:third] = chosen[:, 0], chosen[:, 1]
    scale[: third // 4] = _ONE
    return accumulator, scale
