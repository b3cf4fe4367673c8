"""Products of layers, tiled: blocks for the DMA, and runs of the programs that go through them."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.riscv.program import Program, parse_program
from fanweave.sw.kernels.compiler import build_program
from fanweave.sw.kernels.prepared import PreparedRun, heap, outer_memory, with_data

__all__ = [
    "LAYERS",
    "LayerKernel",
    "Tiling",
    "build_layer",
    "choose_width",
    "prepare_layer",
]

_SOURCES = Path(__file__).resolve().parent / "source"
#: Elements of FP32 that a group of eight registers of 512 bits holds.
_LONGEST = 128
_COLUMNS = 256


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """How a product is cut.

    Attributes
    ----------
    width : int
        Columns of a tile, a multiple of 32; columns of zeros fill the last one.
    depth : int
        Most rows of weights in a chunk.
    """

    width: int
    depth: int


@dataclass(frozen=True, kw_only=True)
class LayerKernel:
    """A program for layers.

    Attributes
    ----------
    source : str
        Its C file.
    weights, activations : function
        Makes a block of weights [k, width], or of activations [m, k], both float32.
    """

    source: str
    weights: Callable[[np.ndarray], bytes]
    activations: Callable[[np.ndarray], bytes]


def _dense_weights(block: np.ndarray) -> bytes:
    return block.tobytes()


def _dense_activations(block: np.ndarray) -> bytes:
    return struct.pack("<4I", block.shape[1], 0, 0, 0) + block.tobytes()


def _recorded(rows: Iterator[tuple[int, bytes]], count: int) -> bytes:
    """Rows behind their records: place and length, 16 bits each."""
    records, body = [], bytearray()
    for length, row in rows:
        place = 4 * count + len(body)
        if place > 0xFFFF:
            raise InputError("a block of more than 64 KiB; choose a smaller depth")
        records.append(struct.pack("<2H", place, length))
        body += row + bytes(-len(row) % 4)
    return b"".join(records) + bytes(body)


def _sparse_weights(block: np.ndarray) -> bytes:
    def rows() -> Iterator[tuple[int, bytes]]:
        for row in block:
            mask = np.packbits(row != 0, bitorder="little").tobytes()
            weights = row[row != 0]
            yield weights.size, mask + weights.tobytes()

    return _recorded(rows(), block.shape[0])


def _sparse_activations(block: np.ndarray) -> bytes:
    def rows() -> Iterator[tuple[int, bytes]]:
        for row in block:
            places = np.flatnonzero(row)
            behind = np.append(4 * places, 0).astype("<u2")
            yield places.size, row[places].tobytes() + behind.tobytes()

    return _recorded(rows(), block.shape[0])


LAYERS: dict[str, LayerKernel] = {
    "layer-dense": LayerKernel(
        source="layer_dense.c", weights=_dense_weights, activations=_dense_activations
    ),
    "layer-sparse": LayerKernel(
        source="layer_sparse.c", weights=_sparse_weights, activations=_sparse_activations
    ),
}


def build_layer(kernel: LayerKernel) -> Program:
    """Compile a program."""
    sources = [_SOURCES / "layer.c", _SOURCES / kernel.source]
    return parse_program(build_program(sources), kernel.source)


def choose_width(w: np.ndarray) -> int:
    """The widest tile whose rows of nonzero weights fit a register group.

    Parameters
    ----------
    w : ndarray, float32 [K, P]
        Weights.

    Raises
    ------
    InputError
        If there is none, because a row has too many weights.
    """
    for width in range(_COLUMNS, 0, -32):
        if np.count_nonzero(_padded(w, width).reshape(w.shape[0], -1, width), 2).max() <= _LONGEST:
            return width
    raise InputError("no tile of 32 columns or more has rows of weights that fit")


def _padded(w: np.ndarray, width: int) -> np.ndarray:
    """Weights with columns of zeros up to a whole number of tiles."""
    return np.pad(w, ((0, 0), (0, -w.shape[1] % width)))


def prepare_layer(
    kernel: LayerKernel, program: Program, a: np.ndarray, w: np.ndarray, tiling: Tiling
) -> PreparedRun:
    """Put a product's data behind a program.

    Parameters
    ----------
    kernel : LayerKernel
        Which one.
    program : Program
        As built.
    a : ndarray, float32 [M, K]
        Activations.
    w : ndarray, float32 [K, P]
        Weights.
    tiling : Tiling
        How the product is cut.

    Raises
    ------
    InputError
        If the cut does not fit the product, or the blocks do not fit the L1.
    """
    if tiling.width % 32 or not 32 <= tiling.width <= _COLUMNS:
        raise InputError(
            f"tiles of {tiling.width} columns; expected a multiple of 32 up to {_COLUMNS}"
        )
    w = _padded(w, tiling.width)
    (m, depth), columns = a.shape, w.shape[1]
    chunks = [slice(at, min(at + tiling.depth, depth)) for at in range(0, depth, tiling.depth)]
    tiles = [slice(at, at + tiling.width) for at in range(0, columns, tiling.width)]
    weights = [kernel.weights(np.ascontiguousarray(w[k, p])) for p in tiles for k in chunks]
    activations = [kernel.activations(np.ascontiguousarray(a[:, k])) for k in chunks]
    outer, inner = outer_memory(), heap(program)
    tables = [inner.put(outer.table(blocks)) for blocks in (weights, activations)]
    result = outer.reserve(4 * m * columns)
    sides = [max(map(len, blocks)) for blocks in (weights, activations)]
    buffers = [inner.reserve(size) for size in (*sides, 4 * m * tiling.width) for _ in range(2)]
    shape = (m, tiling.width, len(tiles), len(chunks))
    fields = struct.pack("<14I", *shape, *tables, result, 4 * columns, *buffers)
    return PreparedRun(
        program=with_data(program, "layer", fields, outer, inner),
        result=result,
        shape=(m, columns),
        dtype=np.dtype(np.uint32),
        cycles=program.symbols["layer"] + len(fields),
        bytes_fetched=sum(map(len, weights)) + len(tiles) * sum(map(len, activations)),
    )
