"""Random programs on random configurations and surroundings, RTL against golden."""

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import PRESETS, VentaglioConfig
from fanweave.sim.benches.ventaglio.batches import check_batch
from fanweave.sim.benches.ventaglio.halts import check_halt
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sim.benches.ventaglio.run import MemoryModel, Stalls
from fanweave.sim.coverage.store import record
from fanweave.sim.coverage.ventaglio import hits_of
from fanweave.sim.runner import build_root

__all__ = ["CONFIGURATIONS", "play", "surroundings"]

_F = ElementFormat
#: Presets, and configurations at the ends of what is allowed.
CONFIGURATIONS: dict[str, VentaglioConfig] = {
    **PRESETS,
    "least": VentaglioConfig(
        formats=(_F.FP32,),
        beat_bits=64,
        accumulators=8,
        banks=2,
        window=1,
        max_outputs=1,
        accumulate_latency=1,
        mask_columns=32,
        row_queue=2,
    ),
    "one-entry": VentaglioConfig(
        formats=(_F.E4M3, _F.INT8), beat_bits=64, accumulators=16, banks=16, mask_columns=64
    ),
    "small": VentaglioConfig(beat_bits=64, accumulators=64, mask_columns=64),
    "slow": VentaglioConfig(
        formats=(_F.FP16, _F.INT8),
        beat_bits=64,
        accumulators=64,
        window=4,
        max_outputs=8,
        accumulate_latency=4,
        mask_columns=32,
        row_queue=3,
    ),
}
_PROGRAMS = 100
#: Short runs of what may halt the unit.
_HALTS = 4
#: Chance that a round plays each configuration; the big ones are slow to build and to run.
_ODDS = {"default": 1, "double": 1, "quad": 1, "fp32": 2, "fp16": 2}


def play(seed: int, config: str | None = None) -> str:
    """Play one round.

    Parameters
    ----------
    seed : int
        Decides everything.
    config : str, optional
        Name in `CONFIGURATIONS`; by default the seed chooses.

    Returns
    -------
    str
        What was played.

    Raises
    ------
    FaultError
        If a bit, a counter or an error register differs.
    InputError
        If there is no such configuration.
    """
    generator = np.random.default_rng(seed)
    names = sorted(CONFIGURATIONS)
    odds = np.array([_ODDS.get(name, 4) for name in names], dtype=float)
    chosen = str(generator.choice(names, p=odds / odds.sum()))
    name = chosen if config is None else config
    if name not in CONFIGURATIONS:
        raise InputError(f"unknown configuration {name!r}; choose one of {', '.join(names)}")
    memory, stalls = surroundings(generator)
    folder = build_root() / "soak" / "ventaglio" / name
    batch = random_batch(CONFIGURATIONS[name], seed=seed, programs=_PROGRAMS)
    outcome = check_batch(
        batch,
        CONFIGURATIONS[name],
        folder=folder,
        memory=memory,
        stalls=stalls,
    )
    causes = [
        check_halt(
            CONFIGURATIONS[name],
            seed=seed * _HALTS + number,
            folder=folder / "halt",
            memory=memory,
            stalls=stalls,
        )
        for number in range(_HALTS)
    ]
    record(
        "ventaglio",
        hits_of(
            batch.workload,
            CONFIGURATIONS[name],
            stall_probability=stalls.probability,
            causes=[outcome.cause, *causes],
        ),
    )
    operations = sum(len(program.operations) for program in batch.programs)
    ends = ", ".join(cause.name for cause in causes)
    return (
        f"{name}, {memory.ports} ports, latency {memory.latency}, stalls {stalls.probability}/256: "
        f"{operations} operations, {outcome.cycles} cycles; errors {ends}"
    )


def surroundings(generator: np.random.Generator) -> tuple[MemoryModel, Stalls]:
    """A memory and stalls at random."""
    memory = MemoryModel(
        ports="shared" if generator.random() < 0.5 else "split",
        latency=int(generator.choice([1, 2, 4, 9, 40])),
    )
    stalls = Stalls(
        probability=int(generator.choice([0, 20, 100, 200])), seed=int(generator.integers(1 << 31))
    )
    return memory, stalls
