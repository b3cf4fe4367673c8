"""Programs on the cluster in RTL: the engine ``rtl`` of ``fanweave run``."""

from dataclasses import replace

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.presets import find_preset
from fanweave.golden.riscv.cluster import Ending, Result, Trap
from fanweave.hw.cluster.config import PRESETS
from fanweave.sim.benches.cluster.verilated import ClusterRun, program_image, run_cluster
from fanweave.sw.kernels.engines import RunRequest

__all__ = ["measures", "memory_tohost", "run"]

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
    outcome = run_cluster(
        program_image(program, config),
        boot=program.entry,
        tohost=memory_tohost(program.symbols),
        limit=request.limit,
        config=config,
    )
    ending = _ENDINGS[outcome.ending]
    return Result(
        ending=ending,
        code=outcome.code,
        output=outcome.output,
        instructions=tuple(core.instructions for core in outcome.cores),
        hart=outcome.hart,
        pcs=tuple(core.pc for core in outcome.cores),
        trap=Trap(*outcome.trap) if ending is Ending.TRAP else None,
        measures=measures(outcome),
    )


def memory_tohost(symbols: dict[str, int]) -> int:
    """Address of ``tohost`` if it lies in memory; 0 if not, for the mailbox ends runs itself."""
    address = symbols.get("tohost", 0)
    memories = (RegionName.L1, RegionName.INSTRUCTIONS)
    inside = any(r.base <= address < r.end for r in REGIONS if r.name in memories)
    return address if inside else 0


def measures(run: ClusterRun) -> dict[str, str]:
    """What a run took, in words."""
    cycles, activity = max(1, run.cycles), run.activity
    found = {"cycles": f"{run.cycles}"}
    for number, core in enumerate(run.cores):
        name = "instructions a cycle" if len(run.cores) == 1 else f"hart {number}, a cycle"
        found[name] = f"{core.instructions / cycles:.3f}"
    lost = activity["l1_conflicts"] / max(1, activity["l1_requests"])
    found["L1 requests"] = f"{activity['l1_requests']}"
    found["L1 conflicts"] = f"{activity['l1_conflicts']}, {lost:.1%} of port cycles"
    found["DMA busy"] = f"{activity['dma_busy'] / cycles:.1%} of cycles"
    found["DMA beats"] = f"{activity['dma_writes']}"
    found["simulated cycles a second"] = f"{run.cycles / max(run.seconds, 1e-6):.0f}"
    return found
