"""Runs a case, compares it with golden, and on a mismatch finds and records where it began."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ventaglio import ErrorCause
from fanweave.golden.ventaglio import model
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.cycles import MemoryModel
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.benches.ventaglio.run import Outcome, Stalls, result_bits, simulate
from fanweave.sim.benches.ventaglio.settings import DUMP_OFFSET
from fanweave.sim.benches.ventaglio.signals import write_save_file
from fanweave.sim.runner.cocotb_run import WaveWindow
from fanweave.sim.waves.expected import Observation, write_expected

__all__ = ["Mismatch", "find_mismatch", "record_mismatch", "verify"]

#: Cycles shown before and after the first wrong element left the unit.
_BEFORE, _AFTER = 400, 40


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """The first element, in time, that differs.

    Attributes
    ----------
    drain : int
        Number of the drain that it came from.
    token, column : int
        Its place in the product.
    expected, got : int
        Bit patterns.
    cycle : int
        When it left the unit.
    """

    drain: int
    token: int
    column: int
    expected: int
    got: int
    cycle: int

    def __str__(self) -> str:
        return (
            f"drain {self.drain}, token {self.token}, column {self.column}: "
            f"expected {self.expected:#010x}, got {self.got:#010x}, at cycle {self.cycle}"
        )


def verify(
    workload: Workload,
    config: VentaglioConfig,
    *,
    folder: Path,
    memory: MemoryModel,
    stalls: Stalls,
    expected: np.ndarray | None = None,
    seed: int = 0,
) -> Outcome:
    """Run a workload and compare every bit of the product with golden.

    Parameters
    ----------
    workload : Workload
        What the unit is given.
    config : VentaglioConfig
        The unit.
    folder : Path
        Where the files of the run go.
    memory, stalls
        Surroundings of the unit.
    expected : ndarray, uint32 [tokens, columns], optional
        The product; the golden model's unless given.
    seed : int
        Seed of the simulation.

    Raises
    ------
    FaultError
        If an element differs or the unit reports an error. Waveforms of the moment, and of
        what golden expected, are then in the folder ``mismatch`` beside the run's files.
    """
    if expected is None:
        expected = model.run(workload, config)
    outcome = simulate(workload, config, folder=folder, memory=memory, stalls=stalls, seed=seed)
    if outcome.cause is not ErrorCause.NONE:
        raise FaultError(
            f"the unit reports {outcome.cause.name} at row {outcome.error_row}, element "
            f"{outcome.error_element} (run in {folder})"
        )
    mismatch = find_mismatch(outcome, workload, expected)
    if mismatch is None:
        return outcome
    where = record_mismatch(
        mismatch,
        outcome,
        workload,
        config,
        expected=expected,
        folder=folder / "mismatch",
        memory=memory,
        stalls=stalls,
        seed=seed,
    )
    raise FaultError(f"first difference: {mismatch}\nopen with: gtkwave {where}")


def find_mismatch(outcome: Outcome, workload: Workload, expected: np.ndarray) -> Mismatch | None:
    """The first element that differs, or None."""
    bits = result_bits(workload.result_format)
    got = outcome.log.elements(bits)
    cycles = outcome.log.element_cycles(bits)
    start = 0
    for number, tile in enumerate(workload.drains):
        size = tile.outputs * tile.width
        rows = slice(tile.token, tile.token + tile.outputs)
        columns = slice(tile.column, tile.column + tile.width)
        wanted = expected[rows, columns].reshape(-1)
        found = got[start : start + size]
        if len(found) < size:
            raise FaultError(f"drain {number} gave {len(found)} elements; expected {size}")
        wrong = np.flatnonzero(found != wanted)
        if wrong.size:
            at = int(wrong[0])
            row, column = divmod(at, tile.width)
            return Mismatch(
                drain=number,
                token=tile.token + row,
                column=tile.column + column,
                expected=int(wanted[at]),
                got=int(found[at]),
                cycle=int(cycles[start + at]),
            )
        start += size
    return None


def record_mismatch(
    mismatch: Mismatch,
    outcome: Outcome,
    workload: Workload,
    config: VentaglioConfig,
    *,
    expected: np.ndarray,
    folder: Path,
    memory: MemoryModel,
    stalls: Stalls,
    seed: int,
) -> Path:
    """Run again with waves around the mismatch; returns the GTKWave save file."""
    offset = DUMP_OFFSET
    start = max(mismatch.cycle + offset - _BEFORE, 0)
    window = WaveWindow(
        file=folder / "window.vcd", start=start, stop=mismatch.cycle + offset + _AFTER
    )
    simulate(workload, config, folder=folder, memory=memory, stalls=stalls, waves=window, seed=seed)
    bits = result_bits(workload.result_format)
    cycles = outcome.log.element_cycles(bits)
    got = outcome.log.elements(bits)
    wanted = np.concatenate(
        [
            expected[
                tile.token : tile.token + tile.outputs, tile.column : tile.column + tile.width
            ].reshape(-1)
            for tile in workload.drains
        ]
    )
    lanes = config.beat_bits // bits
    shown = np.flatnonzero((cycles + offset >= start) & (cycles <= mismatch.cycle + _AFTER))
    write_expected(
        folder / "expected.vcd",
        [
            Observation(
                cycle=int(cycles[i]) + offset,
                name=f"element_{i % lanes}",
                expected=int(wanted[i]),
                got=int(got[i]),
            )
            for i in shown
        ],
        width=bits,
    )
    return write_save_file(
        window.file, config, marker=(mismatch.cycle + offset), window=(window.start, window.stop)
    )
