"""The model of layers' cycles against RTL: how far off it is, and how much faster."""

from collections.abc import Iterator
from time import perf_counter

from fanweave.golden.riscv.layer_cycles import dense_cycles, sparse_cycles
from fanweave.sim.benches.cluster.layers import DENSE_TILING, random_factors, run_layer
from fanweave.sim.benches.cluster.measured import row
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.kernels.layers import Tiling, choose_width

__all__ = ["model_rows"]

#: M, K, P, share of zeros in activations and weights, and rows of a chunk. None of them is one
#: that the model was fitted to.
_CASES = (
    (8, 512, 384, 0.5, 0.5, 112),
    (1, 512, 384, 0.5, 0.5, 112),
    (8, 416, 512, 0.6, 0.6, 104),
    (1, 448, 320, 0.4, 0.4, 112),
    (4, 512, 256, 0.3, 0.8, 128),
)


def model_rows(quick: bool, seed: int) -> Iterator[BenchRow]:
    """Errors of the model, and how often it could be asked while RTL answers once."""
    for m, k, p, idle, empty, depth in _CASES[1:2] if quick else _CASES:
        a, w = random_factors(seed, (m, k, p), idle, empty)
        tiling = Tiling(width=choose_width(w), depth=depth)
        began = perf_counter()
        sparse = sparse_cycles(a, w, width=tiling.width, depth=depth)
        dense = dense_cycles(m, k, p, width=DENSE_TILING.width, depth=DENSE_TILING.depth)
        taken = perf_counter() - began
        measured = run_layer(a, w, tiling)
        case = f"{m} x {k} x {p}, {idle:.0%} and {empty:.0%} zero"
        for kind, guess, found in (
            ("sparse", sparse, measured.sparse),
            ("dense", dense, measured.dense),
        ):
            error = abs(guess - found) / found
            yield row(f"{case}, {kind}", "cycle_model_error", error, goal=0.05)
        yield BenchRow(
            case=case,
            metric="speedup_over_rtl",
            value=measured.seconds / taken,
            unit="1",
            goal=100,
            origin="measured",
        )
