"""Kernels and layers on the cluster in RTL: plain RVV, dense and Ventaglio on the same machine.

Every product is compared with golden's, bit for bit, before its cycles count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cluster import REGIONS
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.cluster.config import PRESETS, ClusterConfig
from fanweave.sim.benches.cluster.verilated import ClusterRun, program_image, run_cluster
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.kernels.kernels import (
    KERNELS,
    SparseWeights,
    build_kernel,
    prepare_kernel,
    product,
)
from fanweave.sw.kernels.layers import LAYERS, Tiling, build_layer, choose_width, prepare_layer
from fanweave.sw.kernels.prepared import PreparedRun

__all__ = ["PARTS", "PLAIN", "measure", "rows"]

#: Multiply-accumulates of FP32 in a cycle, bytes that come from the L1 in one, and by DMA.
_LANES, _L1_BYTES, _DMA_BYTES = 8, 32, 64
#: Bytes of a weight with its index of 2 bits.
_PACKED_BYTES = 4.25
_LIMIT = 50_000_000
#: The best of these is the baseline; docs/cluster/kernels.md says how they differ.
PLAIN = ("spmm-gather", "spmm-expand", "spmm-expand-all")
#: Bytes of dense weights that fit the L1 beside the rest.
_ROOM = 96 * 1024
#: M, K, P of the published table's kind, and larger ones; every kernel's data fit the L1.
_SHAPES = ((4, 64, 256), (8, 128, 128), (16, 128, 64), (16, 64, 256))
_VECTORS = ((64, 256), (128, 128))
_SPARSITIES = (0.4, 0.5, 0.6)
#: Columns of a tile and rows of a chunk by sparsity: rows of weights fit a register group with
#: room to spare, and two chunks the L1.
_TILES = {0.4: (160, 112), 0.5: (192, 112), 0.6: (256, 104)}


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """Cycles of a product, by the program's own counter, and how its run went."""

    cycles: int
    run: ClusterRun


def _config() -> ClusterConfig:
    return PRESETS["ventaglio-fp32"]


def measure(prepared: PreparedRun, wanted: np.ndarray, config: ClusterConfig) -> _Measured:
    """Run a program with its data.

    Raises
    ------
    FaultError
        If it does not end well, or a bit of the product differs.
    """
    name = prepared.program.name
    run = run_cluster(
        program_image(prepared.program, config),
        boot=prepared.program.entry,
        limit=_LIMIT,
        config=config,
        keep_memory=True,
    )
    if run.ending != "pass":
        where = prepared.program.place(run.cores[0].pc)
        raise FaultError(f"{name} ends with {run.ending} after {run.cycles} cycles, at {where}")

    def read(address: int, size: int) -> np.ndarray:
        region = next(region for region in REGIONS if region.base <= address < region.end)
        at = address - region.base
        return run.memory[region.name][at : at + size]

    found = prepared.bits(read)
    if (found != wanted).any():
        row, column = (int(place) for place in np.argwhere(found != wanted)[0])
        raise FaultError(
            f"{name}: element [{row}, {column}] is {found[row, column]:#x}; "
            f"expected {wanted[row, column]:#x}"
        )
    return _Measured(cycles=prepared.spent(read), run=run)


@cache
def _kernel_cycles(name: str, shape: tuple[int, int, int], n: int, seed: int) -> int:
    """Cycles of a kernel; `n` weights of 4 are not zero, all of them for a dense one."""
    m, k, p = shape
    generator = np.random.default_rng([seed, m, k, p])
    a = generator.standard_normal((m, k)).astype(np.float32).view(np.uint32)
    kernel = KERNELS[name]
    w = SparseWeights.random(generator, k, p, n)
    dense = w.dense
    if not kernel.sparse:
        dense = generator.standard_normal((k, p)).astype(np.float32).view(np.uint32)
    prepared = prepare_kernel(kernel, build_kernel(kernel), a, w if kernel.sparse else dense)
    return measure(prepared, product(a, dense, ElementFormat.FP32), _config()).cycles


def _row(
    case: str, metric: str, value: float, unit: str = "1", goal: float | None = None
) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, goal=goal, origin="rtl")


def _shares(case: str, cycles: int, products: int, bound: float, goal: float) -> Iterator[BenchRow]:
    yield _row(case, "cycles", cycles, "cycles")
    yield _row(case, "lanes_busy", products / _LANES / cycles)
    yield _row(case, "roofline_share", bound / cycles, goal=goal)


def _fits_dense(shape: tuple[int, int, int]) -> bool:
    return 4 * shape[1] * shape[2] <= _ROOM


def _dense_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    for shape in filter(_fits_dense, _SHAPES[: 1 if quick else None]):
        m, k, p = shape
        cycles = _kernel_cycles("gemm", shape, 4, seed)
        products = m * k * p
        name = f"dense, {m} x {k} x {p}"
        yield from _shares(name, cycles, products, products / _LANES, goal=0.95)
    if not quick:
        for k, p in _VECTORS:
            if not _fits_dense((1, k, p)):
                continue
            cycles = _kernel_cycles("gemm", (1, k, p), 4, seed)
            bound = 4 * k * p / _L1_BYTES
            yield from _shares(f"dense, 1 x {k} x {p}", cycles, k * p, bound, goal=0.95)


def _sparse_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Several output rows, which share weights two by two."""
    for shape in _SHAPES[: 1 if quick else None]:
        for n in (2,) if quick else (2, 1):
            m, k, p = shape
            products = m * k * p * n // 4
            bound = max(products / _LANES, products / 2 * _PACKED_BYTES / _L1_BYTES)
            yield from _against_plain(
                f"SpMM {n}:4, {m} x {k} x {p}", "spmm-ventaglio", shape, n, bound, seed
            )


def _vector_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """One output row."""
    for k, p in _VECTORS[: 1 if quick else None]:
        for n in (2,) if quick else (2, 1):
            bound = k * p * n / 4 * _PACKED_BYTES / _L1_BYTES
            yield from _against_plain(
                f"SpMV {n}:4, {k} x {p}", "spmv-ventaglio", (1, k, p), n, bound, seed
            )


def _against_plain(
    case: str, kernel: str, shape: tuple[int, int, int], n: int, bound: float, seed: int
) -> Iterator[BenchRow]:
    m, k, p = shape
    products = m * k * p * n // 4
    cycles = _kernel_cycles(kernel, shape, n, seed)
    plain = {name: _kernel_cycles(name, shape, n, seed) for name in PLAIN}
    best = min(plain, key=lambda name: plain[name])
    yield from _shares(case, cycles, products, bound, goal=0.9)
    dense = _kernel_cycles("gemm", shape, 4, seed)
    yield _row(case, "speedup_over_rvv", plain[best] / cycles, goal=7.4)
    yield _row(case, "speedup_over_dense", dense / cycles)
    for name, spent in plain.items():
        word = ", the baseline" if name == best else ""
        yield _row(f"{case}, {name}{word}", "cycles", spent, "cycles")
    yield _row(f"{case}, {best}", "lanes_busy", products / _LANES / plain[best])


def _layer_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Two tiles of a projection of LLaMA-3-8B, in prefill and in decode."""
    k = 512 if quick else 4096
    for phase, m in (("prefill", 8), ("decode", 1)):
        for sparsity in _SPARSITIES[1:2] if quick else _SPARSITIES:
            yield from _layer(phase, m, k, sparsity, seed)


def _layer(phase: str, m: int, k: int, sparsity: float, seed: int) -> Iterator[BenchRow]:
    width, depth = _TILES[sparsity]
    p = 2 * width
    case = f"{phase}, {sparsity:.0%} of both sides zero, {m} x {k} x {p}"
    generator = np.random.default_rng([seed, m, k, p])
    a, w = (generator.standard_normal(size).astype(np.float32) for size in ((m, k), (k, p)))
    a[generator.random(a.shape) < sparsity] = 0
    w[generator.random(w.shape) < sparsity] = 0
    wanted = product(a.view(np.uint32), w.view(np.uint32), ElementFormat.FP32)
    spent, fetched = {}, {}
    for name, tiling in (
        ("layer-dense", Tiling(width=64, depth=96)),
        ("layer-sparse", Tiling(width=min(width, choose_width(w)), depth=depth)),
    ):
        kernel = LAYERS[name]
        prepared = prepare_layer(kernel, build_layer(kernel), a, w, tiling)
        spent[name] = measure(prepared, wanted, _config()).cycles
        fetched[name] = prepared.bytes_fetched
    products = sum(int(np.count_nonzero(a[:, i])) * int(np.count_nonzero(w[i])) for i in range(k))
    cycles = spent["layer-sparse"]
    bound = max(products / _LANES, fetched["layer-sparse"] / _DMA_BYTES)
    yield from _shares(case, cycles, products, bound, goal=0.9)
    ideal = 1 / (1 - sparsity) ** 2
    goal = 0.9 * ideal if phase == "prefill" else None
    yield _row(case, "speedup_over_dense", spent["layer-dense"] / cycles, goal=goal)
    dense_bound = max(m * k * p / _LANES, fetched["layer-dense"] / _DMA_BYTES)
    yield _row(f"{case}, dense", "cycles", spent["layer-dense"], "cycles")
    yield _row(f"{case}, dense", "roofline_share", dense_bound / spent["layer-dense"])


def _speed_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    m, k, p = 16, 128, 64
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((m, k)).astype(np.float32).view(np.uint32)
    w = generator.standard_normal((k, p)).astype(np.float32).view(np.uint32)
    kernel = KERNELS["gemm"]
    prepared = prepare_kernel(kernel, build_kernel(kernel), a, w)
    run = measure(prepared, product(a, w, ElementFormat.FP32), _config()).run
    yield BenchRow(
        case="dense product in Verilator",
        metric="simulated_cycles_per_second",
        value=run.cycles / run.seconds,
        unit="Hz",
        goal=30_000,
        origin="measured",
    )


PARTS: dict[str, Callable[[bool, int], Iterator[BenchRow]]] = {
    "dense": _dense_rows,
    "sparse": _sparse_rows,
    "vector": _vector_rows,
    "layers": _layer_rows,
    "speed": _speed_rows,
}


def rows(*, quick: bool, seed: int, part: str | None = None) -> list[BenchRow]:
    """All rows, or those of one part.

    Raises
    ------
    InputError
        If there is no such part.
    FaultError
        If a product differs from golden's.
    """
    if part is not None and part not in PARTS:
        raise InputError(
            f"benchmark cluster has no part {part!r}; choose one of {', '.join(PARTS)}"
        )
    chosen = PARTS if part is None else {part: PARTS[part]}
    return [row for each in chosen.values() for row in each(quick, seed)]
