import numpy as np
import pytest

from fanweave.golden.fp import multiply, multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.accumulate import add_rows

ZEROS_AND_SUBNORMALS = [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000]
ONES_AND_TIES = [0x3F800000, 0xBF800000, 0x3F800001, 0x33800000, 0x4B800000]
LARGE = [0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
ACCUMULATOR_CORNERS = np.array([*ZEROS_AND_SUBNORMALS, *ONES_AND_TIES, *LARGE], dtype=np.uint32)


def one_product_each(accumulators, a, b, element_format, overwrite):
    """Row k adds a[k] * b[k] to accumulator k."""
    result = accumulators.copy()
    count = accumulators.shape[0]
    add_rows(
        result,
        element_format=element_format,
        indptr=np.arange(count + 1),
        columns=np.arange(count),
        weights=b,
        scalars=a[:, None],
        wanted=np.ones((count, 1), dtype=bool),
        base=0,
        stride=0,
        width=count,
        overwrite=overwrite,
    )
    return result


@pytest.mark.parametrize("element_format", ElementFormat)
@pytest.mark.parametrize("overwrite", [False, True])
def test_the_compiled_arithmetic_is_that_of_golden_fp(element_format, overwrite):
    random = np.random.default_rng(7)
    limit = 1 << element_format.bits
    a = random.integers(0, limit, 200_000, dtype=np.uint64).astype(np.uint32)
    b = random.integers(0, limit, 200_000, dtype=np.uint64).astype(np.uint32)
    accumulators = random.integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32)
    # Cancellations and ties: accumulators next to the product, of either sign.
    near = slice(0, 120_000)
    product = multiply(a[near], b[near], element_format)
    accumulators[near] = product + random.integers(-3, 4, 120_000).astype(np.uint32)
    accumulators[:60_000] ^= np.uint32(0x80000000)
    accumulators[120_000:140_000] = random.choice(ACCUMULATOR_CORNERS, 20_000)
    if not element_format.is_integer:  # accumulators never hold another NaN
        nan = np.isnan(accumulators.view(np.float32))
        accumulators[nan] = 0x7FC00000
    got = one_product_each(accumulators, a, b, element_format, overwrite)
    if overwrite:
        expected = multiply(a, b, element_format)
    else:
        expected = multiply_accumulate(accumulators, a, b, element_format)
    np.testing.assert_array_equal(got, expected)
