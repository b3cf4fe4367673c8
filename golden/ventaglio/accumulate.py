"""Multiply-accumulate of whole operations, compiled: the arithmetic of `fanweave.golden.fp`.

One scalar step is what `fanweave.golden.fp.accumulate_product` does to arrays, with the same
proof: the sum of an exact product and an FP32 accumulator is rounded to binary64 to odd, then
to binary32. The tests hold the two against each other.
"""

import numba
import numpy as np

from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["add_rows"]

_NAN = np.uint32(ElementFormat.FP32.layout.canonical_nan).view(np.float32)


@numba.njit(cache=True, inline="always")
def _round(value):
    """binary64 to FP32, nearest even, canonical NaN."""
    if np.isnan(value):
        return _NAN
    return np.float32(value)


@numba.njit(cache=True, inline="always")
def _fused(accumulator, product):
    """FP32 accumulator plus an exact product, rounded once."""
    addend = np.float64(accumulator)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    if error != 0.0 and np.isfinite(total):
        pattern = np.float64(total).view(np.int64)
        if pattern & 1 == 0:
            # Of the two neighbours of the exact sum take the one with an odd significand.
            if (error > 0.0) == (total > 0.0):
                pattern += 1
            else:
                pattern -= 1
            total = np.int64(pattern).view(np.float64)
    return _round(total)


@numba.njit(cache=True)
def _add_numbers(
    accumulators, indptr, columns, weights, scalars, wanted, base, stride, width, overwrite
):
    for k in range(indptr.shape[0] - 1):
        for u in range(scalars.shape[1]):
            if not wanted[k, u]:
                continue
            first = base + u * stride
            scalar = scalars[k, u]
            for e in range(indptr[k], indptr[k + 1]):
                if columns[e] >= width:
                    continue
                a = first + columns[e]
                if overwrite:
                    accumulators[a] = _round(scalar * weights[e])
                else:
                    accumulators[a] = _fused(accumulators[a], scalar * weights[e])


@numba.njit(cache=True)
def _add_integers(
    accumulators, indptr, columns, weights, scalars, wanted, base, stride, width, overwrite
):
    for k in range(indptr.shape[0] - 1):
        for u in range(scalars.shape[1]):
            if not wanted[k, u]:
                continue
            first = base + u * stride
            for e in range(indptr[k], indptr[k + 1]):
                if columns[e] >= width:
                    continue
                a = first + columns[e]
                product = np.int64(scalars[k, u]) * np.int64(weights[e])
                total = product if overwrite else np.int64(accumulators[a]) + product
                accumulators[a] = np.int32(total)


def add_rows(
    accumulators: np.ndarray,
    *,
    element_format: ElementFormat,
    indptr: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    scalars: np.ndarray,
    wanted: np.ndarray,
    base: int,
    stride: int,
    width: int,
    overwrite: bool,
) -> None:
    """Add the products of rows and scalars to accumulators, in place.

    Parameters
    ----------
    accumulators : ndarray, uint32
        FP32 or INT32 bits; changed.
    element_format : ElementFormat
        Format of weights and scalars.
    indptr, columns, weights : ndarray
        Rows, as in `DecodedRows`; weights are raw. Columns at or beyond `width` are left out.
    scalars : ndarray, unsigned [rows, outputs]
        Raw activations.
    wanted : ndarray, bool [rows, outputs]
        Which products are computed.
    base, stride, width : int
        Where the accumulators of the outputs stand, and how many columns each has.
    overwrite : bool
        The product replaces the accumulator.
    """
    add = _add_integers if element_format.is_integer else _add_numbers
    add(
        accumulators.view(np.int32 if element_format.is_integer else np.float32),
        indptr,
        columns,
        decode(weights, element_format),
        decode(scalars, element_format),
        wanted,
        base,
        stride,
        width,
        overwrite,
    )
