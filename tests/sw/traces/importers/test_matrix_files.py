"""scipy .npz, MatrixMarket and DLMC files; whole and damaged."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from fanweave.golden.errors import InputError
from fanweave.sw.traces.importers.matrix_files import (
    read_matrix_market,
    read_scipy_npz,
    read_smtx,
)

WEIGHTS = np.array([[0.0, 1.5, 0, -2], [0, 0, 0, 0], [3, 0, 4, 5]])


def _dense(matrix) -> np.ndarray:
    weights = np.zeros(matrix.shape)
    weights[matrix.rows, matrix.columns] = matrix.values
    return weights


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_scipy_files(tmp_path, kind):
    scipy.sparse.save_npz(tmp_path / "w.npz", kind(WEIGHTS))
    source = read_scipy_npz(tmp_path / "w.npz")
    assert source.name == "w"
    assert source.has_values
    np.testing.assert_array_equal(_dense(source.matrix), WEIGHTS)


@pytest.mark.parametrize("stored", [scipy.sparse.coo_array(WEIGHTS), WEIGHTS])
def test_matrix_market_files(tmp_path, stored):
    scipy.io.mmwrite(tmp_path / "w.mtx", stored)
    source = read_matrix_market(tmp_path / "w.mtx")
    assert source.has_values
    np.testing.assert_array_equal(_dense(source.matrix), WEIGHTS)


def test_a_pattern_has_no_values(tmp_path):
    scipy.io.mmwrite(tmp_path / "w.mtx", scipy.sparse.coo_array(WEIGHTS), field="pattern")
    source = read_matrix_market(tmp_path / "w.mtx")
    assert not source.has_values
    np.testing.assert_array_equal(_dense(source.matrix) != 0, WEIGHTS != 0)


def test_smtx_files(tmp_path):
    (tmp_path / "w.smtx").write_text("3, 4, 5\n0 2 2 5\n1 3 0 2 3\n")
    source = read_smtx(tmp_path / "w.smtx")
    assert not source.has_values
    assert source.matrix.shape == (3, 4)
    assert source.matrix.rows.tolist() == [0, 0, 2, 2, 2]
    assert source.matrix.columns.tolist() == [1, 3, 0, 2, 3]


def test_an_empty_smtx_file(tmp_path):
    (tmp_path / "w.smtx").write_text("2, 4, 0\n0 0 0\n")
    assert read_smtx(tmp_path / "w.smtx").matrix.rows.size == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a DLMC .smtx file, or damaged"),
        ("3, 4\n0 2\n", "not a DLMC .smtx file, or damaged"),
        ("3, 4, x\n0 2\n", "not a DLMC .smtx file, or damaged"),
        ("0, 4, 0\n0\n\n", "rows and columns must be positive, got 0, 4"),
        ("3, 4, 5\n0 2 5\n1 3 0 2 3", "4 row pointers and 5 columns announced, got 3 and 5"),
        ("3, 4, 5\n0 2 2 5\n1 3 0 2", "4 row pointers and 5 columns announced, got 4 and 4"),
        ("3, 4, 5\n0 3 2 5\n1 3 0 2 3", "row pointers must rise from 0 to 5"),
        ("3, 4, 5\n0 2 2 4\n1 3 0 2 3", "row pointers must rise from 0 to 5"),
        ("3, 4, 5\n0 2 2 5\n1 3 0 2 4", "columns reach from 0 to 4, out of range for 4"),
        ("3, 4, 5\n0 2 2 5\n1 3 0 0 3", "a row names a column twice"),
    ],
)
def test_damaged_smtx_files_are_refused(tmp_path, text, message):
    path = tmp_path / "w.smtx"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_smtx(path)
    assert str(refused.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("keep", [0, 10, 200, 600])
def test_cut_scipy_files_are_refused(tmp_path, keep):
    scipy.sparse.save_npz(tmp_path / "whole.npz", scipy.sparse.csr_array(WEIGHTS))
    (tmp_path / "w.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:keep])
    with pytest.raises(
        InputError, match=r"w\.npz: not a matrix of scipy\.sparse\.save_npz, or dam"
    ):
        read_scipy_npz(tmp_path / "w.npz")


def test_other_npz_files_and_indices_out_of_range_are_refused(tmp_path):
    np.savez(tmp_path / "w.npz", a=np.ones(3))
    with pytest.raises(InputError, match=r"w\.npz: not a matrix of scipy\.sparse\.save_npz"):
        read_scipy_npz(tmp_path / "w.npz")
    for index in (4, -1):
        np.savez(
            tmp_path / "w.npz",
            format=b"csr",
            shape=[3, 4],
            data=np.ones(2),
            indices=np.array([1, index]),
            indptr=np.array([0, 1, 1, 2]),
        )
        with pytest.raises(
            InputError, match=r"w\.npz: not a matrix of scipy\.sparse\.save_npz, or d"
        ):
            read_scipy_npz(tmp_path / "w.npz")


def test_row_pointers_that_fall_are_refused(tmp_path):
    np.savez(
        tmp_path / "w.npz",
        format=b"csr",
        shape=[3, 4],
        data=np.ones(2),
        indices=np.array([1, 2]),
        indptr=np.array([0, 2, 1, 2]),
    )
    with pytest.raises(
        InputError, match=r"w\.npz: not a matrix of scipy\.sparse\.save_npz, or dam"
    ):
        read_scipy_npz(tmp_path / "w.npz")


def test_complex_numbers_are_refused(tmp_path):
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(WEIGHTS * 1j))
    with pytest.raises(InputError, match=r"w\.npz: holds complex numbers; expected real ones"):
        read_scipy_npz(tmp_path / "w.npz")


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3 4 5\n",
        HEADER,
        HEADER + "3 4 2\n1 1 1.0\n",
        HEADER + "3 4 1\n4 1 1.0\n",
        HEADER + "3 4 1\n0 1 1.0\n",
        HEADER + "3 4 1\n1 1 one\n",
    ],
)
def test_damaged_matrix_market_files_are_refused(tmp_path, text):
    (tmp_path / "w.mtx").write_text(text)
    with pytest.raises(InputError, match=r"w\.mtx: not a MatrixMarket file, or damaged"):
        read_matrix_market(tmp_path / "w.mtx")
