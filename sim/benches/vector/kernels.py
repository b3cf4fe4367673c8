"""Kernels on one core complex in Verilator, their data in the L1."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.sim.benches.core.verilated import CoreMachine, run_core
from fanweave.sw.kernels.kernels import (
    Kernel,
    SparseWeights,
    build_kernel,
    prepare_kernel,
    run_prepared,
)

__all__ = ["KernelRun", "run_sparse"]

_BASES = {region.name: region.base for region in REGIONS}
_LIMIT = 3_000_000


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """What a kernel took.

    Attributes
    ----------
    cycles : int
        Of the kernel, as ``mcycle`` counts them.
    products : int
        Multiplications by weights.
    same : bool
        Whether the result is golden's to the bit.
    """

    cycles: int
    products: int
    same: bool


def run_sparse(
    kernel: Kernel, machine: CoreMachine, a: np.ndarray, weights: SparseWeights
) -> KernelRun:
    """Run a kernel on golden's core, and on the machine with the same memory.

    Raises
    ------
    InputError
        If the matrices do not fit into the L1 together, or the machine does not build.
    FaultError
        If the program does not end well.
    """
    prepared = prepare_kernel(kernel, build_kernel(kernel), a, weights)
    program = prepared.program
    run = run_core(
        [(part.address, part.data.ljust(part.size, b"\0")) for part in program.segments],
        boot=program.entry,
        tohost=program.symbols.get("tohost", 0),
        limit=_LIMIT,
        machine=machine,
    )
    if run.ending != "pass":
        raise FaultError(f"{kernel.source} ends with {run.ending} at {run.pc:#x}")
    memories = {_BASES[RegionName.L1]: run.l1, _BASES[RegionName.INSTRUCTIONS]: run.code_memory}

    def read(address: int, size: int) -> np.ndarray:
        base = max(base for base in memories if base <= address)
        return memories[base][address - base :][:size]

    expected = run_prepared(prepared)
    return KernelRun(
        cycles=prepared.spent(read),
        products=a.shape[0] * weights.packed.size,
        same=bool((prepared.bits(read) == expected.c).all()),
    )
