"""Kernels on the instruction-set simulator, bit for bit."""

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.kernels.kernels import (
    KERNELS,
    SparseWeights,
    build_kernel,
    product,
    run_kernel,
)

DENSE = [name for name, kernel in KERNELS.items() if not kernel.sparse]
SPARSE = [name for name, kernel in KERNELS.items() if kernel.sparse]
#: M, K, P
SHAPES = [(1, 5, 4), (4, 16, 128), (7, 9, 132), (1, 32, 256), (3, 4, 260)]
#: With them, blocks of rows of weights that fill their scalars, and a rest that does not.
BLOCKS = [(2, 32, 64), (2, 24, 128), (1, 20, 256)]


@pytest.fixture(scope="module")
def programs():
    return {name: build_kernel(kernel) for name, kernel in KERNELS.items()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DENSE)
def test_dense(programs, name, shape):
    m, k, p = shape
    generator = np.random.default_rng(m * k * p)
    half = KERNELS[name].element is ElementFormat.FP16
    numbers, bits = (np.float16, np.uint16) if half else (np.float32, np.uint32)
    a = generator.standard_normal((m, k)).astype(numbers).view(bits)
    w = generator.standard_normal((k, p)).astype(numbers).view(bits)
    result = run_kernel(KERNELS[name], programs[name], a, w)
    assert result.c.tolist() == product(a, w, KERNELS[name].element).tolist()
    assert result.instructions > k


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("shape", SHAPES + BLOCKS)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse(programs, name, shape, n):
    m, k, p = shape
    generator = np.random.default_rng(m * k * p + n)
    a = generator.standard_normal((m, k)).astype(np.float32).view(np.uint32)
    w = SparseWeights.random(generator, k, p, n)
    result = run_kernel(KERNELS[name], programs[name], a, w)
    assert result.c.tolist() == product(a, w.dense, ElementFormat.FP32).tolist()


@pytest.mark.parametrize("name", ["spmm-ventaglio", "spmv-ventaglio"])
def test_products_of_many_rows_save_instructions(programs, name):
    a = np.full((2, 32), 0x3F800000, np.uint32)
    w = SparseWeights.random(np.random.default_rng(1), 32, 64, 1)
    each, together = (
        run_kernel(KERNELS[which], programs[which], a, w).instructions
        for which in (name, f"{name}-rows")
    )
    assert together < each / 2


def test_matrices_that_do_not_fit(programs):
    w = np.zeros((256, 256), np.uint32)
    with pytest.raises(InputError, match=r"the data take \d+ bytes or more; the L1 has \d+"):
        run_kernel(KERNELS["gemm"], programs["gemm"], w, w)
