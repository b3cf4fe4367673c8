"""Flattens a workload into the arrays that the cycle model walks through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause, IndexMode, Opcode, index_bits
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.model import nonzero
from fanweave.golden.ventaglio.operation import Operation, RegisterFile
from fanweave.golden.ventaglio.rows import decode_rows
from fanweave.golden.ventaglio.workload import MatrixImage, Workload

__all__ = ["END", "Operations", "Rows", "schedule"]

#: Kinds of operations and of queue entries that are not rows.
END, CLEAR, DRAIN = -1, -2, -3


class Operations(NamedTuple):
    """One entry for each operation that is started, all int64.

    Attributes
    ----------
    kind
        ``END`` for a multiply, ``CLEAR`` or ``DRAIN``.
    length, first_beat
        Activation beats, and the number of the first one.
    base, outputs, stride, width
        Its accumulators; of a drain ``width`` is the count.
    lanes
        Elements of a group at most.
    element_bits, index_bits, is_mask
        Widths of its elements and index fields; bitmask or not.
    drain_reads
        Reads that give one beat of results.
    clears
        Whether a drain clears (without effect on time).
    """

    kind: np.ndarray
    length: np.ndarray
    first_beat: np.ndarray
    base: np.ndarray
    outputs: np.ndarray
    stride: np.ndarray
    width: np.ndarray
    lanes: np.ndarray
    element_bits: np.ndarray
    index_bits: np.ndarray
    is_mask: np.ndarray
    drain_reads: np.ndarray


class Rows(NamedTuple):
    """One entry for each activation beat, and the columns that they share.

    Attributes
    ----------
    mask : uint8
        Outputs with a product; 0 if the row is skipped.
    first, nnz : int64
        Where its columns begin in ``columns``, and how many.
    columns : int32
        Columns of the rows of all matrices.
    weight_beats, weight_start, weight_joined, weight_bytes : int64
        Beats that are sent for the row, the bytes before it in its first beat, whether that is
        the beat that was sent last, and its bytes.
    index_beats, index_start, index_joined, index_words : int64
        The same for its indices, in words.
    """

    mask: np.ndarray
    first: np.ndarray
    nnz: np.ndarray
    columns: np.ndarray
    weight_beats: np.ndarray
    weight_start: np.ndarray
    weight_joined: np.ndarray
    weight_bytes: np.ndarray
    index_beats: np.ndarray
    index_start: np.ndarray
    index_joined: np.ndarray
    index_words: np.ndarray


@dataclass
class _ColumnStore:
    """Columns of every matrix that is used, each once."""

    image: MatrixImage
    parts: list[np.ndarray]
    starts: dict[tuple[int, ...], np.ndarray]
    size: int = 0

    def rows_of(self, operation: Operation) -> np.ndarray:
        """Where the columns of an operation's rows begin."""
        key = (
            operation.first_row,
            operation.length,
            operation.element,
            operation.index_mode,
            operation.n,
            operation.m,
            operation.width,
        )
        if key not in self.starts:
            rows = decode_rows(self.image, operation)
            self.starts[key] = rows.indptr[:-1] + self.size
            self.parts.append(rows.columns.astype(np.int32))
            self.size += rows.columns.shape[0]
        return self.starts[key]


def schedule(workload: Workload, config: VentaglioConfig) -> tuple[np.ndarray, Operations, Rows]:
    """What the cycle model needs of a workload.

    Parameters
    ----------
    workload : Workload
        Free of errors, but for operations that are refused.
    config : VentaglioConfig
        The unit.

    Returns
    -------
    writes : ndarray, bool [writes]
        Which register writes start an operation.
    operations : Operations
        Those operations.
    rows : Rows
        The activation beats that they take.
    """
    registers = RegisterFile()
    started: list[Operation] = []
    writes = np.zeros(workload.commands.shape[0], dtype=np.bool_)
    for i, (address, data) in enumerate(workload.commands):
        operation = registers.write(int(address), int(data))
        if operation is not None and operation.fault(config) is ErrorCause.NONE:
            writes[i] = True
            started.append(operation)
    return writes, _operations(started, config), _rows(started, workload, config)


def _operations(started: Sequence[Operation], config: VentaglioConfig) -> Operations:
    columns: dict[str, list[int]] = {name: [] for name in Operations._fields}
    beat = 0
    for operation in started:
        multiplies = operation.is_multiply
        drains = operation.opcode == Opcode.DRAIN
        length = operation.length if multiplies else 0
        bits = operation.element_format.bits if multiplies else 32
        mode = IndexMode(operation.index_mode) if multiplies else IndexMode.DENSE
        field = 0 if mode is IndexMode.BITMASK else index_bits(mode, operation.m)
        lanes = config.beat_bits // bits
        if mode in (IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16):
            lanes = min(lanes, config.beat_bits // field)
        target = 32
        if drains and not operation.raw:
            target = ElementFormat(operation.target).bits
        entry = {
            "kind": END if multiplies else DRAIN if drains else CLEAR,
            "length": length,
            "first_beat": beat,
            "base": operation.base,
            "outputs": operation.outputs if multiplies else 1,
            "stride": operation.stride,
            "width": operation.width if multiplies else operation.count,
            "lanes": lanes,
            "element_bits": bits,
            "index_bits": field,
            "is_mask": int(mode is IndexMode.BITMASK),
            "drain_reads": 32 // target,
        }
        for name, value in entry.items():
            columns[name].append(value)
        beat += length
    return Operations(**{name: np.array(c, dtype=np.int64) for name, c in columns.items()})


def _rows(started: Sequence[Operation], workload: Workload, config: VentaglioConfig) -> Rows:
    image = workload.image
    store = _ColumnStore(image, [np.zeros(0, np.int32)], {})
    table: list[np.ndarray] = []
    firsts: list[np.ndarray] = []
    masks: list[np.ndarray] = []
    beat = 0
    for operation in started:
        if not operation.is_multiply or not operation.length:
            continue
        scalars = workload.activations[beat : beat + operation.length, : operation.outputs]
        wanted = np.ones(scalars.shape, dtype=bool)
        if operation.skip_zeros:
            wanted = nonzero(scalars, operation.element_format)
        masks.append(wanted @ (1 << np.arange(operation.outputs)))
        firsts.append(store.rows_of(operation))
        table.append(operation.first_row + np.arange(operation.length))
        beat += operation.length
    if not table:
        table, firsts, masks = ([np.zeros(0, np.int64)] for _ in range(3))
    begins = np.concatenate([np.arange(part.shape[0]) == 0 for part in table])
    row = np.concatenate(table)
    mask = np.concatenate(masks).astype(np.uint8)
    nnz = image.nnz[row]
    asked = (mask != 0) & (nnz > 0)
    bits = image.element_bits[row]
    weights = _stream(begins, asked, image.element_start[row], nnz, image.beat_bits // bits)
    words = image.index_words[row]
    indices = _stream(
        begins, asked & (words > 0), image.index_start[row], words, image.beat_bits // 32
    )
    return Rows(
        mask=mask,
        first=np.concatenate(firsts),
        nnz=nnz,
        columns=np.concatenate(store.parts),
        weight_beats=weights[0],
        weight_start=weights[1] * (bits // 8),
        weight_joined=weights[2],
        weight_bytes=nnz * (bits // 8),
        index_beats=indices[0],
        index_start=indices[1],
        index_joined=indices[2],
        index_words=words,
    )


def _stream(
    begins: np.ndarray,
    asked: np.ndarray,
    start: np.ndarray,
    length: np.ndarray,
    per_beat: np.ndarray | int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Beats sent, place in the first beat, and joined, for each row; 0 where not asked.

    A row joins the last beat of the row before, if that belongs to the same operation.
    """
    first = start // per_beat
    final = (start + length - 1) // per_beat
    operation = np.cumsum(begins)
    order = np.flatnonzero(asked)
    before, after = order[:-1], order[1:]
    joined = np.zeros(asked.shape, dtype=np.int64)
    joined[after] = (first[after] == final[before]) & (operation[after] == operation[before])
    beats = np.where(asked, final - first + 1 - joined, 0)
    return beats, np.where(asked, start % per_beat, 0), joined
