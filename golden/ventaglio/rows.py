"""Reads rows of a memory image as the Ventaglio unit does: elements and the columns they name."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.golden.ventaglio.operation import Operation
from fanweave.golden.ventaglio.workload import MatrixImage

__all__ = ["DecodedRows", "decode_rows", "index_fields"]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodedRows:
    """Elements of the rows of one operation.

    Attributes
    ----------
    indptr : ndarray, int64 [length + 1]
        Row k holds elements ``indptr[k]`` to ``indptr[k + 1]``.
    columns : ndarray, int64 [nnz]
        Column that each element's index names; those of a faulty row are meaningless.
    weights : ndarray, unsigned [nnz]
        Raw elements.
    ones : ndarray, int64 [length], or None
        Ones in each row's bitmask; None in the other index modes.
    """

    indptr: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    ones: np.ndarray | None


def decode_rows(image: MatrixImage, operation: Operation) -> DecodedRows:
    """Rows ``first_row`` to ``first_row + length - 1`` under an operation's configuration.

    Parameters
    ----------
    image : MatrixImage
        Weights and indices.
    operation : Operation
        A legal multiply or multiply-accumulate.

    Returns
    -------
    DecodedRows
        All rows, also those that would be skipped.

    Raises
    ------
    InputError
        If the image has no such row, or its elements have another width.
    """
    rows = slice(operation.first_row, operation.first_row + operation.length)
    if rows.stop > image.rows:
        raise InputError(
            f"operation asks for rows {rows.start} to {rows.stop - 1}; the image has {image.rows}"
        )
    element_format = operation.element_format
    widths = image.element_bits[rows]
    if (widths != element_format.bits).any():
        row = rows.start + int(np.flatnonzero(widths != element_format.bits)[0])
        raise InputError(
            f"row {row} of the image has elements of {image.element_bits[row]} bits; "
            f"the operation's format {element_format.name} has {element_format.bits}"
        )
    nnz = image.nnz[rows]
    indptr = np.concatenate(([0], np.cumsum(nnz)))
    position = np.arange(indptr[-1]) - np.repeat(indptr[:-1], nnz)
    weights = image.elements(element_format)[np.repeat(image.element_start[rows], nnz) + position]
    ones = None
    if operation.index_mode == IndexMode.BITMASK:
        columns, ones = _mask_columns(image, rows, indptr, operation.width)
    elif operation.index_mode == IndexMode.DENSE:
        columns = position
    else:
        bits = index_bits(IndexMode(operation.index_mode), operation.m)
        start = np.repeat(image.index_start[rows], nnz)
        columns = index_fields(image.index_memory, start, position * bits, bits)
        if operation.index_mode == IndexMode.N_OF_M:
            columns += position // operation.n * operation.m
    return DecodedRows(indptr=indptr, columns=columns, weights=weights, ones=ones)


def index_fields(words: np.ndarray, start: np.ndarray, bit: np.ndarray, bits: int) -> np.ndarray:
    """Packed indices, least significant bits first.

    Parameters
    ----------
    words : ndarray, uint32
        Memory.
    start, bit : ndarray, int64 [n]
        Word at which each index's row begins, and the index's first bit behind that.
    bits : int
        Bits of an index.

    Returns
    -------
    ndarray, int64 [n]
        The indices.
    """
    if bits == 0:
        return np.zeros(start.shape, dtype=np.int64)
    padded = np.concatenate((words, np.zeros(1, np.uint32))).astype(np.uint64)
    word = start + bit // 32
    pair = padded[word] | padded[word + 1] << np.uint64(32)
    field = pair >> (bit % 32).astype(np.uint64) & np.uint64((1 << bits) - 1)
    return field.astype(np.int64)


def _mask_columns(
    image: MatrixImage, rows: slice, indptr: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the ones of each row's bitmask, cut or filled up to its elements; their count."""
    nnz = image.nnz[rows]
    words = -(-width // 32)
    used = np.flatnonzero(nnz)
    memory = image.index_memory.astype("<u4")
    mask = memory[image.index_start[rows][used, None] + np.arange(words)]
    bits = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little")[:, :width]
    row, found = np.nonzero(bits)
    ones = np.zeros(nnz.shape, dtype=np.int64)
    ones[used] = np.bincount(row, minlength=used.shape[0])
    if np.array_equal(ones, nnz):
        return found.astype(np.int64), ones
    starts = np.concatenate(([0], np.cumsum(ones)))
    columns = np.zeros(indptr[-1], dtype=np.int64)
    for k in used:
        both = min(nnz[k], ones[k])
        columns[indptr[k] : indptr[k] + both] = found[starts[k] : starts[k] + both]
    return columns, ones
