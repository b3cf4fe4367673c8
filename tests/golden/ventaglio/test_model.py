import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from fanweave.golden.errors import InputError
from fanweave.golden.fp import multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, IndexMode, register
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.model import Ventaglio, run
from fanweave.golden.ventaglio.workload import MatrixImage
from fanweave.sw.ventaglio import (
    Clear,
    Drain,
    Multiply,
    MultiplyAccumulate,
    SparseMatrix,
    assemble,
    build_image,
    lower,
)

CONFIG = VentaglioConfig(beat_bits=64, accumulators=64, mask_columns=32)
FP32, FP16, INT8 = ElementFormat.FP32, ElementFormat.FP16, ElementFormat.INT8


def bits(*values):
    """FP32 bits of numbers."""
    return np.array(values, dtype=np.float32).view(np.uint32)


def absolute_image(rows, element_format=FP32, columns=256):
    """Image of rows given as lists of (column, raw element), with 8-bit absolute indices."""
    flat = [element for row in rows for element in row]
    matrix = SparseMatrix(
        shape=(len(rows), columns),
        indptr=np.concatenate(([0], np.cumsum([len(row) for row in rows]))),
        indices=np.array([column for column, _ in flat], dtype=np.int64),
        data=np.array([value for _, value in flat], dtype=np.uint32),
        element_format=element_format,
        index_mode=IndexMode.ABSOLUTE_8,
    )
    return build_image([matrix], beat_bits=CONFIG.beat_bits)[0]


def unit_for(rows, activations, operations, **options):
    """A unit that has executed operations on rows of (column, raw element)."""
    words = np.zeros((len(activations), CONFIG.max_outputs), dtype=np.uint32)
    for k, beat in enumerate(activations):
        words[k, : len(beat)] = beat
    unit = Ventaglio(CONFIG, absolute_image(rows, **options), words)
    unit.write_all(assemble(operations))
    return unit


def accumulate(kind=MultiplyAccumulate, **settings_):
    return kind(
        **{
            "element_format": FP32,
            "index_mode": IndexMode.ABSOLUTE_8,
            "length": 1,
            "width": 4,
            **settings_,
        }
    )


def test_two_rows_and_two_outputs_by_hand():
    one, two, three, half = bits(1.0, 2.0, 3.0, 0.5)
    unit = unit_for(
        [[(0, two), (2, three)], [(2, half)]],
        [(one, three), (two, 0)],
        [
            accumulate(length=2, outputs=2, base=2, stride=4),
            Drain(element_format=FP32, count=12),
        ],
    )
    expected = bits(0, 0, 2, 0, 3 + 1, 0, 6, 0, 9, 0, 0, 0)
    np.testing.assert_array_equal(unit.results[0], expected)
    assert unit.counters == {
        "products": 5,
        "skipped_rows": 0,
        "skipped_products": 1,
        "weight_beats": 2,
        "index_beats": 1,
        "activation_beats": 2,
        "result_beats": 6,
    }


def test_multiply_overwrites_and_equal_columns_go_in_the_order_of_the_row():
    one, two, three = bits(1.0, 2.0, 3.0)
    rows = [[(1, two), (1, three)]]
    overwritten = unit_for(
        rows,
        [(two,)] * 2,
        [accumulate(), accumulate(Multiply), Drain(element_format=FP32, count=2)],
    )
    np.testing.assert_array_equal(overwritten.results[0], bits(0, 6))
    added = unit_for(rows, [(one,)], [accumulate(), Drain(element_format=FP32, count=2)])
    np.testing.assert_array_equal(added.results[0], bits(0, 5))


def test_a_skipped_zero_is_no_addition_and_a_computed_one_is():
    infinity, minus_zero = bits(np.inf, -0.0)
    rows = [[(0, infinity), (1, minus_zero)]]
    drain = Drain(element_format=FP32, count=2)
    for zero in bits(0.0, -0.0):
        skipped = unit_for(rows, [(zero,)], [accumulate(), drain])
        np.testing.assert_array_equal(skipped.results[0], bits(0, 0))
        assert skipped.counters["skipped_rows"] == 1
        assert skipped.counters["products"] == skipped.counters["weight_beats"] == 0
    computed = unit_for(rows, [(bits(0.0)[0],)], [accumulate(skip_zeros=False), drain])
    assert computed.results[0][0] == 0x7FC00000
    assert computed.counters["products"] == 2


def test_clear_and_clearing_drain():
    (one,) = bits(1.0)
    unit = unit_for(
        [[(0, one), (2, one)]],
        [(one,)] * 2,
        [
            accumulate(),
            Drain(element_format=FP32, count=2, clear=True),
            Drain(element_format=FP32, count=3),
            Clear(),
            Drain(element_format=FP32, count=3),
        ],
    )
    assert [result.tolist() for result in unit.results] == [
        bits(1, 0).tolist(),
        bits(0, 0, 1).tolist(),
        bits(0, 0, 0).tolist(),
    ]


def test_conversion_of_int8_sums():
    unit = unit_for(
        [[(0, 0xFE), (1, 100)]],  # -2 and 100
        [(3,)],
        [
            accumulate(element_format=INT8),
            Drain(element_format=INT8, count=2, target=INT8, scale=int(bits(0.5)[0])),
            Drain(element_format=INT8, count=2, target=FP32, scale=int(bits(0.5)[0])),
            Drain(element_format=INT8, count=2),
        ],
        element_format=INT8,
    )
    assert unit.results[0].tolist() == [0xFD, 127]
    np.testing.assert_array_equal(unit.results[1], bits(-3, 150))
    assert unit.results[2].tolist() == [0xFFFFFFFA, 300]


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        (accumulate(width=60, base=6), ErrorCause.OVER_CONFIGURATION),
        (accumulate(width=20, outputs=4, stride=15), ErrorCause.OVER_CONFIGURATION),
        (accumulate(outputs=0), ErrorCause.OVER_CONFIGURATION),
        (accumulate(outputs=5), ErrorCause.OVER_CONFIGURATION),
        (accumulate(width=0), ErrorCause.OVER_CONFIGURATION),
        (accumulate(base=1), ErrorCause.OVER_CONFIGURATION),
        (accumulate(index_mode=IndexMode.N_OF_M, n=3, m=2), ErrorCause.OVER_CONFIGURATION),
        (accumulate(index_mode=IndexMode.N_OF_M, n=0, m=2), ErrorCause.OVER_CONFIGURATION),
        (accumulate(index_mode=IndexMode.N_OF_M, n=1, m=33), ErrorCause.OVER_CONFIGURATION),
        (Drain(element_format=FP32, base=2, count=63), ErrorCause.OVER_CONFIGURATION),
        (Drain(element_format=FP32, base=1, count=3), ErrorCause.OVER_CONFIGURATION),
        (accumulate(element_format=6), ErrorCause.ILLEGAL_FORMAT),
        (accumulate(index_mode=5), ErrorCause.ILLEGAL_FORMAT),
        (Drain(element_format=FP32, count=1, target=7), ErrorCause.ILLEGAL_FORMAT),
    ],
)
def test_a_refused_operation_takes_nothing_and_the_next_one_runs(operation, cause):
    (one,) = bits(1.0)
    unit = unit_for(
        [[(0, one)]],
        [(one,)],
        [operation, accumulate(), Drain(element_format=FP32, count=1)],
    )
    assert (unit.error.cause, unit.error.halted) == (cause, False)
    np.testing.assert_array_equal(unit.results[0], bits(1))
    assert unit.counters["activation_beats"] == 1


def test_a_format_that_is_not_built_and_an_unknown_opcode():
    config = VentaglioConfig(formats=(FP32,), beat_bits=64, accumulators=64, mask_columns=32)
    image = absolute_image([[]])
    unit = Ventaglio(config, image, np.zeros((1, 4), np.uint32))
    unit.write_all(assemble([accumulate(element_format=FP16)]))
    assert unit.error.cause is ErrorCause.ILLEGAL_FORMAT
    for opcode in (0, 5, 6, 7):
        unit = Ventaglio(config, image, np.zeros((1, 4), np.uint32))
        unit.write(register("command").address, opcode)
        assert unit.error.cause is ErrorCause.ILLEGAL_OPERATION


def test_a_column_beyond_the_width_is_dropped_and_the_first_one_is_reported():
    one, two = bits(1.0, 2.0)
    unit = unit_for(
        [[(9, one)], [(0, one), (4, one), (5, one), (3, two)]],
        [(0,), (one,)],
        [accumulate(length=2), Drain(element_format=FP32, count=6)],
    )
    np.testing.assert_array_equal(unit.results[0], bits(1, 0, 0, 2, 0, 0))
    error = unit.error
    assert (error.cause, error.row, error.element) == (ErrorCause.INDEX_RANGE, 1, 1)
    assert not error.halted
    assert unit.counters["products"] == 2
    unit.write(register("error").address, 0)
    assert unit.error.cause is ErrorCause.NONE


@pytest.mark.parametrize(("mask", "element"), [(0b1011, 2), (0b1000, 1)])
def test_a_bitmask_that_contradicts_the_row_halts(mask, element):
    image = MatrixImage(
        beat_bits=64,
        weights=np.zeros((1, 8), np.uint8),
        indices=np.array([[0b11, 0, 0, 0, mask, 0, 0, 0]], np.uint8),
        nnz=np.array([2, 2]),
        element_start=np.array([0, 2]),
        element_bits=np.array([8, 8]),
        index_start=np.array([0, 1]),
        index_words=np.array([1, 1]),
    )
    unit = Ventaglio(CONFIG, image, np.ones((2, 4), np.uint32))
    operation = accumulate(element_format=INT8, index_mode=IndexMode.BITMASK, length=2)
    drain = Drain(element_format=INT8, count=1)
    unit.write_all(assemble([operation, drain]))
    error = unit.error
    assert (error.cause, error.row, error.element) == (ErrorCause.LENGTH, 1, element)
    assert error.halted
    assert unit.results == []  # the drain was forgotten
    unit.write_all(assemble([drain]))
    assert unit.results == []  # ignored while halted
    unit.write(register("error").address, 0)
    unit.write_all(assemble([drain]))
    assert len(unit.results) == 1


def test_activations_that_never_come_time_out():
    unit = unit_for([[]] * 3, [(1,)], [accumulate(length=3)])
    assert unit.error.cause is ErrorCause.TIMEOUT
    assert unit.error.halted


def test_rows_that_the_image_does_not_have_are_refused():
    with pytest.raises(InputError, match="asks for rows 1 to 2; the image has 2"):
        unit_for([[], []], [(1,)] * 2, [accumulate(length=2, first_row=1)])
    with pytest.raises(InputError, match="row 0 of the image has elements of 32 bits"):
        unit_for([[(0, 1)]], [(1,)], [accumulate(element_format=FP16)])


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_no_accumulators_do_nothing(count):
    unit = unit_for([[]], [], [accumulate(length=0), Drain(element_format=FP32, count=count)])
    assert unit.error.cause is ErrorCause.NONE
    assert len(unit.results) == count


@st.composite
def products(draw):
    """A matrix in some index mode, activations, and how to run them."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    element_format = draw(st.sampled_from(list(ElementFormat)))
    mode = draw(st.sampled_from(list(IndexMode)))
    rows, columns = draw(st.integers(1, 7)), draw(st.integers(1, 40))
    m = draw(st.integers(1, 32)) if mode is IndexMode.N_OF_M else 0
    n = draw(st.integers(1, m)) if m else 0
    density = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    keep = random.random((rows, columns)) < (1.0 if mode is IndexMode.DENSE else density)
    if m:
        for k in range(rows):
            for start in range(0, columns, m):
                block = min(m, columns - start)
                keep[k, start : start + m] = False
                keep[k, start + random.permutation(block)[:n]] = True
    dense = random.integers(0, 1 << element_format.bits, keep.shape, dtype=np.uint64)
    dense = dense.astype(np.uint32)
    tokens = draw(st.integers(1, 5))
    x = random.integers(0, 1 << element_format.bits, (tokens, rows), dtype=np.uint64)
    x = np.where(random.random(x.shape) < draw(st.sampled_from([0.0, 0.5])), 0, x)
    matrix = SparseMatrix(
        shape=keep.shape,
        indptr=np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
        indices=np.nonzero(keep)[1],
        data=dense[keep],
        element_format=element_format,
        index_mode=mode,
        n=n,
        m=m,
    )
    outputs = draw(st.integers(1, 4))
    width = min(columns, CONFIG.accumulators // outputs, draw(st.integers(1, 40)))
    if m:
        width = max(width - width % m, min(m, CONFIG.accumulators // outputs))
        if width % m and width < columns:
            outputs, width = 1, m
    return matrix, keep, dense, x.astype(np.uint32), outputs, width, draw(st.booleans())


def oracle(matrix, keep, dense, x, skip_zeros):
    """Three loops over scalars."""
    element_format = matrix.element_format
    sign = 0 if element_format.is_integer else 1 << element_format.bits - 1
    result = np.zeros((x.shape[0], matrix.shape[1]), dtype=np.uint32)
    for token in range(x.shape[0]):
        for j in range(matrix.shape[1]):
            total = 0
            for k in range(matrix.shape[0]):
                zero = x[token, k] in (0, sign)
                if keep[k, j] and not (skip_zeros and zero):
                    total = multiply_accumulate(total, x[token, k], dense[k, j], element_format)
            result[token, j] = total
    return result


@settings(max_examples=60, deadline=None, print_blob=True)
@given(products())
def test_lowered_products_against_three_loops(case):
    matrix, keep, dense, x, outputs, width, skip_zeros = case
    note(
        f"{matrix.element_format.name} {matrix.index_mode.name} {matrix.n}:{matrix.m} {keep.shape}"
    )
    workload = lower(matrix, x, config=CONFIG, outputs=outputs, width=width, skip_zeros=skip_zeros)
    expected = oracle(matrix, keep, dense, x, skip_zeros)
    np.testing.assert_array_equal(run(workload, CONFIG), expected)


def test_run_refuses_a_workload_with_errors():
    workload = lower(
        SparseMatrix(
            shape=(1, 4),
            indptr=np.array([0, 1]),
            indices=np.array([3]),
            data=np.array([1]),
            element_format=FP16,
            index_mode=IndexMode.ABSOLUTE_8,
        ),
        np.array([[0x3C00]]),
        config=CONFIG,
    )
    workload.image.indices[0, 0] = 9
    with pytest.raises(InputError, match="INDEX_RANGE at row 0, element 0"):
        run(workload, CONFIG)
