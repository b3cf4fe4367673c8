"""Layers on the cluster in RTL, against dense products on the same machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sim.benches.cluster.measured import (
    CONFIG,
    DMA_BYTES,
    LANES,
    Measured,
    measure,
    row,
    shares,
)
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.kernels.kernels import product
from fanweave.sw.kernels.layers import LAYERS, Tiling, build_layer, choose_width, prepare_layer
from fanweave.sw.kernels.prepared import PreparedRun
from fanweave.sw.traces.library import open_trace
from fanweave.sw.traces.trace import Operand

__all__ = [
    "DENSE_TILING",
    "PROJECTIONS",
    "LayerCycles",
    "layer_rows",
    "random_factors",
    "run_layer",
    "trace_rows",
]

_SPARSITIES = (0.4, 0.5, 0.6)
#: Columns of a tile and rows of a chunk by sparsity: rows of weights fit a register group with
#: room to spare, and two chunks the L1.
_TILES = {0.4: (160, 112), 0.5: (192, 112), 0.6: (256, 104)}
#: Of dense products.
DENSE_TILING = Tiling(width=64, depth=96)
#: Tiles that are measured of each product.
_MEASURED = 2
#: Projections of LLaMA-3-8B: inputs and outputs.
PROJECTIONS: dict[str, tuple[int, int]] = {
    "q_proj": (4096, 4096),
    "k_proj": (4096, 1024),
    "v_proj": (4096, 1024),
    "o_proj": (4096, 4096),
    "gate_proj": (4096, 14336),
    "up_proj": (4096, 14336),
    "down_proj": (14336, 4096),
}
#: Output rows of a prefill: as many as the L1 holds sums of.
_ROWS = 8
_TRACE = "smollm2-layer"


@dataclass(frozen=True, kw_only=True)
class LayerCycles:
    """A product on the cluster, sparse and dense.

    Attributes
    ----------
    sparse, dense : int
        Cycles by the program's own counter.
    products : int
        Of two nonzero factors.
    sparse_bytes, dense_bytes : int
        That the DMA fetches.
    seconds : float
        That the simulations of both took.
    """

    sparse: int
    dense: int
    products: int
    sparse_bytes: int
    dense_bytes: int
    seconds: float


def run_layer(a: np.ndarray, w: np.ndarray, tiling: Tiling | None = None) -> LayerCycles:
    """Run a product on the cluster in both ways, and hold its bits against golden's.

    Parameters
    ----------
    a, w : ndarray, float32 [M, K] and [K, P]
        Factors.
    tiling : Tiling or None
        Of the sparse one; as large as fits if not given.

    Raises
    ------
    FaultError
        If a bit of a product differs.
    """
    wanted = product(a.view(np.uint32), w.view(np.uint32), ElementFormat.FP32)
    sparse = _prepared(a, w) if tiling is None else _prepare("layer-sparse", a, w, tiling)
    dense = _prepare("layer-dense", a, w, DENSE_TILING)
    used = np.count_nonzero(a, 0).astype(np.int64)
    runs = [_measured(prepared, wanted) for prepared in (sparse, dense)]
    return LayerCycles(
        sparse=runs[0].cycles,
        dense=runs[1].cycles,
        products=int(used @ np.count_nonzero(w, 1)),
        sparse_bytes=sparse.bytes_fetched,
        dense_bytes=dense.bytes_fetched,
        seconds=sum(each.run.seconds for each in runs),
    )


def _measured(prepared: PreparedRun, wanted: np.ndarray) -> Measured:
    """A run; columns that only fill up the last tile are zeros."""
    filled = np.pad(wanted, ((0, 0), (0, prepared.shape[1] - wanted.shape[1])))
    return measure(prepared, filled, CONFIG)


def _prepare(name: str, a: np.ndarray, w: np.ndarray, tiling: Tiling) -> PreparedRun:
    return prepare_layer(LAYERS[name], build_layer(LAYERS[name]), a, w, tiling)


def _prepared(a: np.ndarray, w: np.ndarray) -> PreparedRun:
    """With the deepest chunks that fit."""
    width = choose_width(w)
    for depth in range(min(256, a.shape[1]), 7, -8):
        try:
            return _prepare("layer-sparse", a, w, Tiling(width=width, depth=depth))
        except InputError:
            continue
    raise InputError("no chunk of 8 rows or more fits the L1")


def random_factors(
    seed: int, shape: tuple[int, int, int], idle: float, empty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Factors with zeros at random: float32 [M, K] and [K, P].

    Parameters
    ----------
    seed : int
    shape : tuple of int
        M, K and P.
    idle, empty : float
        Shares of zeros in activations and in weights.
    """
    m, k, p = shape
    generator = np.random.default_rng([seed, m, k, p])
    a, w = (generator.standard_normal(size).astype(np.float32) for size in ((m, k), (k, p)))
    a[generator.random(a.shape) < idle] = 0
    w[generator.random(w.shape) < empty] = 0
    return a, w


def layer_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Two tiles of the projections of LLaMA-3-8B, in prefill and in decode, whole in their depth.

    Tiles of a projection are alike but for where their zeros are. What a whole one takes is their
    number times what one of the two takes, and says so: its origin is the model.
    """
    depths = (512,) if quick else sorted({k for k, _ in PROJECTIONS.values()})
    for phase, m in (("prefill", _ROWS), ("decode", 1)):
        for k in depths:
            for sparsity in _SPARSITIES[1:2] if quick else _SPARSITIES:
                yield from _layer(phase, m, k, sparsity, seed)


def _layer(phase: str, m: int, k: int, sparsity: float, seed: int) -> Iterator[BenchRow]:
    width, depth = _TILES[sparsity]
    p = _MEASURED * width
    a, w = random_factors(seed, (m, k, p), sparsity, sparsity)
    tiling = Tiling(width=min(width, choose_width(w)), depth=depth)
    cycles = run_layer(a, w, tiling)
    case = f"{phase}, {sparsity:.0%} of both sides zero, {m} x {k} x {p}"
    ideal = 1 / (1 - sparsity) ** 2
    yield from _compared(case, cycles, m * k * p, ideal if phase == "prefill" else None)
    for name, (inputs, outputs) in PROJECTIONS.items():
        if inputs == k:
            tiles = ceil(outputs / tiling.width)
            yield BenchRow(
                case=f"LLaMA-3-8B {name}, {phase}, {sparsity:.0%}: {tiles} tiles like the "
                f"{_MEASURED} measured ones, {m} rows",
                metric="cycles",
                value=round(cycles.sparse * tiles * tiling.width / p),
                unit="cycles",
                origin="model",
            )


def _compared(
    case: str, cycles: LayerCycles, products: int, ideal: float | None
) -> Iterator[BenchRow]:
    """Both ways against their bounds, and against each other."""
    bound = max(cycles.products / LANES, cycles.sparse_bytes / DMA_BYTES)
    yield from shares(case, cycles.sparse, cycles.products, bound, goal=0.9)
    goal = None if ideal is None else 0.9 * ideal
    yield row(case, "speedup_over_dense", cycles.dense / cycles.sparse, goal=goal)
    dense_bound = max(products / LANES, cycles.dense_bytes / DMA_BYTES)
    yield row(f"{case}, dense", "cycles", cycles.dense, "cycles")
    yield row(f"{case}, dense", "roofline_share", dense_bound / cycles.dense)


def _numbers(bits: np.ndarray) -> np.ndarray:
    """FP16 as FP32, which has all of its numbers."""
    return bits.view(np.float16).astype(np.float32)


def _dense_weights(operand: Operand) -> np.ndarray:
    w = np.zeros(operand.shape, np.float32)
    rows = np.repeat(np.arange(operand.shape[0]), np.diff(operand.indptr))
    w[rows, operand.indices] = _numbers(operand.data)
    return w


def trace_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Every projection of a layer of SmolLM2, its own weights and activations, whole.

    The trace is FP16; the products here are those of the same numbers in FP32.
    """
    del seed
    totals: dict[str, list[int]] = {}
    operands = open_trace(_TRACE).operands
    for operand in operands[1:2] if quick else operands:
        w = _dense_weights(operand)
        for phase, tokens in _phases(operand).items():
            a = _numbers(np.ascontiguousarray(operand.activations[tokens]))
            cycles = run_layer(a, w)
            name = operand.name.rpartition(".")[2]
            case = f"SmolLM2 {name}, {phase}, {a.shape[0]} x {w.shape[0]} x {w.shape[1]}"
            full = a.size * w.shape[1]
            ideal = full / cycles.products if phase == "prefill" else None
            yield from _compared(case, cycles, full, ideal)
            sums = totals.setdefault(phase, [0, 0, 0, 0])
            for place, part in enumerate((cycles.sparse, cycles.dense, full, cycles.products)):
                sums[place] += part
    for phase, (sparse, dense, full, products) in totals.items() if not quick else ():
        case = f"SmolLM2, the layer's {len(operands)} projections, {phase}"
        goal = 0.9 * full / products if phase == "prefill" else None
        yield row(case, "speedup_over_dense", dense / sparse, goal=goal)
        yield row(case, "cycles", sparse, "cycles")


def _phases(operand: Operand) -> dict[str, Sequence[int]]:
    """Tokens of a prefill, which go together, and the first one of the decode."""
    prefill = [n for n, phase in enumerate(operand.phases) if phase == "prefill"]
    decode = [n for n, phase in enumerate(operand.phases) if phase == "decode"]
    return {"prefill": prefill[:_ROWS], "decode": decode[:1]}
