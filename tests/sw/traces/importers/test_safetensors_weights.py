"""Dense weights with zeros, and the two bitmask forms."""

import numpy as np
import pytest
import safetensors.numpy

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.importers.safetensors_weights import operand_name, read_safetensors

NAME = "model.layers.2.mlp.up_proj.weight"


def _weights(rows=6, columns=20, seed=0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, columns)).astype(np.float16)
    values[random.random((rows, columns)) < 0.5] = 0
    values[rows // 2] = 0  # an empty row
    return values


def _bitmask(weights: np.ndarray) -> dict[str, np.ndarray]:
    """compressed-tensors' sparse-bitmask, column c in bit c & 7 of byte c >> 3."""
    rows, columns = weights.shape
    mask = np.zeros((rows, -(-columns // 8)), dtype=np.uint8)
    offsets, values = [], []
    for row in range(rows):
        offsets.append(len(values))
        for column in range(columns):
            if weights[row, column] != 0:
                mask[row, column >> 3] |= 1 << (column & 7)
                values.append(weights[row, column])
    return {
        f"{NAME}.shape": np.array([rows, columns], dtype=np.int64),
        f"{NAME}.compressed": np.array(values, dtype=weights.dtype),
        f"{NAME}.bitmask": mask,
        f"{NAME}.row_offsets": np.array(offsets, dtype=np.int64),
    }


def _two_of_four() -> np.ndarray:
    weights = np.zeros((5, 16), dtype=np.float16)
    for row in range(5):
        for block in range(4):
            places = [(row + block) % 4, (row + block + 1 + block % 2) % 4]
            weights[row, [4 * block + place for place in places]] = [1 + row, -2 - block]
    return weights


def _two_of_four_file(weights) -> dict[str, np.ndarray]:
    tensors = _bitmask(weights)
    del tensors[f"{NAME}.row_offsets"]
    compressed = tensors[f"{NAME}.compressed"].reshape(weights.shape[0], -1)
    return tensors | {f"{NAME}.compressed": compressed}


def _dense(matrix) -> np.ndarray:
    weights = np.zeros(matrix.shape)
    weights[matrix.rows, matrix.columns] = matrix.values
    return weights


def _save(tmp_path, tensors):
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(tensors, path)
    return path


def test_dense_weights_with_zeros(tmp_path):
    weights = _weights()
    (source,) = read_safetensors(_save(tmp_path, {NAME: weights}), ())
    assert source.name == "layers.2.mlp.up_proj"
    assert source.has_values
    assert source.matrix.source is ElementFormat.FP16
    assert source.matrix.values.size == np.count_nonzero(weights)
    np.testing.assert_array_equal(_dense(source.matrix), weights)


def test_sparse_bitmask(tmp_path):
    weights = _weights()
    (source,) = read_safetensors(_save(tmp_path, _bitmask(weights)), ())
    assert source.name == "layers.2.mlp.up_proj"
    np.testing.assert_array_equal(_dense(source.matrix), weights)


def test_sparse_24_bitmask(tmp_path):
    weights = _two_of_four()
    (source,) = read_safetensors(_save(tmp_path, _two_of_four_file(weights)), ())
    np.testing.assert_array_equal(_dense(source.matrix), weights)


def test_weights_are_told_from_other_matrices_and_chosen_by_pattern(tmp_path):
    tensors = {
        **_bitmask(_weights()),
        "model.layers.0.mlp.up_proj.weight": _weights(seed=1),
        "model.layers.0.mlp.up_proj.weight_scale": np.ones((6, 1), dtype=np.float32),
        "model.norm.weight": np.ones(20, dtype=np.float32),
    }
    path = _save(tmp_path, tensors)
    names = [source.name for source in read_safetensors(path, ())]
    assert names == ["layers.0.mlp.up_proj", "layers.2.mlp.up_proj"]
    (chosen,) = read_safetensors(path, ["*layers.2.*"])
    assert chosen.name == "layers.2.mlp.up_proj"
    with pytest.raises(InputError) as refused:
        read_safetensors(path, ["*layers.9.*"])
    assert str(refused.value) == (
        f"{path}: no weight matrix fits '*layers.9.*'; there are: "
        f"model.layers.0.mlp.up_proj.weight, {NAME}"
    )


def test_matrices_of_any_name_are_taken_if_none_is_called_weight(tmp_path):
    (source,) = read_safetensors(_save(tmp_path, {"w": _weights()}), ())
    assert source.name == "w"
    assert operand_name("model.embed.weight") == "embed"


def test_a_file_without_matrices_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no matrix; expected two-dimensional weights"):
        read_safetensors(_save(tmp_path, {"bias": np.ones(3)}), ())


def _change(tensors, part, array):
    return tensors | {f"{NAME}.{part}": array}


def _without(tensors, part):
    return {key: value for key, value in tensors.items() if key != f"{NAME}.{part}"}


WHOLE = _bitmask(_weights())
MASK = WHOLE[f"{NAME}.bitmask"]
OFFSETS = WHOLE[f"{NAME}.row_offsets"]
COMPRESSED = WHOLE[f"{NAME}.compressed"]
BEYOND = MASK | np.array([0, 0, 0x80], dtype=np.uint8)
HALF = _two_of_four_file(_two_of_four())


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (_without(WHOLE, "shape"), f"tensor '{NAME}.shape' is missing"),
        (_without(WHOLE, "bitmask"), f"tensor '{NAME}.bitmask' is missing"),
        (_without(WHOLE, "row_offsets"), f"tensor '{NAME}.row_offsets' is missing"),
        (
            _change(WHOLE, "shape", np.array([6, -1])),
            f"{NAME}.shape must be two positive numbers, got [6, -1]; the file is damaged",
        ),
        (
            _change(WHOLE, "bitmask", MASK[:, :2].copy()),
            f"{NAME}.bitmask must have shape [6, 3], got [6, 2]; the file is damaged",
        ),
        (
            _change(WHOLE, "bitmask", BEYOND),
            f"{NAME}.bitmask has bits beyond its 20 columns; the file is damaged",
        ),
        (
            _change(WHOLE, "compressed", COMPRESSED[:-1].copy()),
            f"{NAME}.compressed must hold {COMPRESSED.size} values, got [{COMPRESSED.size - 1}]; "
            "the file is damaged",
        ),
        (
            _change(WHOLE, "row_offsets", OFFSETS + 1),
            f"{NAME}.row_offsets must be the running count of the mask's bits before a row; "
            "the file is damaged",
        ),
        (
            _change(HALF, "bitmask", HALF[f"{NAME}.bitmask"] | np.array([1, 0], dtype=np.uint8)),
            f"{NAME}.compressed must hold 8 values for each of 5 rows, as the mask must have "
            "bits; got shape [5, 8] and 8 to 9 bits; the file is damaged",
        ),
    ],
)
def test_damaged_bitmasks_are_refused(tmp_path, tensors, message):
    path = _save(tmp_path, tensors)
    with pytest.raises(InputError) as refused:
        read_safetensors(path, ())
    assert str(refused.value) == f"{path}: {message}"
