import numpy as np
import pytest

from fanweave.golden.fp import accumulate_product, decode, multiply, multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sim.benches.fp.reference import softfloat_multiply_accumulate
from fanweave.sim.benches.fp.vectors import corner_vectors, corners, random_vectors

FP32, FP16, BF16, E4M3, E5M2, INT8 = ElementFormat
FLOATS = [FP32, FP16, BF16, E4M3, E5M2]
NAN = 0x7FC00000
RANDOM_VECTORS = 200_000


def assert_agrees(accumulator, a, b, element_format):
    expected = softfloat_multiply_accumulate(accumulator, a, b, element_format)
    if accumulator is None:
        result = multiply(a, b, element_format)
        accumulator = np.zeros_like(a)
    else:
        result = multiply_accumulate(accumulator, a, b, element_format)
    wrong = np.flatnonzero(result != expected)
    assert not wrong.size, [
        tuple(map(hex, (a[i], b[i], accumulator[i], result[i], expected[i]))) for i in wrong[:3]
    ]


@pytest.mark.parametrize("element_format", FLOATS)
def test_every_combination_of_corners(element_format):
    a, b, addend = corner_vectors(element_format)
    assert_agrees(addend, a, b, element_format)
    assert_agrees(None, a, b, element_format)


@pytest.mark.parametrize("element_format", FLOATS)
def test_random_vectors(element_format):
    rng = np.random.default_rng(20)
    a, b, addend = random_vectors(element_format, RANDOM_VECTORS, rng)
    assert_agrees(addend, a, b, element_format)


@pytest.mark.parametrize("element_format", [E4M3, E5M2])
def test_every_pair_of_fp8_with_many_addends(element_format):
    rng = np.random.default_rng(21)
    a, b = (side.ravel() for side in np.meshgrid(*[np.arange(256, dtype=np.uint32)] * 2))
    assert_agrees(None, a, b, element_format)
    product = multiply(a, b, element_format)
    near = (product ^ np.uint32(1 << 31)) + rng.integers(-2, 3, a.size).astype(np.uint32)
    # With an addend 13 to 37 binary places above, the product decides on the rounding.
    above = product + (rng.integers(13, 38, a.size).astype(np.uint32) << np.uint32(23))
    ties = above & np.uint32(0xFF800000) | rng.integers(0, 2, a.size).astype(np.uint32)
    for addend in (near, above, ties, rng.integers(0, 1 << 32, a.size, dtype=np.uint32)):
        assert_agrees(addend, a, b, element_format)
    for addend in corners(FP32)[::5]:
        assert_agrees(np.full_like(a, addend), a, b, element_format)


def test_int8_is_exact_and_wraps():
    a, b = (side.ravel() for side in np.meshgrid(*[np.arange(256, dtype=np.uint32)] * 2))
    left, right = decode(a, INT8).astype(np.int64), decode(b, INT8).astype(np.int64)
    for addend in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        expected = (left * right + addend) & 0xFFFFFFFF
        assert np.array_equal(multiply_accumulate(np.uint32(addend), a, b, INT8), expected)
    assert np.array_equal(multiply(a, b, INT8), (left * right) & 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("addend", "a", "b", "expected"),
    [
        (0x00000000, 0x80000000, 0x3F800000, 0x00000000),  # 0 + -0
        (0x80000000, 0x80000000, 0x3F800000, 0x80000000),  # -0 + -0
        (0xBF800000, 0x3F800000, 0x3F800000, 0x00000000),  # -1 + 1
        (0x00000000, 0x80000001, 0x00000001, 0x80000000),  # underflow keeps its sign
        (0x00000001, 0x80000001, 0x00000001, 0x00000001),
        (0x7F800000, 0xFF800000, 0x3F800000, NAN),  # inf - inf
        (0x3F800000, 0x7F800000, 0x00000000, NAN),  # inf * 0
        (0x3F800000, 0xFFFFFFFF, 0x3F800000, NAN),  # sign and payload are lost
        (0x7FA00000, 0x00000000, 0x00000000, NAN),  # signalling addend
        (0x7F7FFFFF, 0x7F7FFFFF, 0x3F800000, 0x7F800000),  # overflow
        (0xFF7FFFFF, 0x7F7FFFFF, 0x40000000, 0x7F7FFFFF),  # no overflow within
        (0xBF800001, 0x3F800001, 0x3F800001, 0x34000001),  # the product is not rounded first
    ],
)
def test_signs_specials_and_the_single_rounding(addend, a, b, expected):
    assert multiply_accumulate(np.uint32(addend), np.uint32(a), np.uint32(b), FP32) == expected


def test_multiply_keeps_the_sign_of_zero():
    assert multiply(np.uint32(0x80000000), np.uint32(0x3F800000), FP32) == 0x80000000
    assert multiply(np.uint32(0x80000001), np.uint32(0x00000001), FP32) == 0x80000000


def test_shapes_broadcast():
    accumulator = np.zeros((3, 4), dtype=np.uint32)
    a = np.full((3, 1), 0x3C00, dtype=np.uint16)
    b = np.full(4, 0x4000, dtype=np.uint16)
    result = multiply_accumulate(accumulator, a, b, FP16)
    assert result.dtype == np.uint32
    assert np.array_equal(result, np.full((3, 4), 0x40000000))
    assert np.array_equal(accumulate_product(accumulator, decode(b, FP16)), result)
