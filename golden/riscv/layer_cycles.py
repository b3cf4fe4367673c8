"""Cycles of layers on the cluster, without carrying out an instruction.

The programs of `fanweave.sw.kernels.layers` spend their time in one inner loop each, whose turns
overlap the scalar core, loads from the L1, and the lanes. A turn costs what the slowest of them
needs, and what the DMA moves meanwhile takes turns of the L1 from both. How much that is was
fitted to RTL, with the smallest error over 13 products of several shapes and densities
(``fanweave bench cluster --part model`` compares).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

__all__ = [
    "DENSE",
    "SPARSE",
    "BlockCosts",
    "DenseCosts",
    "SparseCosts",
    "dense_cycles",
    "sparse_cycles",
]

#: Multiply-accumulates of FP32 a cycle.
_LANES = 8
#: Elements of FP32 in a register group of four, and of eight, registers of 512 bits.
_STRIP, _LONG_STRIP = 64, 128
#: Bytes that the DMA moves in a cycle.
_DMA_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class BlockCosts:
    """Cycles of what both programs do around their inner loops.

    Attributes
    ----------
    block : float
        A block: transfers are started, and waited for.
    share : float
        Of each cycle of the DMA that work beside it loses.
    latency : float
        From the start of a transfer to its first bytes.
    start : float
        All that comes once.
    """

    block: float
    share: float
    latency: float
    start: float


@dataclass(frozen=True, kw_only=True)
class SparseCosts:
    """Cycles of parts of ``layer-sparse``.

    Attributes
    ----------
    row : float
        A row of weights beside its words, of eight of its weights each, which take a cycle.
    columns : float
        32 columns of a tile, whose mask has to be gone through.
    least : float
        The shortest that a row takes: what the scalar core needs.
    output : float
        An output row of a block: its sums come and go.
    around : BlockCosts
    """

    row: float
    columns: float
    least: float
    output: float
    around: BlockCosts


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
    around : BlockCosts
    """

    four: float
    one: float
    strip: float
    around: BlockCosts


#: Fitted to RTL, the cluster ``ventaglio-fp32``.
SPARSE = SparseCosts(
    row=0.2,
    columns=0.49,
    least=14.35,
    output=32.3,
    around=BlockCosts(block=113.9, share=0.35, latency=260.0, start=166.2),
)
DENSE = DenseCosts(
    four=0.467,
    one=0.0,
    strip=45.4,
    around=BlockCosts(block=154.7, share=0.0, latency=249.8, start=267.6),
)


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
    used = a != 0
    asked = np.count_nonzero(used, axis=0)  # how often each row is wanted
    turn = costs.row + costs.columns * width / 32
    work, moved = [], []
    for tile in range(0, w.shape[1], width):
        weights = np.count_nonzero(w[:, tile : tile + width], axis=1)
        words = -(-weights // _LANES)
        turns = asked * np.maximum(costs.least, turn + words)
        for at in range(0, inputs, depth):
            rows = slice(at, at + depth)
            work.append(float(turns[rows].sum()) + outputs * costs.output)
            # Records and masks go along with weights, places with activations.
            count = min(depth, inputs - at)
            block = count * (4 + width / 8) + 4 * int(weights[rows].sum())
            moved.append(block + 4 * outputs + 6 * int(asked[rows].sum()))
    return _through(
        work, moved, 4 * outputs * width, chunks=ceil(inputs / depth), costs=costs.around
    )


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
    four, one = divmod(outputs, 4)
    strips, long_strips = ceil(width / _STRIP), ceil(width / _LONG_STRIP)
    work, moved = [], []
    for at in [*range(0, inputs, depth)] * ceil(columns / width):
        rows = min(depth, inputs - at)
        cycles = four * (rows * (4 * width / _LANES + strips * costs.four) + strips * costs.strip)
        cycles += one * (
            rows * (width / _LANES + long_strips * costs.one) + long_strips * costs.strip
        )
        work.append(cycles)
        moved.append(4.0 * rows * (width + outputs) + 16)
    return _through(
        work, moved, 4 * outputs * width, chunks=ceil(inputs / depth), costs=costs.around
    )


def _through(
    work: Sequence[float],
    moved: Sequence[float],
    tile_bytes: int,
    *,
    chunks: int,
    costs: BlockCosts,
) -> float:
    """Cycles of all blocks; beside each the next one comes, and after each last chunk a tile
    leaves."""
    total = costs.start + costs.latency + moved[0] / _DMA_BYTES
    for number, cycles in enumerate(work):
        beside = moved[number + 1] if number + 1 < len(work) else 0.0
        if (number + 1) % chunks == 0:
            beside += tile_bytes
        busy = beside / _DMA_BYTES
        total += max(costs.block + cycles + costs.share * busy, costs.latency + busy)
    return total
