"""From numbers to operands: encoding, scales, and the choice of a layout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode, encode
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.trace import Layout, Operand, is_zero, storage_type

__all__ = ["LayoutChoice", "Matrix", "encode_scaled", "make_operand", "natural_layout"]

#: Formats so narrow that a tensor is scaled to their range; the scale goes into the metadata.
_SCALED = (ElementFormat.E4M3, ElementFormat.E5M2, ElementFormat.INT8)
#: Below this density a 16-bit column number costs less than the bits of a mask.
_ABSOLUTE_DENSITY = 1 / 16
#: N:M layouts that are looked for, the densest saving first.
_COMMON_BLOCKS = ((1, 4), (2, 4))


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """Stored entries of a weight matrix [K, N], in any order, without repeats.

    Parameters
    ----------
    shape : tuple of int
    rows, columns : ndarray of integers [nnz]
    values : ndarray, float64 [nnz]
    source : ElementFormat or None
        The format in which the values were stored, if it is one of ours: to that format they
        go back bit by bit, without a scale.
    """

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    source: ElementFormat | None = None

    @classmethod
    def from_dense(cls, values: np.ndarray, source: ElementFormat | None = None) -> "Matrix":
        """The elements of `values` [K, N] that are not zero."""
        rows, columns = np.nonzero(values)
        return cls(
            shape=(values.shape[0], values.shape[1]),
            rows=rows,
            columns=columns,
            values=values[rows, columns].astype(np.float64),
            source=source,
        )

    def transposed(self) -> "Matrix":
        """The same entries as a matrix [N, K]."""
        return replace(self, shape=self.shape[::-1], rows=self.columns, columns=self.rows)


@dataclass(frozen=True, kw_only=True)
class LayoutChoice:
    """A layout, with its block where it is n_of_m."""

    layout: Layout
    n: int = 0
    m: int = 0


def encode_scaled(
    values: np.ndarray, element_format: ElementFormat, source: ElementFormat | None = None
) -> tuple[np.ndarray, float]:
    """Raw bit patterns of ``values / scale``, and the scale.

    The scale is 1 for FP32, FP16 and BF16 and where `values` come from `element_format`; for
    the narrow formats it takes the largest magnitude of `values` to the largest finite element.
    What is still too large saturates.
    """
    scale = 1.0
    if element_format in _SCALED and values.size and source is not element_format:
        largest = float(
            decode(encode(np.array([np.inf]), element_format, saturate=True), element_format)[0]
        )
        scale = float(np.abs(values).max()) / largest or 1.0
    bits = encode(values / scale, element_format, saturate=True)
    return bits.astype(storage_type(element_format)), scale


def natural_layout(matrix: Matrix) -> LayoutChoice:
    """Dense if full, 1:4 or 2:4 if every block fits, else absolute if very sparse, else bitmask."""
    size = matrix.shape[0] * matrix.shape[1]
    if matrix.values.size == size:
        return LayoutChoice(layout=Layout.DENSE)
    if matrix.values.size < _ABSOLUTE_DENSITY * size:
        return LayoutChoice(layout=Layout.ABSOLUTE)
    for n, m in _COMMON_BLOCKS:
        if _block_counts(matrix, m).max(initial=0) <= n:
            return LayoutChoice(layout=Layout.N_OF_M, n=n, m=m)
    return LayoutChoice(layout=Layout.BITMASK)


def _block_counts(matrix: Matrix, m: int) -> np.ndarray:
    blocks = -(-matrix.shape[1] // m)
    key = matrix.rows.astype(np.int64) * blocks + matrix.columns // m
    return np.bincount(key, minlength=matrix.shape[0] * blocks).reshape(matrix.shape[0], blocks)


def _fill_blocks(name: str, present: np.ndarray, n: int, m: int) -> np.ndarray:
    """Pattern [K, N] with every block filled up to n places from its left."""
    rows, columns = present.shape
    blocks = -(-columns // m)
    padded = np.zeros((rows, blocks * m), dtype=bool)
    padded[:, :columns] = present
    cube = padded.reshape(rows, blocks, m)
    counts = cube.sum(axis=2)
    if (counts > n).any():
        row, block = np.argwhere(counts > n)[0]
        raise InputError(
            f"operand {name!r}: row {row}, block {block} has {counts[row, block]} nonzeros, more "
            f"than {n}:{m} allows; prune to {n}:{m} along the outputs or choose layout bitmask"
        )
    free = ~cube
    cube = cube | (free & (np.cumsum(free, axis=2) <= (n - counts)[:, :, None]))
    return cube.reshape(rows, blocks * m)[:, :columns]


def make_operand(
    *,
    name: str,
    matrix: Matrix,
    activations: np.ndarray,
    phases: Sequence[str],
    element_format: ElementFormat,
    choice: LayoutChoice | None,
) -> tuple[Operand, dict[str, float]]:
    """Encode weights and activations and lay them out.

    Parameters
    ----------
    name : str
    matrix : Matrix
        W [K, N].
    activations : ndarray, float [tokens, K]
    phases : sequence of str
        ``prefill`` or ``decode`` for each token.
    element_format : ElementFormat
    choice : LayoutChoice or None
        None takes :func:`natural_layout`. Weights that encode to zero are stored only where
        the layout needs them to fill up.

    Returns
    -------
    operand : Operand
    scales : dict
        ``weights`` and ``activations``: what the encoded numbers are to be multiplied with.

    Raises
    ------
    InputError
        If a number is not finite or the weights do not fit the layout.
    """
    for kind, numbers in (("weights", matrix.values), ("activations", activations)):
        bad = np.nonzero(~np.isfinite(numbers).reshape(-1))[0]
        if bad.size:
            raise InputError(
                f"operand {name!r}: {kind} hold {numbers.reshape(-1)[bad[0]]} at element "
                f"{bad[0]}; only finite numbers can be encoded, mend the source"
            )
    bits, weight_scale = encode_scaled(matrix.values, element_format, matrix.source)
    encoded, activation_scale = encode_scaled(activations, element_format)
    stored = ~is_zero(bits, element_format)
    kept = replace(
        matrix,
        rows=matrix.rows[stored],
        columns=matrix.columns[stored],
        values=bits[stored],
    )
    choice = choice or natural_layout(kept)
    rows, columns, data = _lay_out(name, kept, choice)
    counts = np.bincount(rows, minlength=matrix.shape[0])
    operand = Operand(
        name=name,
        element_format=element_format,
        layout=choice.layout,
        n=choice.n,
        m=choice.m,
        shape=matrix.shape,
        indptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        indices=columns.astype(np.int32),
        data=data,
        activations=encoded,
        phases=tuple(phases),
    )
    return operand, {"weights": weight_scale, "activations": activation_scale}


def _lay_out(
    name: str, matrix: Matrix, choice: LayoutChoice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and raw values in storage order."""
    if choice.layout in (Layout.BITMASK, Layout.ABSOLUTE):
        order = np.lexsort((matrix.columns, matrix.rows))
        return matrix.rows[order], matrix.columns[order], matrix.values[order]
    values = np.zeros(matrix.shape, dtype=matrix.values.dtype)
    values[matrix.rows, matrix.columns] = matrix.values
    present = np.zeros(matrix.shape, dtype=bool)
    present[matrix.rows, matrix.columns] = True
    if choice.layout is Layout.N_OF_M:
        present = _fill_blocks(name, present, choice.n, choice.m)
    else:
        present[:] = True
    rows, columns = np.nonzero(present)
    return rows, columns, values[rows, columns]
