"""Plays programs on the core and on the golden machine, and compares every event."""

import random
from collections.abc import Sequence
from typing import Any

from fanweave.golden.ebpf.config import PRESETS, EbpfConfig
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.random_programs import random_program

__all__ = ["Batch", "check", "play", "run_events"]

#: A program, and a context for each event.
Batch = tuple[Program, Sequence[bytes]]

_PROGRAMS = 40


def check(batches: Sequence[Batch], *, config: EbpfConfig, budget: int = 120) -> set[FaultCause]:
    """Compare result, cause and count of every event.

    Parameters
    ----------
    batches : sequence of Batch
        A program stays loaded until all its events are decided; they share the pipeline.
    config : EbpfConfig
        The core.
    budget : int
        Instructions of an event.

    Returns
    -------
    set of FaultCause
        How events ended.

    Raises
    ------
    FaultError
        If an event differs; the message names program, event, and both outcomes.
    """
    causes = set()
    for (program, contexts), found in zip(
        batches, run_events(batches, config, budget), strict=True
    ):
        for tag, context in enumerate(contexts):
            outcome = Machine(budget=budget).run(program, context)
            expected = (outcome.r0, outcome.fault.value, outcome.instructions)
            if found.get(tag) != expected:
                raise FaultError(
                    f"program {program.name!r}, event {tag} with context {context.hex() or 'none'}:"
                    f" (r0, cause, instructions) is {found.get(tag)}; golden has {expected}"
                )
            causes.add(outcome.fault)
    return causes


def run_events(
    batches: Sequence[Batch], config: EbpfConfig, budget: int
) -> list[dict[int, tuple[int, int, int]]]:
    """Verdicts of the core (r0, cause, instructions), by program and tag."""
    # Only now: describing hardware is slow to import.
    from amaranth.sim import Simulator

    from fanweave.hw.stream.testing import stream_get, stream_put
    from fanweave.sim.benches.ebpf.bare_core import BareCore

    core = BareCore(config=config)
    verdicts: list[dict[int, tuple[int, int, int]]] = []

    async def host(ctx: Any) -> None:
        for number, (program, contexts) in enumerate(batches):
            code = b"".join(instruction.encode() for instruction in program.instructions)
            for slot, word in enumerate(_words(code)):
                await stream_put(ctx, core.program, {"slot": slot, "word": word})
            ctx.set(core.program_slots, len(code) // 8)
            ctx.set(core.budget, budget)
            for tag, context in enumerate(contexts):
                await stream_put(ctx, core.events, {"length": len(context), "tag": tag})
                for word in _words(context):
                    await stream_put(ctx, core.contexts, word)
            while len(verdicts) == number:
                await ctx.tick()

    async def collect(ctx: Any) -> None:
        for _, contexts in batches:
            found = {}
            for _ in contexts:
                verdict = await stream_get(ctx, core.verdicts)
                found[verdict.tag] = (verdict.r0, verdict.cause.value, verdict.instructions)
            verdicts.append(found)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.add_testbench(collect)
    simulator.run()
    return verdicts


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak: random programs on random contexts.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Preset; ``tiny`` by default, which is quick to simulate.

    Raises
    ------
    FaultError
        If an event differs.
    InputError
        If there is no such preset.
    """
    name = config or "tiny"
    if name not in PRESETS:
        raise InputError(
            f"unknown preset {name!r} of unit ebpf; choose one of {', '.join(sorted(PRESETS))}"
        )
    generator = random.Random(seed)
    batches = []
    for _ in range(_PROGRAMS):
        sizes = generator.choices([0, 1, 8, 31, 32], k=6)
        program = random_program(generator.getrandbits(48))
        batches.append((program, [generator.randbytes(size) for size in sizes]))
    causes = check(batches, config=PRESETS[name])
    ended = ", ".join(sorted(cause.name for cause in causes))
    return f"{name}: {_PROGRAMS} programs on 6 contexts each; events ended with {ended}"
