import ml_dtypes
import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fp import convert_accumulator, decode, encode
from fanweave.golden.isa.formats import ElementFormat

FP32, FP16, BF16, E4M3, E5M2, INT8 = ElementFormat
LIBRARY_TYPES = {
    FP16: np.float16,
    BF16: ml_dtypes.bfloat16,
    E4M3: ml_dtypes.float8_e4m3fn,
    E5M2: ml_dtypes.float8_e5m2,
}
ONE = 0x3F800000


def single(*values):
    return np.array(values, dtype=np.float32).view(np.uint32)


def all_codes(element_format):
    unsigned = np.uint16 if element_format.bits == 16 else np.uint8
    return np.arange(1 << element_format.bits).astype(unsigned)


@pytest.mark.parametrize("element_format", LIBRARY_TYPES)
def test_decode_agrees_with_the_library_on_every_code(element_format):
    codes = all_codes(element_format)
    with np.errstate(invalid="ignore"):
        expected = codes.view(LIBRARY_TYPES[element_format]).astype(np.float64)
    number = decode(codes, element_format)
    assert np.array_equal(number, expected, equal_nan=True)
    assert np.array_equal(np.signbit(number[expected == 0]), np.signbit(expected[expected == 0]))


def test_decode_reads_fp32_and_int8():
    assert decode(np.uint32(0x00000001), FP32) == 2.0**-149
    assert decode(np.array([0x80, 0xFF, 0x7F]), INT8).tolist() == [-128, -1, 127]


@pytest.mark.parametrize("element_format", LIBRARY_TYPES)
def test_encode_agrees_with_the_library_at_every_rounding_boundary(element_format):
    codes = all_codes(element_format)
    values = np.sort(decode(codes, element_format))
    values = np.unique(values[np.isfinite(values)])
    middle = ((values[:-1] + values[1:]) / 2).astype(np.float32)
    step = values[-1] - values[-2]
    beyond = values[-1] + step * np.array([0.25, 0.5, 0.75, 1, 2])
    beyond = np.minimum(beyond, np.finfo(np.float32).max).astype(np.float32)
    edges = np.concatenate([values.astype(np.float32), middle, beyond, -beyond])
    with np.errstate(over="ignore"):
        up = np.nextafter(edges, np.float32(np.inf))
        down = np.nextafter(edges, np.float32(-np.inf))
    numbers = np.concatenate([edges, up, down, np.float32([0.0, -0.0, np.inf, -np.inf])])

    with np.errstate(all="ignore"):
        expected = numbers.astype(LIBRARY_TYPES[element_format])
    bits = encode(numbers.astype(np.float64), element_format)
    is_nan = np.isnan(expected.astype(np.float32))
    width = np.uint16 if element_format.bits == 16 else np.uint8
    assert np.array_equal(bits[~is_nan], expected.view(width)[~is_nan])
    assert set(bits[is_nan].tolist()) <= {element_format.layout.canonical_nan}


def test_encode_rounds_once_from_binary64():
    # By way of FP32 this would be a tie, and round down to even.
    above_tie = 1 + 2.0**-11 + 2.0**-40
    assert encode(above_tie, FP16) == 0x3C01
    random = np.random.default_rng(0).standard_normal(10_000) * 10.0 ** np.arange(-50, 50).repeat(
        100
    )
    with np.errstate(over="ignore", under="ignore"):
        expected = random.astype(np.float32).view(np.uint32)
    assert np.array_equal(encode(random, FP32), expected)


@pytest.mark.parametrize("element_format", [FP32, *LIBRARY_TYPES])
def test_encode_gives_the_canonical_nan(element_format):
    nan = np.array([np.nan, -np.nan])
    assert set(encode(nan, element_format).tolist()) == {element_format.layout.canonical_nan}


@pytest.mark.parametrize(
    ("element_format", "plain", "saturated"),
    [
        (FP32, 0xFF800000, 0xFF7FFFFF),
        (FP16, 0xFC00, 0xFBFF),
        (BF16, 0xFF80, 0xFF7F),
        (E4M3, 0x7F, 0xFE),
        (E5M2, 0xFC, 0xFB),
        (INT8, 0x80, 0x80),
    ],
)
def test_overflow(element_format, plain, saturated):
    for value in (-1e300, -np.inf):
        assert encode(value, element_format) == plain
        assert encode(value, element_format, saturate=True) == saturated


def test_encode_int8_rounds_to_even_and_saturates():
    values = [0.5, 1.5, -0.5, -1.5, 127.4, 127.5, -128.5, -129.0, np.nan]
    assert encode(values, INT8).tolist() == [0, 2, 0, 0xFE, 127, 127, 0x80, 0x80, 0]


class TestConvertAccumulator:
    def test_raw_passes_every_bit(self):
        bits = np.array([0, 0x7F800001, 0xFFFFFFFF, 0x80000000], dtype=np.uint32)
        result = convert_accumulator(bits, scale=0x40000000, source_is_integer=True, target=None)
        assert np.array_equal(result, bits)
        assert result is not bits

    def test_scale_of_one_is_the_identity_but_for_nan(self):
        bits = np.array([0, 0x80000000, 1, 0x7F7FFFFF, 0xFF800000, 0xFFC00001], dtype=np.uint32)
        result = convert_accumulator(bits, scale=ONE, source_is_integer=False, target=FP32)
        assert result.tolist() == [*bits[:-1].tolist(), 0x7FC00000]

    def test_integers_round_to_fp32_before_the_scale(self):
        # 2**24 + 1 rounds down to even, 2**24 + 3 up.
        bits = np.array([(1 << 24) + 1, (1 << 24) + 3, -1 & 0xFFFFFFFF], dtype=np.uint32)
        result = convert_accumulator(
            bits, scale=single(0.5)[0], source_is_integer=True, target=FP32
        )
        assert np.array_equal(result, single(2.0**23, 2.0**23 + 2, -0.5))

    def test_the_scaled_number_is_rounded_to_fp32_before_the_target(self):
        # The exact product lies just above the middle of two FP16 numbers; rounded to FP32 it
        # is the middle, which goes to even.
        number, scale = single(1 + 2.0**-12), single(1 + 2.0**-12)
        exact = decode(number, FP32) * decode(scale, FP32)
        middle = 1 + 2.0**-11
        assert exact > middle
        assert encode(exact, FP16) == 0x3C01
        assert exact.astype(np.float32) == middle
        result = convert_accumulator(number, scale=scale[0], source_is_integer=False, target=FP16)
        assert result == 0x3C00

    @pytest.mark.parametrize(
        ("target", "expected"),
        [
            (FP16, [0x7C00, 0x7C00, 0xFC00, 0x7E00]),
            (BF16, [0x501C, 0x7F80, 0xFF80, 0x7FC0]),
            (E4M3, [0x7E, 0x7E, 0xFE, 0x7F]),
            (E5M2, [0x7C, 0x7C, 0xFC, 0x7E]),
            (INT8, [0x7F, 0x7F, 0x80, 0x00]),
        ],
    )
    def test_overflow_infinities_and_nan(self, target, expected):
        bits = single(1.05e10, np.inf, -np.inf, np.nan)
        result = convert_accumulator(bits, scale=ONE, source_is_integer=False, target=target)
        assert result.tolist() == expected

    def test_an_unknown_target_is_refused(self):
        with pytest.raises(InputError) as caught:
            convert_accumulator(single(1.0), scale=ONE, source_is_integer=False, target=3)
        assert str(caught.value) == (
            "target is 3; expected an ElementFormat, or None for the raw accumulator"
        )
