"""Runs batches of random programs on the RTL and compares all that leaves with golden."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.model import ErrorState, Ventaglio
from fanweave.sim.benches.ventaglio.images import ResultLog
from fanweave.sim.benches.ventaglio.random_programs import Batch
from fanweave.sim.benches.ventaglio.run import MemoryModel, Outcome, Stalls, result_bits, simulate
from fanweave.sim.runner.cocotb_run import Simulator
from fanweave.sw.ventaglio import Drain

__all__ = ["Expectation", "check_batch", "compare", "compare_drain", "expectation"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Expectation:
    """What golden makes of a batch.

    Attributes
    ----------
    results : tuple of ndarray
        Raw elements of each drain that gives any.
    origins : tuple of (int, int)
        Program and operation of each of these drains.
    bits : tuple of int
        Width of their elements.
    error : ErrorState
        Error registers in the end.
    counters : dict of str to int
        Counters that do not depend on time.
    """

    results: tuple[np.ndarray, ...]
    origins: tuple[tuple[int, int], ...]
    bits: tuple[int, ...]
    error: ErrorState
    counters: dict[str, int]


def expectation(batch: Batch, config: VentaglioConfig) -> Expectation:
    """Run a batch on the functional model."""
    workload = batch.workload
    unit = Ventaglio(config, workload.image, workload.activations)
    origins: list[tuple[int, int]] = []
    bits: list[int] = []
    for (address, data), origin in zip(
        workload.commands.tolist(), batch.origins.tolist(), strict=True
    ):
        unit.write(address, data)
        if len(unit.results) > len(bits):
            program, number = origin
            drain = batch.programs[program].operations[number]
            assert isinstance(drain, Drain)
            origins.append((program, number))
            bits.append(result_bits(drain.target))
    return Expectation(
        results=tuple(unit.results),
        origins=tuple(origins),
        bits=tuple(bits),
        error=unit.error,
        counters=dict(unit.counters),
    )


def check_batch(
    batch: Batch,
    config: VentaglioConfig,
    *,
    folder: Path,
    memory: MemoryModel | None = None,
    stalls: Stalls | None = None,
    simulator: Simulator = "verilator",
) -> Outcome:
    """Run a batch on golden and RTL.

    Parameters
    ----------
    batch : Batch
        The programs.
    config : VentaglioConfig
        The unit.
    folder : Path
        Where the files of the run go.
    memory, stalls, simulator : optional
        Surroundings of the unit, and what runs it, as in `simulate`.

    Raises
    ------
    FaultError
        If a bit, a counter or the error registers differ; the message names program and
        operation.
    """
    expected = expectation(batch, config)
    outcome = simulate(
        batch.workload,
        config,
        folder=folder,
        memory=memory,
        stalls=stalls,
        cycle_limit=200_000 + 4_000 * len(batch.programs),
        simulator=simulator,
    )
    difference = compare(outcome, expected, batch)
    if difference is not None:
        raise FaultError(f"{difference} (run in {folder})")
    return outcome


def compare(outcome: Outcome, expected: Expectation, batch: Batch) -> str | None:
    """Say what differs first, or None."""
    beat = 0
    for values, origin, bits in zip(expected.results, expected.origins, expected.bits, strict=True):
        difference, beat = compare_drain(outcome.log, beat, values, bits)
        if difference is not None:
            program, number = origin
            operations = batch.programs[program].operations[: number + 1]
            listing = "\n".join(f"  {i}: {operation}" for i, operation in enumerate(operations))
            return (
                f"program {program} of seed {batch.programs[program].seed}, operation {number}: "
                f"{difference}\n{listing}\n"
            )
    if beat != len(outcome.log.counts):
        return f"{len(outcome.log.counts) - beat} beats of results after the last drain"
    error = ErrorState(
        outcome.cause, outcome.error_row, outcome.error_element, halted=outcome.halted
    )
    if error != expected.error:
        return f"error registers: expected {expected.error}, got {error}"
    for name, value in expected.counters.items():
        if outcome.counters[name] != value:
            return f"counter {name}: expected {value}, got {outcome.counters[name]}"
    parts = sum(value for name, value in outcome.counters.items() if name.startswith("cycles_"))
    if parts != outcome.counters["cycles"]:
        return f"the causes of cycles add up to {parts}, not to {outcome.counters['cycles']}"
    return None


def compare_drain(
    log: ResultLog, beat: int, values: np.ndarray, bits: int
) -> tuple[str | None, int]:
    """Compare one drain with the beats from `beat` on.

    Parameters
    ----------
    log : ResultLog
        What left the unit.
    beat : int
        First beat of the drain.
    values : ndarray, uint32
        Its elements.
    bits : int
        Width of one.

    Returns
    -------
    str or None
        The first difference.
    int
        The beat behind it.
    """
    per_beat = log.data.shape[1] * 8 // bits
    beats = -(-len(values) // per_beat)
    stop = beat + beats
    if stop > len(log.counts):
        return f"only {len(log.counts) - beat} of {beats} beats of results", stop
    padded = np.zeros(beats * per_beat, dtype=np.uint32)
    padded[: len(values)] = values
    got = np.ascontiguousarray(log.data[beat:stop]).view(f"<u{bits // 8}").reshape(-1)
    wrong = np.flatnonzero(got != padded)
    if wrong.size:
        at = int(wrong[0])
        return (
            f"element {at} of {len(values)}: expected {int(padded[at]):#x}, got {int(got[at]):#x}, "
            f"at cycle {int(log.cycles[beat + at // per_beat])}",
            stop,
        )
    counts = np.full(beats, per_beat)
    counts[-1] = len(values) - (beats - 1) * per_beat
    if not np.array_equal(log.counts[beat:stop], counts):
        return f"beats with {log.counts[beat:stop].tolist()} elements; expected {counts}", stop
    if log.last[beat:stop].tolist() != [False] * (beats - 1) + [True]:
        return f"last is {log.last[beat:stop].tolist()}", stop
    return None, stop
