"""What a run of the Ventaglio unit consists of: commands, activations, and a memory image."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.isa.formats import ElementFormat

__all__ = ["DrainedTile", "MatrixImage", "Workload"]


@dataclass(frozen=True, kw_only=True, eq=False)
class MatrixImage:
    """Memory of weights and of indices, and the table that says where each row stands.

    Attributes
    ----------
    beat_bits : int
        Width of a beat of either memory, in bits.
    weights : ndarray, uint8 [weight beats, beat_bits // 8]
        Elements without gaps within a matrix, element 0 in the low bytes.
    indices : ndarray, uint8 [index beats, beat_bits // 8]
        Their indices as 32-bit words, least significant byte first.
    nnz : ndarray, int64 [rows]
        Stored elements of each row.
    element_start : ndarray, int64 [rows]
        Position of a row's first element in the weight memory, in elements of its width.
    element_bits : ndarray, int64 [rows]
        Width of an element of the row, in bits.
    index_start : ndarray, int64 [rows]
        Position of a row's first index word in the index memory, in words of 32 bits.
    index_words : ndarray, int64 [rows]
        Words of indices; 0 for a row without elements and in dense mode.
    """

    beat_bits: int
    weights: np.ndarray
    indices: np.ndarray
    nnz: np.ndarray
    element_start: np.ndarray
    element_bits: np.ndarray
    index_start: np.ndarray
    index_words: np.ndarray

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return int(self.nnz.shape[0])

    def elements(self, element_format: ElementFormat) -> np.ndarray:
        """The weight memory as raw elements of a format; uint8, uint16 or uint32, 1-D."""
        return np.ascontiguousarray(self.weights).reshape(-1).view(f"<u{element_format.bits // 8}")

    @property
    def index_memory(self) -> np.ndarray:
        """The index memory as words; uint32, 1-D."""
        return np.ascontiguousarray(self.indices).reshape(-1).view("<u4")


@dataclass(frozen=True, kw_only=True)
class DrainedTile:
    """Which part of the result one drain reads: output rows one after the other.

    Attributes
    ----------
    token : int
        First token.
    outputs : int
        Tokens.
    column : int
        First column.
    width : int
        Columns.
    """

    token: int
    outputs: int
    column: int
    width: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """Everything that the unit is given, and where the results belong.

    Attributes
    ----------
    commands : ndarray, uint32 [writes, 2]
        Address and data of each register write.
    activations : ndarray, uint32 [beats, max_outputs]
        Raw elements, low-aligned.
    image : MatrixImage
        What the fetch stream asks for.
    drains : tuple of DrainedTile
        Meaning of each drain, in order.
    shape : tuple of int
        (tokens, columns) of the result.
    result_format : ElementFormat or None
        Format of the results; None for raw accumulators.
    """

    commands: np.ndarray
    activations: np.ndarray
    image: MatrixImage
    drains: tuple[DrainedTile, ...]
    shape: tuple[int, int]
    result_format: ElementFormat | None

    def gather(self, elements: np.ndarray) -> np.ndarray:
        """Put drained elements at their places.

        Parameters
        ----------
        elements : ndarray, uint32 [tokens * columns]
            What the drains gave, in order.

        Returns
        -------
        ndarray, uint32 [tokens, columns]
            The product.
        """
        result = np.empty(self.shape, dtype=np.uint32)
        start = 0
        for tile in self.drains:
            stop = start + tile.outputs * tile.width
            result[
                tile.token : tile.token + tile.outputs, tile.column : tile.column + tile.width
            ] = elements[start:stop].reshape(tile.outputs, tile.width)
            start = stop
        return result
