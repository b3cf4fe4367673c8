"""How busy the classic programs keep the core when frames come without a pause."""

from dataclasses import replace

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.errors import FaultError
from fanweave.sim.benches.ebpf.core_run import CoreRun, play
from fanweave.sw.ebpf.programs.cases import FrameCase
from fanweave.sw.ebpf.programs.library import BUDGET, build_program

__all__ = ["HXDP_INSTRUCTIONS_PER_CYCLE", "classic_load"]

#: Least and most of the programs of hXDP's authors, on an FPGA with four lanes at 156 MHz
#: (Brunella and others, hXDP: Efficient Software Packet Processing on FPGA NICs, OSDI 2020). None
#: of them is a program of ours.
HXDP_INSTRUCTIONS_PER_CYCLE = (1.70, 2.83)


def classic_load(case: FrameCase, *, events: int) -> CoreRun:
    """Offer the same frame again and again to the default core.

    Parameters
    ----------
    case : FrameCase
        Program and frame.
    events : int
        How many frames.

    Raises
    ------
    FaultError
        If a frame does not give what it must.
    """
    (program,) = build_program(case.program).programs
    # Memory for this program is enough, and is simulated faster.
    config = replace(PRESETS["default"], slots=256)
    if len(program.program.slots) > config.slots:
        raise FaultError(f"{case}: the program does not fit {config.slots} slots")
    return play(
        program.program,
        config=config,
        events=events,
        context=case.context,
        r0=case.r0,
        budget=BUDGET,
    )
