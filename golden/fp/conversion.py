"""Element bit patterns to numbers and back, and the conversion of a drained accumulator."""

import functools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["convert_accumulator", "decode", "encode"]


def decode(bits: ArrayLike, element_format: ElementFormat) -> NDArray[np.float64]:
    """Numbers that bit patterns stand for; exact, as every format fits in binary64.

    Parameters
    ----------
    bits : array of unsigned integers
        Raw elements, low-aligned; bits above the format's width are ignored.
    element_format : ElementFormat
        Their format. INT8 is read as two's complement.

    Returns
    -------
    array of float64
        Same shape. Every NaN code becomes a NaN; its payload is lost.
    """
    match element_format:
        case ElementFormat.FP32:
            single = np.asarray(bits).astype(np.uint32, copy=False).view(np.float32)
        case ElementFormat.BF16:
            upper = np.asarray(bits).astype(np.uint32) << np.uint32(16)
            single = np.asarray(upper, dtype=np.uint32).view(np.float32)
        case ElementFormat.INT8:
            return np.asarray(bits).astype(np.uint8, copy=False).view(np.int8).astype(np.float64)
        case _:
            mask = (1 << element_format.bits) - 1
            return _decoding_table(element_format)[np.asarray(bits) & mask]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return single.astype(np.float64)


@functools.cache
def _decoding_table(element_format: ElementFormat) -> NDArray[np.float64]:
    """Value of every code of a format of at most 16 bits."""
    layout = element_format.layout
    code = np.arange(1 << layout.bits)
    fraction = code & ((1 << layout.fraction_bits) - 1)
    exponent = (code >> layout.fraction_bits) & ((1 << layout.exponent_bits) - 1)
    significand = fraction + ((exponent != 0) << layout.fraction_bits)
    scale = np.maximum(exponent, 1) - layout.bias - layout.fraction_bits
    value = np.ldexp(significand.astype(np.float64), scale)
    magnitude = code & ((1 << (layout.bits - 1)) - 1)
    infinity = _infinity_code(element_format)
    if layout.has_infinity:
        value[magnitude == infinity] = np.inf
    value[magnitude > infinity] = np.nan
    value = np.where(code >> (layout.bits - 1) == 1, -value, value)
    value.setflags(write=False)
    return value


def _infinity_code(element_format: ElementFormat) -> int:
    """Code of +infinity or, in a format without, the largest finite code: NaNs lie above it."""
    layout = element_format.layout
    if layout.has_infinity:
        return ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
    return layout.canonical_nan - 1


def encode(
    values: ArrayLike, element_format: ElementFormat, saturate: bool = False
) -> NDArray[np.uint32]:
    """Round numbers to the nearest element, ties to even.

    Parameters
    ----------
    values : array of float64
        Numbers; zero keeps its sign.
    element_format : ElementFormat
        Format of the result.
    saturate : bool
        What becomes of a number beyond the largest finite element, infinities included: with
        True the largest finite element of its sign; with False infinity, or in E4M3, which has
        none, NaN. INT8 always saturates.

    Returns
    -------
    array of uint32
        Raw elements, low-aligned. A NaN becomes the format's canonical NaN, in INT8 zero.
    """
    number = np.asarray(values, dtype=np.float64)
    if element_format.is_integer:
        rounded = np.clip(np.rint(np.where(np.isnan(number), 0.0, number)), -128, 127)
        return (rounded.astype(np.int32) & 0xFF).astype(np.uint32)

    layout = element_format.layout
    magnitude = np.where(np.isfinite(number), np.abs(number), 0.0)
    # frexp has its significand in [0.5, 1). Codes are in order of magnitude, so a significand
    # that rounds up to the next power of two carries into the exponent field by itself.
    least = 1 - layout.bias
    exponent = np.where(magnitude > 0.0, np.maximum(np.frexp(magnitude)[1] - 1, least), least)
    significand = np.rint(np.ldexp(magnitude, layout.fraction_bits - exponent)).astype(np.int64)
    code = significand + (
        (exponent.astype(np.int64) + (layout.bias - 1)) << np.int64(layout.fraction_bits)
    )

    infinity = _infinity_code(element_format)
    largest = infinity - 1 if layout.has_infinity else infinity
    beyond = (code > largest) | np.isinf(number)
    is_nan = np.isnan(number)
    if saturate or layout.has_infinity:
        code = np.where(beyond, largest if saturate else infinity, code)
    else:
        is_nan = is_nan | beyond
    code = code | (np.signbit(number).astype(np.int64) << np.int64(layout.bits - 1))
    return np.where(is_nan, layout.canonical_nan, code).astype(np.uint32)


def convert_accumulator(
    accumulator: ArrayLike,
    *,
    scale: int | ArrayLike,
    source_is_integer: bool,
    target: ElementFormat | None,
) -> NDArray[np.uint32]:
    """Drain accumulators: to FP32, times a scale, to the target format.

    Each of the three steps rounds once, to nearest even.

    Parameters
    ----------
    accumulator : array of uint32
        Accumulator bits: FP32, or INT32 in two's complement.
    scale : int or array of uint32
        FP32 bits of the factor; 0x3F800000 (1.0) changes nothing.
    source_is_integer : bool
        Whether accumulators are INT32.
    target : ElementFormat or None
        Format of the result; None passes the 32 bits through, unscaled.

    Returns
    -------
    array of uint32
        Results, low-aligned. FP32, FP16, BF16 and E5M2 overflow to infinity. E4M3 and INT8
        saturate, infinities included. NaN becomes the canonical NaN, in INT8 zero.
    """
    bits = np.asarray(accumulator).astype(np.uint32, copy=False)
    if target is None:
        return bits.copy()
    if not isinstance(target, ElementFormat):
        raise InputError(
            f"target is {target!r}; expected an ElementFormat, or None for the raw accumulator"
        )
    if source_is_integer:
        number = bits.view(np.int32).astype(np.float32)
    else:
        number = bits.view(np.float32)
    factor = np.asarray(scale, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        scaled = (number.astype(np.float64) * factor.astype(np.float64)).astype(np.float32)
    return encode(scaled.astype(np.float64), target, saturate=target is ElementFormat.E4M3)
