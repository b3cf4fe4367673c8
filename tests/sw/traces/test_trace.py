"""What an operand refuses, and what it computes."""

import dataclasses

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces import Layout, Operand, Trace
from fanweave.sw.traces.trace import is_nan, is_zero

#     0  1  2  3  4  5
# 0   .  a  .  b  .  .
# 1   .  .  .  .  .  .
# 2   c  .  .  .  d  e
OPERAND = Operand(
    name="layers.0.mlp.up_proj",
    element_format=ElementFormat.FP16,
    layout=Layout.BITMASK,
    shape=(3, 6),
    indptr=np.array([0, 2, 2, 5], dtype=np.int64),
    indices=np.array([1, 3, 0, 4, 5], dtype=np.int32),
    data=np.array([0x3C00, 0xBC00, 0x0001, 0x7C00, 0x8000], dtype=np.uint16),
    activations=np.array([[0x3C00, 0, 0x8000], [1, 2, 3]], dtype=np.uint16),
    phases=("prefill", "decode"),
)
TWO_OF_FOUR = dataclasses.replace(
    OPERAND,
    layout=Layout.N_OF_M,
    n=1,
    m=4,
    indptr=np.array([0, 2, 4, 6], dtype=np.int64),
    indices=np.array([0, 4, 3, 5, 2, 4], dtype=np.int32),
    data=np.arange(6, dtype=np.uint16),
)


def _changed(field, position, value):
    array = getattr(OPERAND, field).copy()
    array[position] = value
    return {field: array}


def test_sizes_and_sparsities():
    assert OPERAND.nnz == 5
    assert OPERAND.tokens == 2
    assert OPERAND.weight_sparsity == pytest.approx(13 / 18)
    assert OPERAND.activation_sparsity == pytest.approx(2 / 6)  # of both signs
    np.testing.assert_array_equal(OPERAND.rows, [0, 0, 2, 2, 2])


def test_dense_puts_each_weight_in_its_place():
    expected = np.zeros((3, 6), dtype=np.uint16)
    expected[0, 1], expected[0, 3] = 0x3C00, 0xBC00
    expected[2, 0], expected[2, 4], expected[2, 5] = 0x0001, 0x7C00, 0x8000
    np.testing.assert_array_equal(OPERAND.dense(), expected)


@pytest.mark.parametrize(("start", "stop"), [(0, 6), (0, 1), (1, 4), (2, 3), (3, 6), (5, 6)])
def test_a_column_tile_is_the_slice_of_the_matrix(start, stop):
    tile = OPERAND.column_tile(start, stop)
    assert tile.shape == (3, stop - start)
    np.testing.assert_array_equal(tile.dense(), OPERAND.dense()[:, start:stop])


def test_tiles_of_blocks_end_on_a_blocks_edge():
    assert TWO_OF_FOUR.column_tile(4, 6).nnz == 3
    with pytest.raises(InputError, match="columns 0:2 cut a block of 4; use multiples of 4"):
        TWO_OF_FOUR.column_tile(0, 2)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (3, 7)])
def test_tiles_outside_are_refused(start, stop):
    with pytest.raises(InputError, match=f"columns {start}:{stop} must lie in 0:6 and not be emp"):
        OPERAND.column_tile(start, stop)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": (0, 6)}, "shape must be two positive integers (K, N), got (0, 6)"),
        (
            {"indptr": np.array([0, 5], dtype=np.int64)},
            "indptr must be int64 of shape [4], got int64 of shape [2]",
        ),
        (
            {"indices": np.arange(5)},
            "indices must be int32 of shape [5], got int64 of shape [5]",
        ),
        (
            {"element_format": ElementFormat.E4M3},
            "data must be uint8 of shape [5], got uint16 of shape [5]",
        ),
        (
            {"phases": ("prefill",)},
            "activations must be uint16 of shape [1, 3], got uint16 of shape [2, 3]",
        ),
        (
            {"phases": ("prefill", "answer")},
            "phases[1] must be 'prefill' or 'decode', got 'answer'",
        ),
        (
            _changed("indptr", 3, 4),
            "indptr must rise from 0 to the number of weights 5, got 0 to 4",
        ),
        (
            _changed("indptr", 1, 3),
            "indptr must rise from 0 to the number of weights 5, got 0 to 5 with a fall between",
        ),
        (_changed("indices", 4, 6), "indices[4] is 6, out of range for 6 columns (0 to 5)"),
        (_changed("indices", 2, -1), "indices[2] is -1, out of range for 6 columns (0 to 5)"),
        (
            _changed("indices", 3, 5),
            "indices of row 2 must ascend without repeats, got 5 before 5; sort the row",
        ),
        (
            _changed("data", 1, 0xFE01),
            "data[1] is NaN; a trace holds numbers only, replace it before saving",
        ),
        (
            _changed("activations", (1, 2), 0x7E00),
            "activations[1, 2] is NaN; a trace holds numbers only, replace it before saving",
        ),
        (
            {"n": 2, "m": 4},
            "n and m are 2:4 but belong to layout n_of_m only; leave them 0 for layout bitmask",
        ),
        (
            {"layout": Layout.DENSE},
            "layout dense stores 18 weights, got 5; store the zeros, or choose layout bitmask",
        ),
        (
            {"layout": Layout.N_OF_M, "n": 4, "m": 2},
            "layout n_of_m needs 1 <= n <= m <= 32, got 4:2",
        ),
        (
            {"layout": Layout.N_OF_M, "n": 2, "m": 4},
            "row 0, block 1 holds 0 weights but 2:4 needs 2; "
            "store zeros to fill up, or choose layout bitmask",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(InputError) as refused:
        dataclasses.replace(OPERAND, **change)
    assert str(refused.value) == f"operand 'layers.0.mlp.up_proj': {message}"


def test_a_name_is_needed():
    with pytest.raises(InputError, match="operand name must be a non-empty string, got ''"):
        dataclasses.replace(OPERAND, name="")


def test_infinities_are_numbers():
    assert not is_nan(np.array([0x7C00, 0xFC00], dtype=np.uint16), ElementFormat.FP16).any()


@pytest.mark.parametrize(
    ("element_format", "nans", "zeros"),
    [
        (ElementFormat.E4M3, [0x7F, 0xFF], [0x00, 0x80]),
        (ElementFormat.E5M2, [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], [0x00, 0x80]),
        (ElementFormat.INT8, [], [0x00]),
    ],
)
def test_nans_and_zeros_of_the_narrow_formats(element_format, nans, zeros):
    codes = np.arange(256, dtype=np.uint8)
    assert np.nonzero(is_nan(codes, element_format))[0].tolist() == nans
    assert np.nonzero(is_zero(codes, element_format))[0].tolist() == zeros


def test_a_trace_refuses_equal_names_and_unknown_origins():
    with pytest.raises(InputError, match=r"operand name 'layers\.0\.mlp\.up_proj' is used twice"):
        Trace(operands=(OPERAND, OPERAND), metadata={"origin": "captured"})
    with pytest.raises(InputError) as refused:
        Trace(operands=(OPERAND,), metadata={"origin": "dreamt"})
    assert str(refused.value) == (
        "trace: metadata 'origin' must be one of captured, synthetic, imported, got 'dreamt'"
    )
    with pytest.raises(InputError, match="metadata must map str to str, got 'seed': 3"):
        Trace(operands=(), metadata={"origin": "synthetic", "seed": 3})
