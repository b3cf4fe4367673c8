"""The ``sim`` subcommand."""

from pathlib import Path
from typing import Literal

import click

from fanweave.golden.ventaglio.config import preset
from fanweave.sim.benches.cxl.commands import switch
from fanweave.sim.benches.cxl.island_command import island
from fanweave.sim.benches.options import (
    config_option,
    json_option,
    seed_option,
    stall_option,
    waves_option,
)
from fanweave.sim.report.files import check_output

__all__ = ["sim"]


@click.group()
def sim() -> None:
    """Run a unit's RTL in Verilator and compare it with the golden model.

    \b
    Example:
      fanweave sim ventaglio --trace smollm2-layer --waves
    """


@sim.command()
@click.option(
    "--trace",
    "trace_name",
    default="smollm2-layer",
    show_default=True,
    metavar="FILE|NAME",
    help="Trace file, or the name of a shipped one.",
)
@config_option("unit")
@click.option(
    "--only", default="", metavar="TEXT", help="Run only the projections whose name contains TEXT."
)
@click.option(
    "--ports",
    type=click.Choice(["shared", "split"]),
    default="shared",
    show_default=True,
    help="One beat a cycle from memory for weights and indices together, or for each.",
)
@stall_option("stream")
@seed_option("the stalls")
@waves_option(
    "0:2000", "Dump these cycles of the first projection to a VCD (2000 if none are given)."
)
@json_option()
def ventaglio(
    trace_name: str,
    config_name: str,
    only: str,
    ports: Literal["shared", "split"],
    stall: int,
    seed: int,
    waves: tuple[int, int | None] | None,
    json_file: str | None,
) -> None:
    """Run a sparse layer trace through the Ventaglio unit, bit-exact.

    One row of the table is one projection in one phase. Cycles count everything from the first
    command to the last result. Results go to build/sim/ventaglio as JSON and JUnit XML.

    \b
    Example:
      fanweave sim ventaglio --trace smollm2-layer --only mlp --stall 40 --seed 7
    """
    # Only now: the runner and the trace importers are slow to import.
    from fanweave.golden.ventaglio.cycles import MemoryModel
    from fanweave.sim.benches.ventaglio.report import run_trace
    from fanweave.sim.benches.ventaglio.run import Stalls
    from fanweave.sim.runner.toolchain import build_root
    from fanweave.sw.traces.library import open_trace

    check_output(json_file)
    run_trace(
        open_trace(trace_name),
        preset(config_name),
        config_name=config_name,
        only=only,
        memory=MemoryModel(ports=ports),
        stalls=Stalls(probability=stall, seed=seed),
        folder=Path(build_root()) / "sim" / "ventaglio",
        waves=waves,
        json_file=json_file,
    )


sim.add_command(switch)
sim.add_command(island)
