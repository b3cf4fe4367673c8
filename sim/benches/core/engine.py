"""Programs of the cluster on the scalar core in RTL: the engine ``rtl`` of ``fanweave run``."""

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.riscv.cluster import Ending, Result, Trap
from fanweave.sim.benches.core.verilated import run_core
from fanweave.sw.kernels.engines import RunRequest

__all__ = ["run"]

_ENDINGS = {
    "pass": Ending.PASS,
    "fail": Ending.FAIL,
    "trap": Ending.TRAP,
    "halt": Ending.TRAP,
    "limit": Ending.LIMIT,
}


def run(request: RunRequest) -> Result:
    """Run a program on one core; vector instructions are illegal and the DMA is missing.

    The limit counts cycles.

    Raises
    ------
    InputError
        If the program needs more harts or other memory than there is, or the core does not build.
    FaultError
        If the simulation fails.
    """
    program = request.program
    if request.harts != 1:
        raise InputError(f"harts is {request.harts}; engine rtl has one core")
    image = []
    for part in program.segments:
        if not part.size:
            continue
        inside = any(
            region.base <= part.address and part.address + part.size <= region.end
            for region in REGIONS
            if region.name in (RegionName.L1, RegionName.INSTRUCTIONS)
        )
        if not inside:
            raise InputError(
                f"{program.name} puts {part.size} bytes at {part.address:#x}; engine rtl has the "
                "data memory and the instructions only"
            )
        image.append((part.address, part.data.ljust(part.size, b"\0")))
    outcome = run_core(
        image,
        boot=program.entry,
        tohost=program.symbols.get("tohost", 0),
        limit=request.limit,
    )
    ending = _ENDINGS[outcome.ending]
    return Result(
        ending=ending,
        code=outcome.code,
        output=outcome.output,
        instructions=(outcome.instructions,),
        hart=0,
        pcs=(outcome.pc,),
        trap=Trap(*outcome.trap) if ending is Ending.TRAP else None,
    )
