"""Writes a workload as the memory files of the bench, and reads its results back."""

import binascii
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.ventaglio.workload import MatrixImage, Workload
from fanweave.sim.benches.ventaglio.fetcher import RowEntry
from fanweave.sim.benches.ventaglio.settings import (
    ACTIVATION_DEPTH,
    BEAT_DEPTH,
    COMMAND_DEPTH,
    ROW_DEPTH,
)

__all__ = ["ResultLog", "read_results", "write_images"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ResultLog:
    """What left the unit.

    Attributes
    ----------
    cycles : ndarray, int64 [beats]
        Cycle of each beat.
    counts : ndarray, int64 [beats]
        Valid elements.
    last : ndarray, bool [beats]
        Whether the beat ended a drain.
    data : ndarray, uint8 [beats, beat_bits // 8]
        Bytes, least significant first.
    """

    cycles: np.ndarray
    counts: np.ndarray
    last: np.ndarray
    data: np.ndarray

    def elements(self, element_bits: int) -> np.ndarray:
        """Valid elements in order, zero-extended; uint32, 1-D."""
        words = self.data.view(f"<u{element_bits // 8}").astype(np.uint32)
        lanes = np.arange(words.shape[1])
        return words[lanes[None, :] < self.counts[:, None]]

    def element_cycles(self, element_bits: int) -> np.ndarray:
        """Cycle in which each element of `elements` left."""
        lanes = np.arange(self.data.shape[1] * 8 // element_bits)
        valid = lanes[None, :] < self.counts[:, None]
        return np.broadcast_to(self.cycles[:, None], valid.shape)[valid]


def write_images(workload: Workload, folder: Path) -> dict[str, Path]:
    """Write the files that the bench's memories read; returns plusarg name -> file.

    Raises
    ------
    InputError
        If the workload does not fit in the memories of the bench.
    """
    image = workload.image
    contents = {
        "commands": (_commands(workload.commands), COMMAND_DEPTH),
        "activations": (_words(workload.activations), ACTIVATION_DEPTH),
        "weights": (image.weights, BEAT_DEPTH),
        "indices": (image.indices, BEAT_DEPTH),
        "row_table": (_row_table(image), ROW_DEPTH),
    }
    files = {}
    for name, (rows, depth) in contents.items():
        if len(rows) > depth:
            raise InputError(
                f"{name}: {len(rows)} entries do not fit in the bench's memory of {depth}; "
                "run fewer tokens or one projection at a time"
            )
        files[name] = folder / f"{name}.hex"
        files[name].write_bytes(_hex_lines(rows))
    return files


def read_results(file: Path, beat_bits: int) -> ResultLog:
    """Read what the bench's sink wrote."""
    fields = [line.split() for line in file.read_text().splitlines()]
    beat_bytes = beat_bits // 8
    raw = bytes.fromhex("".join(field[3] for field in fields))
    data = np.frombuffer(raw, dtype=np.uint8).reshape(-1, beat_bytes)[:, ::-1]
    return ResultLog(
        cycles=np.array([int(field[0], 16) for field in fields], dtype=np.int64),
        counts=np.array([int(field[1], 16) for field in fields], dtype=np.int64),
        last=np.array([field[2] == "1" for field in fields], dtype=bool),
        data=np.ascontiguousarray(data),
    )


def _commands(commands: np.ndarray) -> np.ndarray:
    """Register writes as rows of 8 bytes: the address in the lowest, then the data."""
    rows = np.zeros((len(commands), 8), dtype=np.uint8)
    rows[:, 0] = commands[:, 0]
    rows[:, 1:5] = _words(commands[:, 1:])
    return rows


def _words(array: np.ndarray) -> np.ndarray:
    """Rows of 32-bit words as rows of bytes, word 0 in the low bytes."""
    return (
        np.ascontiguousarray(array.astype("<u4"))
        .view(np.uint8)
        .reshape(len(array), 4 * array.shape[1])
    )


def _row_table(image: MatrixImage) -> np.ndarray:
    """The table's entries as rows of bytes."""
    beat_bytes = image.beat_bits // 8
    element_bytes = image.element_bits // 8
    first_byte = image.element_start * element_bytes
    last_byte = first_byte + np.maximum(image.nnz, 1) * element_bytes - 1
    beat_words = beat_bytes // 4
    last_word = image.index_start + np.maximum(image.index_words, 1) - 1
    columns = {
        "nnz": image.nnz,
        "lane": first_byte % beat_bytes // element_bytes,
        "index_word": image.index_start % beat_words,
        "first_weight": first_byte // beat_bytes,
        "last_weight": last_byte // beat_bytes,
        "first_index": image.index_start // beat_words,
        "last_index": last_word // beat_words,
        "has_indices": image.index_words > 0,
        "reserved": np.zeros_like(image.nnz),
    }
    layout = RowEntry.as_shape()
    kinds = {8: "u1", 16: "<u2", 32: "<u4"}
    table = np.zeros((image.rows, layout.size // 8), dtype=np.uint8)
    for name, values in columns.items():
        field = layout[name]
        if name in ("has_indices", "reserved"):
            continue
        start, size = field.offset // 8, field.width // 8
        raw = values.astype(kinds[field.width]).reshape(-1, 1).view(np.uint8)
        table[:, start : start + size] = raw.reshape(-1, size)
    flag = layout["has_indices"].offset // 8
    table[:, flag] = columns["has_indices"]
    return table


def _hex_lines(rows: np.ndarray) -> bytes:
    """One line of hexadecimal digits a row, most significant byte first."""
    if len(rows) == 0:
        return b"0\n"
    digits = np.frombuffer(
        binascii.hexlify(np.ascontiguousarray(rows[:, ::-1]).tobytes()), dtype=np.uint8
    ).reshape(len(rows), -1)
    newline = np.full((len(rows), 1), ord("\n"), dtype=np.uint8)
    return np.concatenate([digits, newline], axis=1).tobytes()
