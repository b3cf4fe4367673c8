"""Ventaglio's kernels in C on the Verilated core complex: bits and cycles."""

import numpy as np
import pytest

from fanweave.hw.vector.config import PRESETS
from fanweave.sim.benches.vector.complex_machine import complex_machine
from fanweave.sim.benches.vector.kernels import run_sparse
from fanweave.sw.kernels.kernels import KERNELS, SparseWeights

pytestmark = [
    pytest.mark.verilator,
    pytest.mark.long("a core complex with Ventaglio is built for minutes"),
]
#: Multiply-accumulates of FP32 a cycle.
PEAK = 8
#: Kernel, M, K, P, weights in a block of 4, and the least share of the peak.
CASES = [
    ("spmm-ventaglio", 4, 64, 256, 2, 0.85),
    ("spmm-ventaglio", 8, 128, 128, 2, 0.94),
    ("spmm-ventaglio", 8, 256, 64, 2, 0.94),
    ("spmm-ventaglio", 4, 64, 256, 1, 0.75),
    ("spmm-ventaglio", 8, 128, 128, 1, 0.85),
    ("spmm-ventaglio", 3, 16, 128, 1, 0.2),
    ("spmm-ventaglio-rows", 8, 256, 64, 1, 0.83),
    ("spmv-ventaglio", 1, 64, 256, 2, 0.75),
    ("spmv-ventaglio", 1, 64, 256, 1, 0.6),
]


@pytest.mark.parametrize(("name", "m", "k", "p", "n", "least"), CASES)
def test_kernels(name, m, k, p, n, least):
    generator = np.random.default_rng(m * k + p)
    a = generator.standard_normal((m, k)).astype(np.float32).view(np.uint32)
    weights = SparseWeights.random(generator, k, p, n)
    machine = complex_machine(PRESETS["ventaglio-fp32"])
    run = run_sparse(KERNELS[name], machine, a, weights)
    share = run.products / (PEAK * run.cycles)
    print(f"{name} {n}:4 {m},{k},{p}: {run.cycles} cycles, {share:.1%}")
    assert run.same
    assert share >= least
