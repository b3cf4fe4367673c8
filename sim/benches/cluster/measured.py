"""Runs of programs with their data on the cluster in RTL, and rows of what they took."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cluster import REGIONS
from fanweave.hw.cluster.config import PRESETS, ClusterConfig
from fanweave.sim.benches.cluster.verilated import ClusterRun, program_image, run_cluster
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sw.kernels.prepared import PreparedRun

__all__ = ["CONFIG", "DMA_BYTES", "L1_BYTES", "LANES", "Measured", "measure", "row", "shares"]

#: Multiply-accumulates of FP32 in a cycle, bytes that come from the L1 in one, and by DMA.
LANES, L1_BYTES, DMA_BYTES = 8, 32, 64
#: The cluster that all of this is about.
CONFIG = PRESETS["ventaglio-fp32"]
_LIMIT = 50_000_000


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Cycles of a product, by the program's own counter, and how its run went."""

    cycles: int
    run: ClusterRun


def measure(prepared: PreparedRun, wanted: np.ndarray, config: ClusterConfig) -> Measured:
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
    return Measured(cycles=prepared.spent(read), run=run)


def row(
    case: str, metric: str, value: float, unit: str = "1", goal: float | None = None
) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, goal=goal, origin="rtl")


def shares(case: str, cycles: int, products: int, bound: float, goal: float) -> Iterator[BenchRow]:
    yield row(case, "cycles", cycles, "cycles")
    yield row(case, "lanes_busy", products / LANES / cycles)
    yield row(case, "roofline_share", bound / cycles, goal=goal)
