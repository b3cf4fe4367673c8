"""A core with its vector unit in Verilator."""

from typing import Any

from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.sim.benches.core.verilated import SOURCES as CORE_SOURCES
from fanweave.sim.benches.core.verilated import CoreMachine
from fanweave.sim.runner.converted import converted_design

__all__ = ["SOURCES", "complex_machine"]

#: Sources that decide what the conversion gives: those that the complex imports.
SOURCES = (
    *(source for source in CORE_SOURCES if "bare_core" not in source),
    "golden/riscv/config.py",
    "hw/cluster/complex.py",
    "hw/reduction.py",
    "hw/vector/*.py",
)


def complex_machine(
    vector: VectorConfig | None = None, core: ScalarConfig | None = None
) -> CoreMachine:
    """A core with a vector unit, whose memories are flat."""
    vector, core = vector or VectorConfig(), core or ScalarConfig()

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.hw.cluster.complex import CoreComplex

        return CoreComplex(core=core, vector=vector)

    design = converted_design(build, name="core_complex", key=repr((core, vector)), sources=SOURCES)
    return CoreMachine(design=design, label="the core complex", lanes=vector.lanes)
