"""Weights in safetensors: dense with zeros, and the two bitmask forms of compressed-tensors.

Source: the compressed-tensors formats ``sparse-bitmask`` and ``sparse-24-bitmask``.
"""

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.sw.traces.build import Matrix
from fanweave.sw.traces.importers.source import SourceMatrix
from fanweave.sw.traces.importers.tensors import TensorFile

__all__ = ["operand_name", "read_safetensors"]

_COMPRESSED = ".compressed"


def operand_name(tensor: str) -> str:
    """``model.layers.0.mlp.up_proj.weight`` -> ``layers.0.mlp.up_proj``."""
    return tensor.removeprefix("model.").removesuffix(".weight") or tensor


def _candidates(file: TensorFile) -> list[str]:
    """Names of the weight matrices, compressed or dense."""
    compressed = [n.removesuffix(_COMPRESSED) for n in file.names if n.endswith(_COMPRESSED)]
    dense = [name for name in file.names if len(file.shape(name)) == 2]
    parts = tuple(f"{name}." for name in compressed)
    dense = [name for name in dense if not (parts and name.startswith(parts))]
    weights = [name for name in dense if name.endswith(".weight")]
    return sorted([*compressed, *(weights or ([] if compressed else dense))])


def read_safetensors(path: Path, patterns: Sequence[str]) -> list[SourceMatrix]:
    """Weight matrices of a file.

    Parameters
    ----------
    path : Path
    patterns : sequence of str
        Shell patterns of tensor names; empty takes every matrix called ``*.weight``, or every
        matrix if none is.

    Raises
    ------
    InputError
        If the file is damaged, a pattern fits nothing, or there is no matrix.
    """
    file = TensorFile(path)
    chosen = candidates = _candidates(file)
    if patterns:
        chosen = []
        for pattern in patterns:
            fitting = fnmatch.filter(candidates, pattern)
            if not fitting:
                raise InputError(
                    f"{path}: no weight matrix fits {pattern!r}; "
                    f"there are: {', '.join(candidates[:8]) or 'none'}"
                )
            chosen += [name for name in fitting if name not in chosen]
    if not chosen:
        raise InputError(f"{path}: holds no matrix; expected two-dimensional weights")
    return [_read(file, name) for name in chosen]


def _read(file: TensorFile, name: str) -> SourceMatrix:
    if name + _COMPRESSED in file.names:
        matrix = _read_bitmask(file, name)
    else:
        matrix = Matrix.from_dense(file.numbers(name), file.source(name))
    return SourceMatrix(name=operand_name(name), matrix=matrix)


def _read_bitmask(file: TensorFile, name: str) -> Matrix:
    def refuse(part: str, text: str) -> InputError:
        return InputError(f"{file.path}: {name}.{part} {text}; the file is damaged")

    size = file.numbers(f"{name}.shape").reshape(-1)
    if size.size != 2 or (size < 1).any():
        raise refuse("shape", f"must be two positive numbers, got {size.tolist()}")
    rows, columns = int(size[0]), int(size[1])
    width = -(-columns // 8)
    if file.shape(f"{name}.bitmask") != (rows, width):
        found = list(file.shape(f"{name}.bitmask"))
        raise refuse("bitmask", f"must have shape [{rows}, {width}], got {found}")
    mask = file.numbers(f"{name}.bitmask").astype(np.uint8)
    present = np.unpackbits(mask, axis=1, bitorder="little").astype(bool)
    if present[:, columns:].any():
        raise refuse("bitmask", f"has bits beyond its {columns} columns")
    row, column = np.nonzero(present[:, :columns])
    counts = np.bincount(row, minlength=rows)
    values = file.numbers(name + _COMPRESSED)
    if values.ndim == 2:  # sparse-24-bitmask: each row holds half of its columns
        if values.shape != (rows, columns // 2) or (counts != columns // 2).any():
            raise refuse(
                "compressed",
                f"must hold {columns // 2} values for each of {rows} rows, as the mask must have "
                f"bits; got shape {list(values.shape)} and {counts.min()} to {counts.max()} bits",
            )
    elif values.shape != (row.size,):
        raise refuse("compressed", f"must hold {row.size} values, got {list(values.shape)}")
    else:
        offsets = file.numbers(f"{name}.row_offsets").reshape(-1)
        if not np.array_equal(offsets, np.cumsum(counts) - counts):
            raise refuse("row_offsets", "must be the running count of the mask's bits before a row")
    return Matrix(
        shape=(rows, columns),
        rows=row,
        columns=column,
        values=values.reshape(-1).astype(np.float64),
        source=file.source(name + _COMPRESSED),
    )
