"""Plays events on the core in Amaranth's simulator and counts cycles."""

from dataclasses import dataclass
from typing import Any

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError

__all__ = ["CoreRun", "play"]

_CYCLE_LIMIT = 200_000


@dataclass(frozen=True)
class CoreRun:
    """What a run took: from the first event to the last verdict, fill and way out included."""

    instructions: int
    cycles: int


def play(program: Program, *, config: EbpfConfig, events: int, budget: int = 100_000) -> CoreRun:
    """Handle so many events without a context, all offered at once.

    Parameters
    ----------
    program : Program
        What runs on each.
    config : EbpfConfig
        The core.
    events : int
        How many.
    budget : int
        Instructions of an event.

    Raises
    ------
    FaultError
        If an event faults, or the run takes too long.
    """
    # Only now: describing hardware is slow to import.
    from amaranth.sim import Simulator

    from fanweave.hw.ebpf.payloads import Cause
    from fanweave.sim.benches.ebpf.bare_core import BareCore

    core = BareCore(config=config)
    code = b"".join(instruction.encode() for instruction in program.instructions)
    counted: list[int] = [0, 0]

    async def host(ctx: Any) -> None:
        ctx.set(core.program.valid, 1)
        for slot in range(len(code) // 8):
            word = int.from_bytes(code[8 * slot : 8 * slot + 8], "little")
            ctx.set(core.program.payload, {"slot": slot, "word": word})
            await ctx.tick()
        ctx.set(core.program.valid, 0)
        ctx.set(core.program_slots, len(code) // 8)
        ctx.set(core.budget, budget)
        ctx.set(core.verdicts.ready, 1)
        sent = decided = 0
        while decided < events:
            ctx.set(core.events.valid, sent < events)
            if counted[1] > _CYCLE_LIMIT:
                raise FaultError(f"program {program.name!r}: no end after {_CYCLE_LIMIT} cycles")
            taken = sent < events and ctx.get(core.events.ready)
            counted[0] += ctx.get(core.instructions)
            counted[1] += 1
            if ctx.get(core.verdicts.valid):
                cause = ctx.get(core.verdicts.payload.cause)
                if cause is not Cause.NONE:
                    raise FaultError(f"program {program.name!r} ended with {cause.name}")
                decided += 1
            await ctx.tick()
            sent += bool(taken)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()
    return CoreRun(*counted)
