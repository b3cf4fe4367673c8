import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, Opcode, register
from fanweave.golden.ventaglio.config import VentaglioConfig, preset
from fanweave.golden.ventaglio.model import run
from fanweave.golden.ventaglio.workload import DrainedTile
from fanweave.sw.traces.trace import Layout, Operand
from fanweave.sw.ventaglio import SparseMatrix, default_width, lower, matrix_of

FP16, INT8 = ElementFormat.FP16, ElementFormat.INT8


def dense(rows, columns, element_format=INT8):
    return SparseMatrix(
        shape=(rows, columns),
        indptr=np.arange(rows + 1) * columns,
        indices=np.tile(np.arange(columns), rows),
        data=np.arange(rows * columns) % 100,
        element_format=element_format,
        index_mode=IndexMode.DENSE,
    )


def words(workload, name):
    """Data of all writes to a register."""
    chosen = workload.commands[:, 0] == register(name).address
    return workload.commands[chosen, 1].tolist()


def test_tiles_tokens_and_turns():
    config = VentaglioConfig(beat_bits=64, accumulators=64, mask_columns=32)
    x = np.arange(15).reshape(3, 5) + 1
    workload = lower(dense(5, 20), x, config=config, outputs=2, width=16)
    assert workload.drains == (
        DrainedTile(token=0, outputs=2, column=0, width=16),
        DrainedTile(token=0, outputs=2, column=16, width=4),
        DrainedTile(token=2, outputs=1, column=0, width=16),
        DrainedTile(token=2, outputs=1, column=16, width=4),
    )
    assert words(workload, "command") == [
        Opcode.CLEAR,
        *[Opcode.MULTIPLY_ACCUMULATE, Opcode.DRAIN] * 4,
    ]
    bases = [word & 0xFFFF for word in words(workload, "accumulators")]
    assert bases == [0, 32, 0, 32]
    assert workload.activations.shape == (20, 4)
    assert workload.activations[0].tolist() == [1, 6, 0, 0]
    expected = x @ (np.arange(100).reshape(5, 20) % 100)
    np.testing.assert_array_equal(run(workload, config).view(np.int32), expected)


def test_full_accumulators_leave_no_turns():
    workload = lower(dense(2, 256), np.ones((2, 2), int), config=preset("default"))
    assert {word & 0xFFFF for word in words(workload, "accumulators")} == {0}


def test_default_widths():
    config = preset("default")
    assert default_width(1000, config, outputs=1) == 256
    assert default_width(1000, config, outputs=2) == 128
    assert default_width(1000, config, outputs=1, m=3) == 255
    assert default_width(40, config, outputs=1) == 40
    with pytest.raises(InputError, match="64 accumulators do not hold 4 output rows of one block"):
        default_width(40, preset("tiny"), outputs=4, m=32)


@pytest.mark.parametrize("layout", Layout)
def test_an_operand_of_a_trace(layout):
    random = np.random.default_rng(3)
    keep = np.zeros((6, 10), dtype=bool)
    keep[:, ::2] = True
    if layout is Layout.DENSE:
        keep[:] = True
    data = random.integers(1, 100, keep.shape).astype(np.uint8)
    x = random.integers(0, 3, (2, 6)).astype(np.uint8)
    operand = Operand(
        name="q",
        element_format=INT8,
        layout=layout,
        n=1 if layout is Layout.N_OF_M else 0,
        m=2 if layout is Layout.N_OF_M else 0,
        shape=keep.shape,
        indptr=np.concatenate(([0], np.cumsum(keep.sum(axis=1)))).astype(np.int64),
        indices=np.nonzero(keep)[1].astype(np.int32),
        data=data[keep],
        activations=x,
        phases=("prefill", "decode"),
    )
    config = preset("default")
    got = run(lower(operand, config=config, outputs=2, width=4), config)
    expected = x.astype(int) @ np.where(keep, data, 0).astype(int)
    np.testing.assert_array_equal(got.view(np.int32), expected)


def test_wide_tiles_of_an_operand_take_16_bit_indices():
    operand = Operand(
        name="q",
        element_format=INT8,
        layout=Layout.ABSOLUTE,
        shape=(1, 300),
        indptr=np.array([0, 1]),
        indices=np.array([299], np.int32),
        data=np.array([1], np.uint8),
        activations=np.ones((1, 1), np.uint8),
        phases=("decode",),
    )
    assert matrix_of(operand, 256).index_mode is IndexMode.ABSOLUTE_8
    assert matrix_of(operand, 300).index_mode is IndexMode.ABSOLUTE_16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": 5}, "outputs is 5; this configuration allows 1 to 4"),
        (
            {"width": 300},
            "1 outputs of 300 columns need 300 accumulators; the configuration has 256",
        ),
        (
            {"activations": np.ones((1, 3))},
            r"activations have shape \(1, 3\); expected \(tokens, 2\)",
        ),
        ({"activations": None}, "activations have shape None"),
        ({"config": preset("fp16")}, "format INT8 is not built in this configuration; it has FP16"),
    ],
)
def test_refusals(options, message):
    arguments = {"activations": np.ones((1, 2), int), "config": preset("default"), **options}
    with pytest.raises(InputError, match=message):
        lower(dense(2, 400), **arguments)
