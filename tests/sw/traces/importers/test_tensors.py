"""Tensors of any type out of safetensors."""

import json

import ml_dtypes
import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.importers.tensors import TensorFile


def _write(path, tensors):
    """A safetensors file by its specification: name -> (dtype, array)."""
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        offsets = [len(content), len(content) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        content += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


VALUES = np.array([[0.5, -1.0, 2.0], [0.0, 4.0, -0.25]])


@pytest.mark.parametrize(
    ("dtype", "numpy_type", "element_format"),
    [
        ("F64", np.float64, None),
        ("F32", np.float32, ElementFormat.FP32),
        ("F16", np.float16, ElementFormat.FP16),
        ("BF16", ml_dtypes.bfloat16, ElementFormat.BF16),
        ("F8_E4M3", ml_dtypes.float8_e4m3fn, ElementFormat.E4M3),
        ("F8_E5M2", ml_dtypes.float8_e5m2, ElementFormat.E5M2),
    ],
)
def test_every_floating_point_type_is_read(tmp_path, dtype, numpy_type, element_format):
    other = np.arange(3, dtype=np.int64)
    _write(tmp_path / "f", {"a": ("I64", other), "w": (dtype, VALUES.astype(numpy_type))})
    file = TensorFile(tmp_path / "f")
    assert file.names == ["a", "w"]
    assert file.shape("w") == (2, 3)
    assert file.source("w") is element_format
    np.testing.assert_array_equal(file.numbers("w"), VALUES)
    np.testing.assert_array_equal(file.numbers("a"), other)


def test_integers_are_read_with_their_sign(tmp_path):
    _write(tmp_path / "f", {"w": ("I8", np.array([[-128, 127]], dtype=np.int8))})
    assert TensorFile(tmp_path / "f").numbers("w").tolist() == [[-128, 127]]


def test_what_holds_no_weights_is_refused(tmp_path):
    _write(tmp_path / "f", {"w": ("BOOL", np.array([True]))})
    with pytest.raises(InputError, match="tensor 'w' has type BOOL, which holds no weights; expe"):
        TensorFile(tmp_path / "f").numbers("w")
    with pytest.raises(InputError, match="f: tensor 'x' is missing"):
        TensorFile(tmp_path / "f").shape("x")


@pytest.mark.parametrize("keep", [0, 5, 20, 100])
def test_a_cut_file_is_refused(tmp_path, keep):
    _write(tmp_path / "whole", {"w": ("F64", VALUES)})
    path = tmp_path / "cut"
    path.write_bytes((tmp_path / "whole").read_bytes()[:keep])
    with pytest.raises(InputError, match="cut: not a safetensors file, or damaged"):
        TensorFile(path)
