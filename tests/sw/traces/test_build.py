"""From numbers to operands."""

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces import Layout
from fanweave.sw.traces.build import (
    LayoutChoice,
    Matrix,
    encode_scaled,
    make_operand,
    natural_layout,
)


def _make(weights, choice=None, element_format=ElementFormat.FP32, source=None):
    weights = np.asarray(weights, dtype=np.float64)
    return make_operand(
        name="w",
        matrix=Matrix.from_dense(weights, source),
        activations=np.ones((1, weights.shape[0])),
        phases=["decode"],
        element_format=element_format,
        choice=choice,
    )


@pytest.mark.parametrize(
    "choice",
    [
        LayoutChoice(layout=Layout.DENSE),
        LayoutChoice(layout=Layout.BITMASK),
        LayoutChoice(layout=Layout.ABSOLUTE),
        LayoutChoice(layout=Layout.N_OF_M, n=3, m=4),
    ],
)
def test_every_layout_holds_the_same_numbers(choice):
    weights = np.random.default_rng(0).standard_normal((7, 10))
    weights[:, ::4] = 0
    weights[3] = 0
    operand, _ = _make(weights, choice)
    np.testing.assert_array_equal(
        decode(operand.dense(), ElementFormat.FP32), weights.astype(np.float32)
    )


def test_entries_may_come_in_any_order():
    matrix = Matrix(
        shape=(2, 3),
        rows=np.array([1, 0, 1]),
        columns=np.array([2, 1, 0]),
        values=np.array([1.0, 2.0, 3.0]),
    )
    operand, _ = make_operand(
        name="w",
        matrix=matrix.transposed().transposed(),
        activations=np.ones((0, 2)),
        phases=[],
        element_format=ElementFormat.FP32,
        choice=LayoutChoice(layout=Layout.BITMASK),
    )
    np.testing.assert_array_equal(
        decode(operand.dense(), ElementFormat.FP32), [[0, 2, 0], [3, 0, 1]]
    )


@pytest.mark.parametrize(
    ("weights", "layout", "block"),
    [
        (np.ones((3, 5)), Layout.DENSE, (0, 0)),
        (np.tile([[0.0, 1, 0, 1]], (3, 4)), Layout.N_OF_M, (2, 4)),
        (np.tile([[0.0, 1, 0, 0]], (3, 4)), Layout.N_OF_M, (1, 4)),
        (np.tile([[0.0, 1, 1, 1]], (3, 4)), Layout.BITMASK, (0, 0)),
        (np.eye(40), Layout.ABSOLUTE, (0, 0)),
    ],
)
def test_the_natural_layout_is_found(weights, layout, block):
    choice = natural_layout(Matrix.from_dense(weights))
    assert (choice.layout, (choice.n, choice.m)) == (layout, block)
    operand, _ = _make(weights)
    assert operand.layout is layout


def test_blocks_are_filled_from_the_left_with_stored_zeros():
    operand, _ = _make([[0.0, 0, 5, 0, 7, 0]], LayoutChoice(layout=Layout.N_OF_M, n=2, m=4))
    assert operand.indices.tolist() == [0, 2, 4, 5]
    assert decode(operand.data, ElementFormat.FP32).tolist() == [0, 5, 7, 0]


def test_a_block_that_is_too_full_is_named():
    with pytest.raises(InputError) as refused:
        _make([[1.0, 0], [0, 0], [1, 1]], LayoutChoice(layout=Layout.N_OF_M, n=1, m=2))
    assert str(refused.value) == (
        "operand 'w': row 2, block 0 has 2 nonzeros, more than 1:2 allows; "
        "prune to 1:2 along the outputs or choose layout bitmask"
    )


def test_weights_that_round_to_zero_are_not_stored():
    operand, _ = _make([[1.0, 1e-30, 2.0]], element_format=ElementFormat.FP16)
    assert operand.indices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("element_format", "largest"),
    [(ElementFormat.E4M3, 448), (ElementFormat.E5M2, 57344), (ElementFormat.INT8, 127)],
)
def test_narrow_formats_are_scaled_to_their_range(element_format, largest):
    values = np.array([-3.0, 0.5, 0.0, 1.5])
    bits, scale = encode_scaled(values, element_format)
    assert scale == pytest.approx(3.0 / largest)
    assert decode(bits, element_format)[0] == -largest
    np.testing.assert_allclose(decode(bits, element_format) * scale, values, atol=0.04 * 3)


def test_wide_formats_are_not_scaled_and_saturate():
    bits, scale = encode_scaled(np.array([1e9, -1.0]), ElementFormat.FP16)
    assert scale == 1.0
    assert decode(bits, ElementFormat.FP16).tolist() == [65504.0, -1.0]


def test_all_zeros_have_scale_one():
    assert encode_scaled(np.zeros(3), ElementFormat.INT8)[1] == 1.0


def test_numbers_already_in_the_format_are_kept_bit_by_bit():
    weights = decode(np.array([[0x01, 0x10], [0x31, 0x85]]), ElementFormat.E4M3)
    operand, scales = _make(weights, element_format=ElementFormat.E4M3, source=ElementFormat.E4M3)
    assert operand.dense().tolist() == [[0x01, 0x10], [0x31, 0x85]]
    assert scales["weights"] == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_finite_number_is_refused(bad):
    with pytest.raises(InputError, match=f"operand 'w': weights hold {bad} at element 1; only fin"):
        _make([[1.0, bad]])
