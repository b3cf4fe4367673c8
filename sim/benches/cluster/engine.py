"""Programs on the cluster in RTL: the engine ``rtl`` of ``fanweave run``."""

from collections.abc import Mapping
from dataclasses import replace

import click

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.presets import find_preset
from fanweave.golden.riscv.cluster import Ending, Result, Trap
from fanweave.hw.cluster.config import PRESETS, ClusterConfig
from fanweave.sim.benches.cluster.instruction_texts import show_instructions
from fanweave.sim.benches.cluster.verilated import (
    ClusterRun,
    CoreCounts,
    Waves,
    program_image,
    run_cluster,
)
from fanweave.sim.runner.toolchain import build_root
from fanweave.sim.waves.window import check_dumped, parse_window
from fanweave.sw.kernels.engines import RunRequest

__all__ = ["fpu_utilisation", "measures", "memory_tohost", "run"]

_ENDINGS = {
    "pass": Ending.PASS,
    "fail": Ending.FAIL,
    "trap": Ending.TRAP,
    "halt": Ending.TRAP,
    "limit": Ending.LIMIT,
}


def run(request: RunRequest) -> Result:
    """Run a program; the limit counts cycles.

    Raises
    ------
    InputError
        If there is no such preset, the program needs more harts or other memory than there is, or
        the cluster does not build.
    FaultError
        If the simulation fails.
    """
    program = request.program
    if request.harts > 2:
        raise InputError(f"harts is {request.harts}; engine rtl has 1 or 2 cores")
    config = replace(find_preset("cluster", request.preset, PRESETS), cores=request.harts)
    waves = None if request.waves is None else _waves(request.waves)
    outcome = run_cluster(
        program_image(program, config),
        boot=program.entry,
        tohost=memory_tohost(program.symbols),
        limit=request.limit,
        config=config,
        waves=waves,
    )
    if waves is not None:
        _show(waves, config)
    ending = _ENDINGS[outcome.ending]
    return Result(
        ending=ending,
        code=outcome.code,
        output=outcome.output,
        instructions=tuple(core.instructions for core in outcome.cores),
        hart=outcome.hart,
        pcs=tuple(core.pc for core in outcome.cores),
        trap=Trap(*outcome.trap) if ending is Ending.TRAP else None,
        measures=measures(outcome, config),
    )


def _waves(window: str) -> Waves:
    """Where and what to dump."""
    first, last = parse_window(window)
    dump = build_root() / "sim" / "cluster" / "waves" / "window.vcd"
    dump.parent.mkdir(parents=True, exist_ok=True)
    dump.unlink(missing_ok=True)
    return Waves(dump=dump, first=first, last=last)


def _show(waves: Waves, config: ClusterConfig) -> None:
    """Add what makes a dump readable, and say how to look at it."""
    check_dumped(waves.dump, waves.first)
    missing = show_instructions(waves.dump, config)
    if missing:
        click.echo(f"not in the dump: {', '.join(missing)}", err=True)
    click.echo(f"waves: gtkwave {waves.dump.with_suffix('.gtkw')}", err=True)


def memory_tohost(symbols: dict[str, int]) -> int:
    """Address of ``tohost`` if it lies in memory; 0 if not, for the mailbox ends runs itself."""
    address = symbols.get("tohost", 0)
    memories = (RegionName.L1, RegionName.INSTRUCTIONS)
    inside = any(r.base <= address < r.end for r in REGIONS if r.name in memories)
    return address if inside else 0


def measures(run: ClusterRun, config: ClusterConfig) -> dict[str, str]:
    """What a run took, in words."""
    cycles, activity = max(1, run.cycles), run.activity
    found = {"cycles": f"{run.cycles}"}
    for number, core in enumerate(run.cores):
        name = "" if len(run.cores) == 1 else f"hart {number}, "
        found[f"{name}instructions a cycle"] = f"{core.instructions / cycles:.3f}"
        found[f"{name}no instruction issued"] = _shares(core.stalls, cycles)
        found[f"{name}FPU busy"] = _share(fpu_utilisation(core, run.cycles, config))
        found[f"{name}FPU idle"] = _idle(core, cycles, config)
    lost = activity["l1_conflicts"] / max(1, activity["l1_requests"])
    found["L1 requests"] = f"{activity['l1_requests']}"
    found["L1 conflicts"] = f"{activity['l1_conflicts']}, {lost:.1%} of port cycles"
    found["DMA busy"] = f"{activity['dma_busy'] / cycles:.1%} of cycles"
    found["DMA beats"] = f"{activity['dma_writes']}"
    found["simulated cycles a second"] = f"{run.cycles / max(run.seconds, 1e-6):.0f}"
    return found


def fpu_utilisation(core: CoreCounts, cycles: int, config: ClusterConfig) -> float:
    """Share of all bytes that floating-point lanes, or Ventaglio's, could have worked on.

    Parameters
    ----------
    core : CoreCounts
        What it did.
    cycles : int
        In so many.
    config : ClusterConfig
        Of the cluster.
    """
    worked = core.vector["float_bytes"] + core.vector["product_bytes"]
    return worked / (max(1, cycles) * config.vector.word_bytes)


#: Why lanes had nothing to work on, in words.
_IDLE = {
    "idle": "no vector instruction",
    "memory": "loads and stores",
    "products": "Ventaglio waits",
    "waits": "other vector instructions",
}


def _idle(core: CoreCounts, cycles: int, config: ClusterConfig) -> str:
    """Cycles without work by cause; the last is what cycles with work left empty."""
    lost: dict[str, float] = {text: core.vector[name] for name, text in _IDLE.items()}
    utilised = fpu_utilisation(core, cycles, config) * cycles
    lost["beats that are not full"] = core.vector["working"] - utilised
    return _shares(lost, cycles)


def _shares(lost: Mapping[str, float], cycles: int) -> str:
    """Causes that matter, the greatest first."""
    order = sorted(lost.items(), key=lambda item: -item[1])
    named = [f"{name} {_share(part / cycles)}" for name, part in order if part >= cycles / 1000]
    return ", ".join(named) or "never"


def _share(part: float) -> str:
    return f"{part:.1%}"
