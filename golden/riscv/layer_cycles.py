"""Cycles of layers on the cluster, without carrying out an instruction.

The programs of `fanweave.sw.kernels.layers` spend their time in one inner loop each, whose turns
overlap the scalar core, loads from the L1, and the lanes. A turn costs what the slowest of them
needs; how much that is was fitted to RTL, with the smallest error over products of several
shapes and densities (``fanweave bench cluster --part model`` compares with others).
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

__all__ = ["DENSE", "SPARSE", "DenseCosts", "SparseCosts", "dense_cycles", "sparse_cycles"]

#: Multiply-accumulates of FP32 a cycle.
_LANES = 8
#: Elements of FP32 in a register group of four, and of eight, registers of 512 bits.
_STRIP, _LONG_STRIP = 64, 128
#: Bytes that the DMA moves in a cycle.
_DMA_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class SparseCosts:
    """Cycles of parts of ``layer-sparse``.

    Attributes
    ----------
    row : float
        A row of weights beside its words.
    word : float
        A word of eight of its weights.
    least : float
        The shortest that a row takes: what the scalar core needs.
    output : float
        An output row of a block: its sums come and go.
    block : float
        A block: transfers are started, and waited for.
    start : float
        All that comes once.
    """

    row: float
    word: float
    least: float
    output: float
    block: float
    start: float


@dataclass(frozen=True, kw_only=True)
class DenseCosts:
    """Cycles of parts of ``layer-dense``.

    Attributes
    ----------
    four : float
        A row of weights for four output rows, beside its multiplications.
    one : float
        A row of weights for a single output row, likewise.
    strip : float
        Sums of a strip of columns come and go.
    block, start : float
        As of `SparseCosts`.
    """

    four: float
    one: float
    strip: float
    block: float
    start: float


#: Fitted to RTL, the cluster ``ventaglio-fp32``.
SPARSE = SparseCosts(row=5.5, word=1.0, least=13.2, output=33.0, block=60.0, start=300.0)
DENSE = DenseCosts(four=0.5, one=2.5, strip=60.0, block=60.0, start=300.0)


def sparse_cycles(
    a: np.ndarray,
    w: np.ndarray,
    *,
    width: int,
    depth: int,
    costs: SparseCosts = SPARSE,
) -> float:
    """Cycles of a product of which both sides have zeros.

    Parameters
    ----------
    a : ndarray [M, K]
        Activations.
    w : ndarray [K, P]
        Weights.
    width, depth : int
        Columns of a tile, and rows of a chunk.
    costs : SparseCosts
        Of its parts.
    """
    outputs, inputs = a.shape
    tiles, chunks = ceil(w.shape[1] / width), ceil(inputs / depth)
    used = np.count_nonzero(a, axis=0).astype(np.float64)  # how often each row is asked for
    total = costs.start + tiles * chunks * (costs.block + outputs * costs.output)
    for tile in range(tiles):
        weights = np.count_nonzero(w[:, tile * width : (tile + 1) * width], axis=1)
        words = -(-weights // _LANES)
        total += float(used @ np.maximum(costs.least, costs.row + costs.word * words))
    return total


def dense_cycles(
    outputs: int,
    inputs: int,
    columns: int,
    *,
    width: int,
    depth: int,
    costs: DenseCosts = DENSE,
) -> float:
    """Cycles of a product with all of its zeros.

    Parameters
    ----------
    outputs, inputs, columns : int
        Its shape: output rows, depth, and columns.
    width, depth : int
        Columns of a tile, and rows of a chunk.
    costs : DenseCosts
        Of its parts.
    """
    tiles, chunks = ceil(columns / width), ceil(inputs / depth)
    four, one = divmod(outputs, 4)
    total = costs.start
    for chunk in range(chunks):
        rows = min(depth, inputs - chunk * depth)
        strips, long_strips = ceil(width / _STRIP), ceil(width / _LONG_STRIP)
        work = four * (rows * (4 * width / _LANES + strips * costs.four) + strips * costs.strip)
        work += one * (
            rows * (width / _LANES + long_strips * costs.one) + long_strips * costs.strip
        )
        total += tiles * (costs.block + max(work, 4 * rows * width / _DMA_BYTES))
    return total
