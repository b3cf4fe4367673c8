"""Fused multiply-accumulate, bit-exact, vectorised.

Every product of two elements is exact in binary64: significands have at most 24 bits, so the
product has at most 48, and its exponent lies far within range. The sum of that product and an
FP32 accumulator is rounded to binary64 *to odd*, with the error of the addition found exactly
by Knuth's TwoSum; a second rounding, to binary32, then gives the same result as one rounding of
the exact sum, since binary64 keeps more than two bits beyond binary32, subnormals included
(S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
rounding to odd", IEEE Transactions on Computers 57, 2008).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.fp.conversion import decode
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["accumulate_product", "multiply", "multiply_accumulate"]

_CANONICAL_NAN = np.uint32(ElementFormat.FP32.layout.canonical_nan)


def multiply(a: ArrayLike, b: ArrayLike, element_format: ElementFormat) -> NDArray[np.uint32]:
    """Product of elements, rounded once to the accumulator's format.

    Parameters
    ----------
    a, b : array of unsigned integers
        Raw elements, low-aligned; shapes broadcast.
    element_format : ElementFormat
        Format of both.

    Returns
    -------
    array of uint32
        FP32 bits, a zero with the product's sign; for INT8 the bits of the INT32 product.
    """
    if element_format.is_integer:
        return _integer_product(a, b).view(np.uint32)
    with np.errstate(invalid="ignore"):
        product = decode(a, element_format) * decode(b, element_format)
    return _single(product)


def multiply_accumulate(
    accumulator: ArrayLike, a: ArrayLike, b: ArrayLike, element_format: ElementFormat
) -> NDArray[np.uint32]:
    """Accumulator plus the product of two elements, rounded once.

    Parameters
    ----------
    accumulator : array of uint32
        FP32 bits; for INT8 the bits of INT32.
    a, b : array of unsigned integers
        Raw elements, low-aligned; all shapes broadcast.
    element_format : ElementFormat
        Format of a and b.

    Returns
    -------
    array of uint32
        New accumulator bits. FP32 rounds to nearest even, honours subnormals and yields only
        the canonical NaN; an exact cancellation is +0. INT32 wraps.
    """
    if element_format.is_integer:
        addend = np.asarray(accumulator).astype(np.uint32, copy=False)
        return np.asarray(addend + _integer_product(a, b).view(np.uint32))
    with np.errstate(invalid="ignore"):
        product = decode(a, element_format) * decode(b, element_format)
    return accumulate_product(accumulator, product)


def accumulate_product(accumulator: ArrayLike, product: ArrayLike) -> NDArray[np.uint32]:
    """FP32 accumulator plus an exact product, rounded once.

    Parameters
    ----------
    accumulator : array of uint32
        FP32 bits.
    product : array of float64
        Exact product of two elements of a floating-point format.

    Returns
    -------
    array of uint32
        FP32 bits, as from `multiply_accumulate`.
    """
    exact_product = np.asarray(product, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        addend = decode(accumulator, ElementFormat.FP32)
        total = np.asarray(exact_product + addend)
        # TwoSum: error is exactly what the addition lost, NaN where a summand is not finite.
        part = total - exact_product
        error = (exact_product - (total - part)) + (addend - part)
        inexact = np.abs(error) > 0.0
        away = (error > 0.0) == (total > 0.0)
    # Of the two neighbours of the exact sum take the one with an odd significand.
    pattern = total.view(np.int64)
    to_odd = np.where(away, np.int64(1), np.int64(-1)) * (inexact & ((pattern & 1) == 0))
    return _single((pattern + to_odd).view(np.float64))


def _integer_product(a: ArrayLike, b: ArrayLike) -> NDArray[np.int32]:
    """Exact INT8 products."""
    left = np.asarray(a).astype(np.uint8, copy=False).view(np.int8).astype(np.int32)
    right = np.asarray(b).astype(np.uint8, copy=False).view(np.int8).astype(np.int32)
    return np.asarray(left * right)


def _single(values: NDArray[np.float64]) -> NDArray[np.uint32]:
    """FP32 bits nearest to binary64 values, with the canonical NaN."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bits = np.asarray(values.astype(np.float32)).view(np.uint32)
    return np.asarray(np.where(np.isnan(values), _CANONICAL_NAN, bits))
