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


def play(
    program: Program,
    *,
    config: EbpfConfig,
    events: int,
    context: bytes = b"",
    r0: int | None = None,
    budget: int = 100_000,
) -> CoreRun:
    """Handle so many events, all offered at once, the words of their contexts without a pause.

    Parameters
    ----------
    program : Program
        What runs on each.
    config : EbpfConfig
        The core.
    events : int
        How many.
    context : bytes
        Of each; whole words.
    r0 : int or None
        What each must give, if that is known.
    budget : int
        Instructions of an event.

    Raises
    ------
    FaultError
        If an event faults or gives something else, or the run takes too long.
    """
    # Only now: describing hardware is slow to import.
    from amaranth.sim import Simulator

    from fanweave.hw.ebpf.payloads import Cause
    from fanweave.sim.benches.ebpf.bare_core import BareCore

    core = BareCore(config=config)
    code = b"".join(instruction.encode() for instruction in program.instructions)
    words = [int.from_bytes(context[at : at + 8], "little") for at in range(0, len(context), 8)]
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
        ctx.set(core.events.payload.length, len(context))
        sent = decided = filled = 0
        while decided < events:
            ctx.set(core.events.valid, sent < events)
            ctx.set(core.contexts.valid, filled < events * len(words))
            if words:
                ctx.set(core.contexts.payload, words[filled % len(words)])
            if counted[1] > _CYCLE_LIMIT:
                raise FaultError(f"program {program.name!r}: no end after {_CYCLE_LIMIT} cycles")
            taken = sent < events and ctx.get(core.events.ready)
            taken_word = filled < events * len(words) and ctx.get(core.contexts.ready)
            counted[0] += ctx.get(core.instructions)
            counted[1] += 1
            if ctx.get(core.verdicts.valid):
                cause = ctx.get(core.verdicts.payload.cause)
                if cause is not Cause.NONE:
                    raise FaultError(f"program {program.name!r} ended with {cause.name}")
                if r0 is not None and ctx.get(core.verdicts.payload.r0) != r0:
                    raise FaultError(f"program {program.name!r} gives something else than {r0}")
                decided += 1
            await ctx.tick()
            sent += bool(taken)
            filled += bool(taken_word)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()
    return CoreRun(*counted)
