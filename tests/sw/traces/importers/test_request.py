"""From a user's file to a trace."""

import json

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces import Layout
from fanweave.sw.traces.importers import ImportRequest, import_trace

#: [out, in] of a layer with 6 outputs and 4 inputs.
WEIGHTS = np.array(
    [[1.0, 0, 2, 0], [0, 3, 0, 0], [4, 0, 5, 6], [0, 0, 0, 7], [8, 9, 0, 0], [0, 0, 0, -1]]
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "w.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(WEIGHTS))
    return path


def _weights(trace):
    return decode(trace.operands[0].dense(), trace.operands[0].element_format)


def test_weights_out_in_are_transposed_and_in_out_are_not(path):
    np.testing.assert_array_equal(_weights(import_trace(path, ImportRequest())), WEIGHTS.T)
    straight = import_trace(path, ImportRequest(orientation="in-out"))
    np.testing.assert_array_equal(_weights(straight), WEIGHTS)


def test_a_sixteen_bit_model_is_taken_over_bit_by_bit(tmp_path):
    bits = np.random.default_rng(0).integers(0, 0x7C00, (9, 5)).astype(np.uint16)
    bits[::2] |= 0x8000
    safetensors.numpy.save_file({"w": bits.view(np.float16)}, tmp_path / "w.safetensors")
    trace = import_trace(tmp_path / "w.safetensors", ImportRequest())
    expected = np.where(bits == 0x8000, 0, bits)
    np.testing.assert_array_equal(trace.operands[0].dense(), expected.T)


def test_what_came_from_where_is_told(path):
    trace = import_trace(path, ImportRequest(seed=5))
    assert dict(trace.metadata) == {
        "origin": "imported",
        "source": "w.npz",
        "weights": "from the file",
        "activations": "random, seed 5",
        "scales": json.dumps({"w": {"activations": 1.0, "weights": 1.0}}),
    }


def test_files_without_values_get_random_ones_and_say_so(tmp_path):
    path = tmp_path / "w.smtx"
    path.write_text("2, 3, 3\n0 1 3\n2 0 1\n")
    first, again, other = (import_trace(path, ImportRequest(seed=s)) for s in (1, 1, 2))
    assert first.metadata["weights"] == "random, seed 1"
    np.testing.assert_array_equal(_weights(first), _weights(again))
    assert not np.array_equal(_weights(first), _weights(other))
    np.testing.assert_array_equal(_weights(first) != 0, [[0, 1], [0, 1], [1, 0]])


def test_activations_are_random_with_the_sparsity_asked_for(path):
    request = ImportRequest(activation_sparsity=0.25, prefill=3, decode=1)
    (operand,) = import_trace(path, request).operands
    assert operand.activation_sparsity == 0.25
    assert operand.phases == ("prefill", "prefill", "prefill", "decode")


def test_activations_come_from_a_file(path, tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", w=x)
    for name in ("x.npy", "x.npz"):
        request = ImportRequest(activations=tmp_path / name, element_format=ElementFormat.BF16)
        trace = import_trace(path, request)
        (operand,) = trace.operands
        np.testing.assert_array_equal(decode(operand.activations, ElementFormat.BF16), x)
        assert operand.phases == ("prefill", "prefill", "decode")
        assert trace.metadata["activations"] == name


def test_two_of_four_along_the_inputs_becomes_a_bitmask(tmp_path):
    weights = np.tile([[1.0, 0, 2, 0], [3, 4, 0, 0], [5, 0, 0, 6]], (4, 2))
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(weights))
    (operand,) = import_trace(tmp_path / "w.npz", ImportRequest()).operands
    assert operand.layout is Layout.BITMASK
    (straight,) = import_trace(tmp_path / "w.npz", ImportRequest(orientation="in-out")).operands
    assert (straight.layout, straight.n, straight.m) == (Layout.N_OF_M, 2, 4)


def test_unknown_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: no such file"):
        import_trace(tmp_path / "none.npz", ImportRequest())
    (tmp_path / "w.onnx").write_text("")
    with pytest.raises(InputError) as refused:
        import_trace(tmp_path / "w.onnx", ImportRequest())
    assert str(refused.value) == (
        f"{tmp_path}/w.onnx: files ending in '.onnx' cannot be imported; "
        "expected .safetensors, .npz, .mtx, .smtx"
    )


def test_patterns_do_not_go_with_a_single_matrix(path):
    with pytest.raises(
        InputError, match=r"holds one matrix without a name; leave out the tensor p"
    ):
        import_trace(path, ImportRequest(tensors=("*q_proj*",)))


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    bad = np.where(WEIGHTS == 7, np.nan, WEIGHTS)
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(bad))
    with pytest.raises(InputError, match="operand 'w': weights hold nan at element 6; only finite"):
        import_trace(tmp_path / "w.npz", ImportRequest())


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.ones((3, 5)),
            r"must be real numbers of shape \[tokens, 4\], got float64 of shape \[3, 5",
        ),
        (np.ones(4), r"got float64 of shape \[4\]; is the orientation right\?"),
        (np.ones((3, 4)) * 1j, r"got complex128"),
        (np.full((3, 4), np.nan), r"operand 'w': activations hold nan at element 0"),
    ],
)
def test_activations_that_do_not_fit_are_refused(path, tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(InputError, match=message):
        import_trace(path, ImportRequest(activations=tmp_path / "x.npy"))


def test_damaged_activation_files_are_refused(path, tmp_path):
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00")
    for name in ("x.npy", "none.npy"):
        with pytest.raises(InputError, match=rf"{name}: not a \.npy or \.npz file, or damaged"):
            import_trace(path, ImportRequest(activations=tmp_path / name))
    np.savez(tmp_path / "x.npz", other=np.ones((1, 4)))
    with pytest.raises(InputError, match=r"x\.npz: holds no array for 'w'; there are: other"):
        import_trace(path, ImportRequest(activations=tmp_path / "x.npz"))


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="orientation must be out-in or in-out, got 'up-down'"):
        ImportRequest(orientation="up-down")
    with pytest.raises(InputError, match="import: activation sparsity must be from 0 to 1, got 2"):
        ImportRequest(activation_sparsity=2)
    with pytest.raises(InputError, match="import: decode must be 0 or more, got -1"):
        ImportRequest(decode=-1)
