"""Berkeley SoftFloat as an independent reference for multiply-accumulate."""

import numpy as np
from numpy.typing import NDArray

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat

__all__ = ["softfloat_multiply_accumulate"]


def softfloat_multiply_accumulate(
    accumulator: NDArray[np.uint32] | None,
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    element_format: ElementFormat,
) -> NDArray[np.uint32]:
    """Fused multiply-accumulate of FP32 accumulators, one by one, about a microsecond each.

    Operands of narrower formats are widened to FP32, which is exact. SoftFloat's NaNs become
    the canonical one.

    Parameters
    ----------
    accumulator : array of uint32 or None
        FP32 bits; None for the rounded product alone.
    a, b : array of uint32
        Raw elements of the same shape, one axis.
    element_format : ElementFormat
        A floating-point format.

    Raises
    ------
    InputError
        If the softfloatpy package is missing, or the format is an integer.
    """
    if element_format.is_integer:
        raise InputError(f"element_format is {element_format!r}; expected a floating-point format")
    try:
        import softfloatpy
    except ImportError as error:
        raise InputError(
            "the softfloatpy package is missing; install it with pip install 'fanweave[dev]'"
        ) from error
    read, mul, mul_add = (
        softfloatpy.Float32.from_bytes,
        softfloatpy.f32_mul,
        softfloatpy.f32_mul_add,
    )
    softfloatpy.set_rounding_mode(softfloatpy.RoundingMode.NEAR_EVEN)
    left, right = (_cells(_widened(item, element_format)) for item in (a, b))
    if accumulator is None:
        results = [mul(read(x), read(y)).to_bytes() for x, y in zip(left, right, strict=True)]
    else:
        addends = _cells(accumulator)
        results = [
            mul_add(read(x), read(y), read(z)).to_bytes()
            for x, y, z in zip(left, right, addends, strict=True)
        ]
    bits = np.frombuffer(b"".join(results), dtype=">u4").astype(np.uint32)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, np.uint32(ElementFormat.FP32.layout.canonical_nan), bits)


def _widened(bits: NDArray[np.uint32], element_format: ElementFormat) -> NDArray[np.uint32]:
    """FP32 bits of elements."""
    if element_format is ElementFormat.FP32:
        return bits
    return decode(bits, element_format).astype(np.float32).view(np.uint32)


def _cells(bits: NDArray[np.uint32]) -> list[bytes]:
    """Big-endian bytes of each word."""
    data = bits.astype(">u4").tobytes()
    return [data[start : start + 4] for start in range(0, len(data), 4)]
