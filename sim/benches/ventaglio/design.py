"""The Verilog of the bench, converted once for each state of the sources."""

from pathlib import Path
from typing import Any

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.sim.runner.converted import converted_design
from fanweave.sim.runner.design import Design, VerilogSource

__all__ = ["SOURCES", "harness_design"]

_NAME = "ventaglio_bench"
#: Inlined, the banks are most of the model's code, far more than the instruction cache holds. Apart
#: they make the default configuration 1.4 times as fast and its build half as long.
_APART = f"""`verilator_config
no_inline -module "{_NAME}.unit.bank_0"
"""
#: Sources that decide what the conversion gives: those that the harness imports, as a test checks.
SOURCES = (
    "golden/errors.py",
    "golden/presets.py",
    "golden/fp/*.py",
    "golden/isa/formats.py",
    "golden/isa/registers.py",
    "golden/isa/ventaglio.py",
    "golden/ventaglio/config.py",
    "hw/fp/*.py",
    "hw/generate/*.py",
    "hw/reduction.py",
    "hw/stream/*.py",
    "hw/ventaglio/*.py",
    "sim/benches/ventaglio/fetcher.py",
    "sim/benches/ventaglio/harness.py",
    "sim/benches/ventaglio/memory.py",
    "sim/benches/ventaglio/settings.py",
)


def harness_design(config: VentaglioConfig) -> Design:
    """The harness around a unit, as a design to be Verilated."""

    def build() -> Any:
        # Only now: describing hardware is slow to import.
        from fanweave.sim.benches.ventaglio.harness import Harness

        return Harness(config=config)

    memory = VerilogSource.from_file(Path(__file__).resolve().parent / "bench_memory.sv")
    apart = VerilogSource(name="apart.vlt", text=_APART)
    return converted_design(
        build, name=_NAME, key=repr(config), sources=SOURCES, extra=(memory, apart)
    )
