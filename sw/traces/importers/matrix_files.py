"""Single matrices: scipy ``.npz``, MatrixMarket ``.mtx``, DLMC ``.smtx``."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from fanweave.golden.errors import InputError
from fanweave.sw.traces.build import Matrix
from fanweave.sw.traces.importers.source import SourceMatrix

__all__ = ["read_matrix_market", "read_scipy_npz", "read_smtx"]


def _from_scipy(path: Path, stored: Any, has_values: bool = True) -> SourceMatrix:
    if np.iscomplexobj(stored):
        raise InputError(f"{path}: holds complex numbers; expected real ones")
    entries = scipy.sparse.coo_array(stored)
    entries.sum_duplicates()
    rows, columns = entries.coords
    for axis, (places, size) in enumerate(zip((rows, columns), entries.shape, strict=True)):
        if places.size and not 0 <= places.min() <= places.max() < size:
            raise InputError(
                f"{path}: {('row', 'column')[axis]} numbers reach from {places.min()} to "
                f"{places.max()}, out of range for {size}; the file is damaged"
            )
    matrix = Matrix(
        shape=(entries.shape[0], entries.shape[1]),
        rows=rows.astype(np.int64),
        columns=columns.astype(np.int64),
        values=entries.data.astype(np.float64),
    )
    return SourceMatrix(name=path.stem, matrix=matrix, has_values=has_values)


def read_scipy_npz(path: Path) -> SourceMatrix:
    """A matrix saved by ``scipy.sparse.save_npz`` as CSR, CSC or another of its formats."""
    try:
        stored: Any = scipy.sparse.load_npz(path)
        if stored.format in ("csr", "csc"):
            stored.check_format(full_check=True)
        return _from_scipy(path, stored)
    except InputError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(
            f"{path}: not a matrix of scipy.sparse.save_npz, or damaged ({error})"
        ) from error


def read_matrix_market(path: Path) -> SourceMatrix:
    """A MatrixMarket file, sparse or dense, real, integer or pattern."""
    try:
        field = scipy.io.mminfo(path)[4]
        stored = scipy.io.mmread(path)
        return _from_scipy(path, stored, has_values=field != "pattern")
    except InputError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError, OSError) as error:
        raise InputError(f"{path}: not a MatrixMarket file, or damaged ({error})") from error


def read_smtx(path: Path) -> SourceMatrix:
    """A DLMC file: ``rows, columns, nnz``, then the row pointers, then the columns.

    It holds no values.
    """
    try:
        lines = path.read_text(encoding="ascii").split("\n")
        rows, columns, count = (int(part) for part in lines[0].split(","))
        pointers = np.array(lines[1].split(), dtype=np.int64)
        places = np.array(lines[2].split() if len(lines) > 2 else [], dtype=np.int64)
    except (ValueError, IndexError, OverflowError, OSError) as error:
        raise InputError(
            f"{path}: not a DLMC .smtx file, or damaged ({error}); expected a line "
            "'rows, columns, nnz', a line of row pointers and a line of columns"
        ) from error
    if rows < 1 or columns < 1:
        raise InputError(f"{path}: rows and columns must be positive, got {rows}, {columns}")
    if pointers.size != rows + 1 or places.size != count:
        raise InputError(
            f"{path}: {rows + 1} row pointers and {count} columns announced, "
            f"got {pointers.size} and {places.size}; the file is damaged"
        )
    if pointers[0] != 0 or pointers[-1] != count or (np.diff(pointers) < 0).any():
        raise InputError(f"{path}: row pointers must rise from 0 to {count}; the file is damaged")
    if count and not 0 <= places.min() <= places.max() < columns:
        raise InputError(
            f"{path}: columns reach from {places.min()} to {places.max()}, "
            f"out of range for {columns}; the file is damaged"
        )
    row = np.repeat(np.arange(rows), np.diff(pointers))
    if np.unique(row * columns + places).size != count:
        raise InputError(f"{path}: a row names a column twice; the file is damaged")
    matrix = Matrix(shape=(rows, columns), rows=row, columns=places, values=np.zeros(count))
    return SourceMatrix(name=path.stem, matrix=matrix, has_values=False)
