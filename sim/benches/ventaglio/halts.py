"""Random programs in which something is wrong that halts the unit, RTL against golden."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ventaglio import ErrorCause, IndexMode, register
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.model import ErrorState, Ventaglio
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.benches.ventaglio.batches import compare_drain
from fanweave.sim.benches.ventaglio.random_programs import random_batch
from fanweave.sim.benches.ventaglio.run import MemoryModel, Outcome, Stalls, result_bits, simulate
from fanweave.sw.ventaglio import Drain

__all__ = ["check_halt", "halting_workload"]

_PROGRAMS = 3
#: Cycles without an activation; more than any memory and stalls make the unit wait.
_TIMEOUT = 4000


def halting_workload(config: VentaglioConfig, *, seed: int) -> tuple[Workload, list[int]]:
    """Programs with rows that are shorter than their masks, or whose activations end early.

    Parameters
    ----------
    config : VentaglioConfig
        The unit.
    seed : int
        Decides everything.

    Returns
    -------
    workload : Workload
    bits : list of int
        Width of the elements that each drain gives.
    """
    generator = np.random.default_rng(seed)
    # Odd batches have no refusals, which would come before what halts earlier in the program.
    batch = random_batch(config, seed=2 * seed + 1, programs=_PROGRAMS)
    workload = batch.workload
    if generator.random() < 0.7 and workload.image.rows:
        nnz = workload.image.nnz.copy()
        masked = np.concatenate(
            [
                np.full(matrix.shape[0], matrix.index_mode is IndexMode.BITMASK)
                for program in batch.programs
                for matrix in program.matrices
            ]
        )
        some = masked & (generator.random(len(nnz)) < 0.3)
        nnz[some] = np.maximum(0, nnz[some] - generator.integers(1, 4, size=int(some.sum())))
        workload = replace(workload, image=replace(workload.image, nnz=nnz))
    else:
        kept = int(generator.integers(len(workload.activations) + 1))
        workload = replace(workload, activations=workload.activations[:kept])
    first = np.array([[register("timeout").address, _TIMEOUT]], dtype=np.uint32)
    bits = [
        result_bits(operation.target)
        for program in batch.programs
        for operation in program.operations
        if isinstance(operation, Drain) and operation.count
    ]
    return replace(workload, commands=np.concatenate([first, workload.commands])), bits


def check_halt(
    config: VentaglioConfig, *, seed: int, folder: Path, memory: MemoryModel, stalls: Stalls
) -> ErrorCause:
    """Run such programs on golden and RTL; returns the error that both have.

    Raises
    ------
    FaultError
        If the error registers, or the results before it, differ.
    """
    workload, bits = halting_workload(config, seed=seed)
    unit = Ventaglio(config, workload.image, workload.activations)
    unit.write_all(workload.commands.tolist())
    outcome = simulate(workload, config, folder=folder, memory=memory, stalls=stalls)
    found = _error_of(outcome)
    if found != unit.error:
        raise FaultError(
            f"programs of seed {seed} (run in {folder}): {found} instead of {unit.error}"
        )
    beat = 0
    # Drains behind the halt give nothing.
    for values, width in zip(unit.results, bits, strict=False):
        difference, beat = compare_drain(outcome.log, beat, values, width)
        if difference is not None:
            raise FaultError(f"programs of seed {seed} (run in {folder}): {difference}")
    if beat != len(outcome.log.counts):
        raise FaultError(
            f"programs of seed {seed} (run in {folder}): {len(outcome.log.counts)} beats of "
            f"results instead of {beat}"
        )
    return unit.error.cause


def _error_of(outcome: Outcome) -> ErrorState:
    return ErrorState(
        outcome.cause, outcome.error_row, outcome.error_element, halted=outcome.halted
    )
