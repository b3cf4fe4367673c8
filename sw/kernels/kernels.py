"""The kernels: sources, the arrays that they take, and runs on an engine that keeps memory."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.fp import multiply_accumulate
from fanweave.golden.fp.instructions.compute import compute_array
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.riscv.cluster import Cluster, Ending
from fanweave.golden.riscv.program import Program, parse_program
from fanweave.sw.kernels.compiler import build_program
from fanweave.sw.kernels.prepared import PreparedRun, heap, with_data
from fanweave.sw.kernels.report import ending_text

__all__ = [
    "KERNELS",
    "Kernel",
    "KernelResult",
    "SparseWeights",
    "build_kernel",
    "prepare_kernel",
    "product",
    "run_kernel",
    "run_prepared",
]

_SOURCES = Path(__file__).resolve().parent / "source"
_LIMIT = 50_000_000
#: Columns of a tile that `spmm-expand-all` expands.
_TILE = 128


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel.

    Attributes
    ----------
    source : str
        Its C file.
    sparse : bool
        Whether weights are N:M with blocks of 4.
    element : ElementFormat
        Format of all matrices.
    define : tuple of str
        Macros.
    """

    source: str
    sparse: bool = False
    element: ElementFormat = ElementFormat.FP32
    define: tuple[str, ...] = ()


#: With one output row these are the matrix-vector products.
KERNELS: dict[str, Kernel] = {
    "gemm": Kernel(source="gemm.c"),
    "gemm-fp16": Kernel(source="gemm.c", element=ElementFormat.FP16, define=("HALF",)),
    "spmm-gather": Kernel(source="spmm_gather.c", sparse=True),
    "spmm-expand": Kernel(source="spmm_expand.c", sparse=True),
    "spmm-expand-all": Kernel(source="spmm_expand_all.c", sparse=True),
    "spmm-ventaglio": Kernel(source="spmm_ventaglio.c", sparse=True),
    "spmm-ventaglio-rows": Kernel(source="spmm_ventaglio.c", sparse=True, define=("ROWS",)),
    "spmv-ventaglio": Kernel(source="spmv_ventaglio.c", sparse=True),
    "spmv-ventaglio-rows": Kernel(source="spmv_ventaglio.c", sparse=True, define=("ROWS",)),
}


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """N:M weights along the columns, in blocks of 4.

    Attributes
    ----------
    dense : ndarray, uint32 [K, P]
        Bits, with zeros where there is no weight.
    n : int
        Weights in a block, 1 or 2.
    """

    dense: np.ndarray
    n: int

    @staticmethod
    def random(generator: np.random.Generator, k: int, p: int, n: int) -> "SparseWeights":
        """Weights from a normal distribution at random places; `p` is a multiple of 4."""
        order = np.argsort(generator.random((k, p // 4, 4)), axis=2) < n
        values = generator.standard_normal((k, p)).astype(np.float32)
        return SparseWeights(np.where(order.reshape(k, p), values, 0).view(np.uint32), n)

    @property
    def places(self) -> np.ndarray:
        """Columns of the weights; int64 [K, P * n / 4]."""
        k, _ = self.dense.shape
        return np.nonzero(self.dense)[1].reshape(k, -1)

    @property
    def packed(self) -> np.ndarray:
        """The weights alone; uint32 [K, P * n / 4]."""
        return np.take_along_axis(self.dense, self.places, axis=1)

    @property
    def indices(self) -> np.ndarray:
        """Packed indices of 2 bits; uint32 [K, words]."""
        inside = (self.places % 4).astype(np.uint32)
        words = -(-inside.shape[1] // 16)
        padded = np.zeros((inside.shape[0], words * 16), np.uint32)
        padded[:, : inside.shape[1]] = inside
        shifts = np.arange(16, dtype=np.uint32) * 2
        return np.bitwise_or.reduce(padded.reshape(-1, words, 16) << shifts, axis=2)


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelResult:
    """What a kernel gave.

    Attributes
    ----------
    c : ndarray, uint32 or uint16 [M, P]
        Bits of the product.
    instructions : int
        Instructions of the kernel itself, as ``mcycle`` counts them here.
    """

    c: np.ndarray
    instructions: int


def build_kernel(kernel: Kernel) -> Program:
    """Compile a kernel."""
    sources = [_SOURCES / "main.c", _SOURCES / kernel.source]
    return parse_program(build_program(sources, define=kernel.define), kernel.source)


def product(a: np.ndarray, w: np.ndarray, element: ElementFormat) -> np.ndarray:
    """The golden product: sums from +0 in the order of k, one rounding each; bits [M, P]."""
    total: np.ndarray = np.zeros((a.shape[0], w.shape[1]), np.int64)
    kind = int(element)
    for k in range(a.shape[1]):
        left = np.broadcast_to(a[:, k : k + 1], total.shape)
        right = np.broadcast_to(w[k], total.shape)
        if element is ElementFormat.FP32:
            total = multiply_accumulate(total, left, right, element)
            continue
        flat = [np.ascontiguousarray(v, np.int64).ravel() for v in (left, right, total)]
        out = np.zeros_like(flat[0])
        active = np.ones(out.shape, bool)
        compute_array(int(Operation.FMA), *flat, active, out, kind, kind, kind, 0, 32)
        total = out.reshape(total.shape)
    return total.astype(a.dtype)


def prepare_kernel(
    kernel: Kernel, program: Program, a: np.ndarray, w: "np.ndarray | SparseWeights"
) -> PreparedRun:
    """Put matrices behind a kernel.

    Parameters
    ----------
    kernel : Kernel
        Which one.
    program : Program
        As built.
    a : ndarray, uint32 or uint16 [M, K]
        Bits of the activations.
    w : ndarray [K, P] or SparseWeights
        Bits of dense weights, or sparse ones.

    Raises
    ------
    InputError
        If the matrices do not fit into the L1 together.
    """
    sparse = isinstance(w, SparseWeights)
    dense = w.dense if isinstance(w, SparseWeights) else w
    arrays = [np.zeros((a.shape[0], dense.shape[1]), a.dtype), a]
    if isinstance(w, SparseWeights):
        arrays += [
            w.packed,
            w.indices,
            np.zeros((a.shape[1], min(dense.shape[1], _TILE)), np.uint32),
        ]
        arrays.append(np.zeros(dense.shape[1], np.uint32))
    else:
        arrays.append(dense)
    space = heap(program)
    places = [space.put(np.ascontiguousarray(array).tobytes()) for array in arrays]
    indices, scratch, words = (places[3], places[4], arrays[3].shape[1]) if sparse else (0, 0, 0)
    n = w.n if isinstance(w, SparseWeights) else 0
    shape = (a.shape[0], a.shape[1], dense.shape[1], n, 4 if sparse else 0)
    numbers = (*shape, *places[:3], indices, words, scratch, 0)
    fields = struct.pack(f"<{len(numbers)}I", *numbers)
    return PreparedRun(
        program=with_data(program, "arguments", fields, space),
        result=places[0],
        shape=(a.shape[0], dense.shape[1]),
        dtype=a.dtype,
        cycles=program.symbols["arguments"] + len(fields) - 4,
    )


def run_kernel(
    kernel: Kernel, program: Program, a: np.ndarray, w: "np.ndarray | SparseWeights"
) -> KernelResult:
    """Run a kernel on the golden simulator; for what it takes see `prepare_kernel`.

    Raises
    ------
    InputError
        If the matrices do not fit into the L1 together.
    FaultError
        If the program does not end well.
    """
    prepared = prepare_kernel(kernel, program, a, w)
    return run_prepared(prepared)


def run_prepared(prepared: PreparedRun, *, limit: int = _LIMIT) -> KernelResult:
    """Run a program with its data on the golden simulator.

    Raises
    ------
    FaultError
        If it does not end well.
    """
    cluster = Cluster(prepared.program)
    result = cluster.run(limit)
    if result.ending is not Ending.PASS:
        name = prepared.program.name
        raise FaultError(f"{name}: {ending_text(prepared.program, result, limit)}")

    def read(address: int, size: int) -> np.ndarray:
        span = cluster.memory.span(address, size, dma=True)
        assert span is not None
        return span

    return KernelResult(c=prepared.bits(read), instructions=prepared.spent(read))
