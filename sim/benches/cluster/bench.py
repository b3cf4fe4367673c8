"""Kernels and layers on the cluster in RTL: plain RVV, dense and Ventaglio on the same machine.

Every product is compared with golden's, bit for bit, before its cycles count.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sim.benches.cluster.area import area_rows
from fanweave.sim.benches.cluster.layers import layer_rows, trace_rows
from fanweave.sim.benches.cluster.measured import CONFIG, L1_BYTES, LANES, measure, row, shares
from fanweave.sim.benches.cluster.model import model_rows
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.kernels.kernels import (
    KERNELS,
    SparseWeights,
    build_kernel,
    prepare_kernel,
    product,
)

__all__ = ["PARTS", "PLAIN", "rows"]

#: Bytes of a weight with its index of 2 bits.
_PACKED_BYTES = 4.25
#: The best of these is the baseline; docs/cluster/kernels.md says how they differ.
PLAIN = ("spmm-gather", "spmm-expand", "spmm-expand-all")
#: With the public release's instructions, and with products of many rows; the faster one counts.
_SPMM = ("spmm-ventaglio", "spmm-ventaglio-rows")
_SPMV = ("spmv-ventaglio", "spmv-ventaglio-rows")
#: Bytes of dense weights that fit the L1 beside the rest.
_ROOM = 96 * 1024
#: M, K, P of the published table's kind, and larger ones; every kernel's data fit the L1.
_SHAPES = ((4, 64, 256), (8, 128, 128), (16, 128, 64), (16, 64, 256))
_VECTORS = ((64, 256), (128, 128))


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
    return measure(prepared, product(a, dense, ElementFormat.FP32), CONFIG).cycles


def _fits_dense(shape: tuple[int, int, int]) -> bool:
    return 4 * shape[1] * shape[2] <= _ROOM


def _dense_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    for shape in filter(_fits_dense, _SHAPES[: 1 if quick else None]):
        m, k, p = shape
        cycles = _kernel_cycles("gemm", shape, 4, seed)
        products = m * k * p
        name = f"dense, {m} x {k} x {p}"
        yield from shares(name, cycles, products, products / LANES, goal=0.95)
    if not quick:
        for k, p in _VECTORS:
            if not _fits_dense((1, k, p)):
                continue
            cycles = _kernel_cycles("gemm", (1, k, p), 4, seed)
            bound = 4 * k * p / L1_BYTES
            yield from shares(f"dense, 1 x {k} x {p}", cycles, k * p, bound, goal=0.95)


def _sparse_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Several output rows, which share weights two by two."""
    for shape in _SHAPES[: 1 if quick else None]:
        for n in (2,) if quick else (2, 1):
            m, k, p = shape
            products = m * k * p * n // 4
            bound = max(products / LANES, products / 2 * _PACKED_BYTES / L1_BYTES)
            yield from _against_plain(f"SpMM {n}:4, {m} x {k} x {p}", _SPMM, shape, n, bound, seed)


def _vector_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """One output row."""
    for k, p in _VECTORS[: 1 if quick else None]:
        for n in (2,) if quick else (2, 1):
            bound = k * p * n / 4 * _PACKED_BYTES / L1_BYTES
            yield from _against_plain(f"SpMV {n}:4, {k} x {p}", _SPMV, (1, k, p), n, bound, seed)


def _against_plain(
    case: str,
    kernels: tuple[str, ...],
    shape: tuple[int, int, int],
    n: int,
    bound: float,
    seed: int,
) -> Iterator[BenchRow]:
    m, k, p = shape
    products = m * k * p * n // 4
    own = {name: _kernel_cycles(name, shape, n, seed) for name in kernels}
    cycles = min(own.values())
    plain = {name: _kernel_cycles(name, shape, n, seed) for name in PLAIN}
    best = min(plain, key=lambda name: plain[name])
    yield from shares(case, cycles, products, bound, goal=0.9)
    dense = _kernel_cycles("gemm", shape, 4, seed)
    yield row(case, "speedup_over_rvv", plain[best] / cycles, goal=7.4)
    yield row(case, "speedup_over_dense", dense / cycles)
    for name, spent in own.items():
        yield row(f"{case}, {name}", "cycles", spent, "cycles")
    for name, spent in plain.items():
        word = ", the baseline" if name == best else ""
        yield row(f"{case}, {name}{word}", "cycles", spent, "cycles")
    yield row(f"{case}, {best}", "lanes_busy", products / LANES / plain[best])


def _speed_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    m, k, p = 16, 128, 64
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((m, k)).astype(np.float32).view(np.uint32)
    w = generator.standard_normal((k, p)).astype(np.float32).view(np.uint32)
    kernel = KERNELS["gemm"]
    prepared = prepare_kernel(kernel, build_kernel(kernel), a, w)
    run = measure(prepared, product(a, w, ElementFormat.FP32), CONFIG).run
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
    "layers": layer_rows,
    "trace": trace_rows,
    "model": model_rows,
    "speed": _speed_rows,
    "area": area_rows,
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
