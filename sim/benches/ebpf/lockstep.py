"""Plays programs on the core and on the golden machine, and compares every event."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fanweave.golden.ebpf.config import PRESETS, EbpfConfig
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.presets import find_preset
from fanweave.sim.benches.ebpf.random_programs import random_program
from fanweave.sim.coverage.ebpf import hits_of
from fanweave.sim.coverage.store import record

__all__ = ["Batch", "Decided", "check", "play", "run_events"]

#: A program, and a context for each event.
Batch = tuple[Program, Sequence[bytes]]

_PROGRAMS = 40
_BUDGET = 120
#: Cycles that a word of a context comes late.
_GAPS = (0, 0, 0, 0, 1, 2, 3, 5, 20)


class Decided(NamedTuple):
    """What became of an event.

    Attributes
    ----------
    r0, cause, instructions : int
        As of `Verdict`.
    context : bytes or None
        As the program left it, if the core returns it.
    """

    r0: int
    cause: int
    instructions: int
    context: bytes | None


def check(
    batches: Sequence[Batch],
    *,
    config: EbpfConfig,
    budget: int = _BUDGET,
    gaps: random.Random | None = None,
) -> set[FaultCause]:
    """Compare result, cause and count of every event, and its context if the core returns it.

    Parameters
    ----------
    batches : sequence of Batch
        A program stays loaded until all its events are decided; they share the pipeline.
    config : EbpfConfig
        The core.
    budget : int
        Instructions of an event.
    gaps : random.Random, optional
        Decides how late each word of a context comes; none does by default.

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
        batches, run_events(batches, config, budget, gaps), strict=True
    ):
        for tag, context in enumerate(contexts):
            after = bytearray(context)
            outcome = Machine(budget=budget).run(program, after)
            expected = Decided(
                outcome.r0,
                outcome.fault.value,
                outcome.instructions,
                bytes(after) if config.returns_context else None,
            )
            if found.get(tag) != expected:
                raise FaultError(
                    f"program {program.name!r}, event {tag} with context {context.hex() or 'none'}:"
                    f" it is {found.get(tag)}; golden has {expected}"
                )
            causes.add(outcome.fault)
    return causes


def run_events(
    batches: Sequence[Batch],
    config: EbpfConfig,
    budget: int,
    gaps: random.Random | None = None,
) -> list[dict[int, Decided]]:
    """What the core makes of each event, by program and tag."""
    # Only now: describing hardware is slow to import.
    from amaranth.sim import Simulator

    from fanweave.hw.stream.testing import stream_get, stream_put
    from fanweave.sim.benches.ebpf.bare_core import BareCore

    core = BareCore(config=config)
    verdicts: list[dict[int, Decided]] = []

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
                    for _ in range(gaps.choice(_GAPS) if gaps else 0):
                        await ctx.tick()
                    await stream_put(ctx, core.contexts, word)
            while len(verdicts) == number:
                await ctx.tick()

    async def collect(ctx: Any) -> None:
        for _, contexts in batches:
            found = {}
            for _ in contexts:
                verdict = await stream_get(ctx, core.verdicts)
                length = len(contexts[verdict.tag])
                after = None
                if config.returns_context:
                    words = [await stream_get(ctx, core.contexts_after) for _ in _rows(length)]
                    after = b"".join(word.to_bytes(8, "little") for word in words)[:length]
                found[verdict.tag] = Decided(
                    verdict.r0, verdict.cause.value, verdict.instructions, after
                )
            verdicts.append(found)

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.add_testbench(collect)
    simulator.run()
    return verdicts


def _words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 8], "little") for at in _rows(len(data))]


def _rows(length: int) -> range:
    return range(0, length, 8)


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak: random programs on random contexts, whose words come late at times.

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
    chosen = find_preset("ebpf", name, PRESETS)
    generator = random.Random(seed)
    batches = []
    for _ in range(_PROGRAMS):
        sizes = generator.choices([0, 1, 8, 31, 32], k=6)
        program = random_program(generator.getrandbits(48))
        batches.append((program, [generator.randbytes(size) for size in sizes]))
    used = replace(chosen, returns_context=True)
    causes = check(batches, config=used, budget=_BUDGET, gaps=generator)
    record("ebpf", hits_of(batches, budget=_BUDGET))
    ended = ", ".join(sorted(cause.name for cause in causes))
    return f"{name}: {_PROGRAMS} programs on 6 contexts each; events ended with {ended}"
