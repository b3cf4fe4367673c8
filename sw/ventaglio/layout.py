"""Sparse matrices, and the memory image that the Ventaglio unit's rows come from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.golden.ventaglio.workload import MatrixImage

__all__ = ["SparseMatrix", "build_image"]

#: Most elements of a row: the row description counts them in 16 bits.
LONGEST_ROW = 0xFFFF


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseMatrix:
    """A matrix W in CSR by input feature, as y = x W needs it.

    Attributes
    ----------
    shape : tuple of int
        (K, N): rows and columns.
    indptr : ndarray [K + 1]
        Row k holds elements ``indptr[k]`` to ``indptr[k + 1]``.
    indices : ndarray [nnz]
        Column of each element.
    data : ndarray, unsigned [nnz]
        Raw elements, low-aligned.
    element_format : ElementFormat
        Format of the elements.
    index_mode : IndexMode
        How the unit is told the columns.
    n, m : int
        Pattern of N:M mode, 0 in the others.

    Raises
    ------
    InputError
        If an index is out of range, or the pattern is not what the index mode can describe.
    """

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    element_format: ElementFormat
    index_mode: IndexMode
    n: int = 0
    m: int = 0

    def __post_init__(self) -> None:
        rows, columns = self.shape
        nnz = self.indices.shape[0]
        if self.indptr.shape != (rows + 1,) or self.data.shape != (nnz,):
            raise InputError(
                f"matrix of shape {self.shape}: indptr has {self.indptr.shape[0]} entries and data "
                f"{self.data.shape[0]}; expected {rows + 1} and, as indices, {nnz}"
            )
        if self.indptr[0] != 0 or self.indptr[-1] != nnz or (np.diff(self.indptr) < 0).any():
            raise InputError(f"matrix of shape {self.shape}: indptr must rise from 0 to {nnz}")
        if nnz and not 0 <= self.indices.min() <= self.indices.max() < columns:
            outside = np.flatnonzero((self.indices < 0) | (self.indices >= columns))[0]
            raise InputError(
                f"matrix of shape {self.shape}: indices[{outside}] is {self.indices[outside]}; "
                f"expected 0 to {columns - 1}"
            )
        if nnz and int(np.diff(self.indptr).max()) > LONGEST_ROW:
            raise InputError(
                f"matrix of shape {self.shape}: a row holds {int(np.diff(self.indptr).max())} "
                f"elements, at most {LONGEST_ROW} are possible; use narrower tiles"
            )
        self._check_pattern()

    def _check_pattern(self) -> None:
        mode = self.index_mode
        if mode is IndexMode.N_OF_M:
            if not 1 <= self.n <= self.m <= 32:
                raise InputError(f"N:M pattern {self.n}:{self.m}; expected 1 <= n <= m <= 32")
            wrong = self.indices // self.m != self.positions // self.n
            wanted = f"the {self.n}:{self.m} pattern fills every block with n elements"
        elif mode is IndexMode.DENSE:
            wrong = self.indices != self.positions
            wanted = "a dense row holds every column from 0 on"
        elif mode is IndexMode.BITMASK:
            wrong = np.zeros(self.indices.shape, dtype=bool)
            wrong[1:] = (np.diff(self.indices) <= 0) & (self.positions[1:] > 0)
            wanted = "a bitmask needs ascending columns without repeats"
        else:  # the reach of absolute indices is a matter of the tile
            return
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            row = int(np.searchsorted(self.indptr, at, side="right")) - 1
            raise InputError(
                f"matrix row {row}, element {at - int(self.indptr[row])}: column "
                f"{int(self.indices[at])} does not fit, as {wanted}; choose another index mode"
            )

    @property
    def positions(self) -> np.ndarray:
        """Place of each element within its row; int64 [nnz]."""
        starts = np.repeat(self.indptr[:-1], np.diff(self.indptr))
        return np.arange(self.indices.shape[0], dtype=np.int64) - starts

    def column_tiles(self, width: int) -> list["SparseMatrix"]:
        """Cut into tiles of `width` columns, the last one possibly narrower.

        Raises
        ------
        InputError
            If a cut would go through a block of the N:M pattern.
        """
        rows, columns = self.shape
        if width < 1:
            raise InputError(f"tile width is {width}; expected 1 or more")
        if self.index_mode is IndexMode.N_OF_M and width % self.m and width < columns:
            raise InputError(
                f"tile width {width} cuts blocks of {self.m} columns; use a multiple of {self.m}"
            )
        tiles = -(-columns // width)
        if tiles == 1:
            return [self]
        tile = (self.indices // width).astype(np.uint16)
        row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(self.indptr))
        counts = np.bincount(tile * np.int64(rows) + row, minlength=tiles * rows)
        order = np.argsort(tile, kind="stable")
        starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        result = []
        for number in range(tiles):
            indptr = starts[number * rows : (number + 1) * rows + 1]
            chosen = order[indptr[0] : indptr[-1]]
            result.append(
                replace(
                    self,
                    shape=(rows, min(width, columns - number * width)),
                    indptr=indptr - indptr[0],
                    indices=self.indices[chosen] - number * width,
                    data=self.data[chosen],
                )
            )
        return result

    def index_words(self) -> np.ndarray:
        """Words of 32 bits that the indices of each row take; int64 [K]."""
        nnz = np.diff(self.indptr).astype(np.int64)
        if self.index_mode is IndexMode.BITMASK:
            return np.where(nnz > 0, -(-self.shape[1] // 32), 0)
        return -(-nnz * index_bits(self.index_mode, self.m) // 32)

    def pack_indices(self) -> np.ndarray:
        """Indices of all rows, each padded to a word, one behind the other; uint32 [words]."""
        starts = np.concatenate(([0], np.cumsum(self.index_words())))
        words = np.zeros(int(starts[-1]) + 1, dtype=np.uint64)
        width = index_bits(self.index_mode, self.m)
        if starts[-1] == 0:
            return np.zeros(0, dtype=np.uint32)
        if self.index_mode in (IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16):
            largest = int(self.indices.max())
            if largest >> width:
                raise InputError(
                    f"matrix of shape {self.shape}: column {largest} is beyond index mode "
                    f"{self.index_mode.name}; use wider indices or narrower tiles"
                )
        first = np.repeat(starts[:-1], np.diff(self.indptr))
        if self.index_mode is IndexMode.BITMASK:
            bit = self.indices.astype(np.int64)
            value = np.ones(bit.shape, dtype=np.uint64)
        else:
            bit = self.positions * width
            block = self.m if self.index_mode is IndexMode.N_OF_M else 1 << width
            value = (self.indices % block).astype(np.uint64)
        word = first + bit // 32
        shifted = value << (bit % 32).astype(np.uint64)
        np.add.at(words, word, shifted & np.uint64(0xFFFFFFFF))  # the bits are disjoint
        np.add.at(words, word + 1, shifted >> np.uint64(32))
        return words[:-1].astype(np.uint32)


def build_image(
    matrices: Sequence[SparseMatrix], *, beat_bits: int
) -> tuple[MatrixImage, list[int]]:
    """Lay matrices into one memory image, each from a fresh beat on.

    Parameters
    ----------
    matrices : sequence of SparseMatrix
        Matrices, or tiles of them.
    beat_bits : int
        Width of a beat.

    Returns
    -------
    image : MatrixImage
        Weights, indices and row table.
    first_rows : list of int
        Number of each matrix's first row.
    """
    weights: list[np.ndarray] = []
    indices: list[np.ndarray] = []
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("nnz", "element_start", "element_bits", "index_start", "index_words")
    }
    first_rows = []
    rows = weight_beats = index_beats = 0
    for matrix in matrices:
        first_rows.append(rows)
        bits = matrix.element_format.bits
        packed = _to_beats(matrix.data.astype(f"<u{bits // 8}"), beat_bits)
        words = matrix.index_words()
        packed_indices = _to_beats(matrix.pack_indices().astype("<u4"), beat_bits)
        columns["nnz"].append(np.diff(matrix.indptr))
        columns["element_start"].append(matrix.indptr[:-1] + weight_beats * (beat_bits // bits))
        columns["element_bits"].append(np.full(matrix.shape[0], bits))
        columns["index_start"].append(
            np.concatenate(([0], np.cumsum(words)))[:-1] + index_beats * (beat_bits // 32)
        )
        columns["index_words"].append(words)
        weights.append(packed)
        indices.append(packed_indices)
        rows += matrix.shape[0]
        weight_beats += packed.shape[0]
        index_beats += packed_indices.shape[0]
    empty = np.zeros((0, beat_bits // 8), dtype=np.uint8)
    table = {
        name: np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)
        for name, parts in columns.items()
    }
    image = MatrixImage(
        beat_bits=beat_bits,
        weights=np.concatenate([empty, *weights]),
        indices=np.concatenate([empty, *indices]),
        **table,
    )
    return image, first_rows


def _to_beats(values: np.ndarray, beat_bits: int) -> np.ndarray:
    """Pad an array with zeros to whole beats; uint8 [beats, beat_bits // 8]."""
    content = values.view(np.uint8)
    beat_bytes = beat_bits // 8
    beats = np.zeros((-(-content.shape[0] // beat_bytes), beat_bytes), dtype=np.uint8)
    beats.reshape(-1)[: content.shape[0]] = content
    return beats
