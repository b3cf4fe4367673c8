"""The Verilog of the bench, converted once for each state of the sources."""

from collections.abc import Sequence
from pathlib import Path

import amaranth

import fanweave
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.sim.runner.cache import BuildCache, content_key
from fanweave.sim.runner.design import Design, VerilogSource, design_from_component
from fanweave.sim.runner.toolchain import build_root

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
    """The harness around a unit, as a design to be Verilated.

    The conversion takes longer than a short run, so its text is cached by the sources that it
    comes from and the configuration.
    """
    key = content_key([repr(config), amaranth.__version__, *_source_texts()])

    def convert(folder: Path) -> Sequence[Path]:
        # Only now: describing hardware is slow to import.
        from fanweave.sim.benches.ventaglio.harness import Harness

        design = design_from_component(Harness(config=config), name=_NAME)
        file = folder / f"{_NAME}.v"
        file.write_text(design.sources[0].text)
        return [file]

    entry = BuildCache(build_root() / "converted").obtain(
        key, convert, label="converting ventaglio to Verilog"
    )
    here = Path(__file__).resolve().parent
    return Design(
        name=_NAME,
        toplevel=_NAME,
        sources=(
            VerilogSource.from_file(entry.folder / f"{_NAME}.v"),
            VerilogSource.from_file(here / "bench_memory.sv"),
            VerilogSource(name="apart.vlt", text=_APART),
        ),
    )


def _source_texts() -> list[str]:
    root = Path(fanweave.__file__).resolve().parent
    files = [file for pattern in SOURCES for file in sorted(root.glob(pattern))]
    return [f"{file.relative_to(root)}\n{file.read_text()}" for file in files]
