"""Runs a workload on the RTL and compares it with the golden model."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import ErrorCause
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.cycles import MemoryModel
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.benches.ventaglio.design import harness_design
from fanweave.sim.benches.ventaglio.images import ResultLog, read_results, write_images
from fanweave.sim.benches.ventaglio.settings import STREAMS
from fanweave.sim.runner.cocotb_run import RunResult, Simulator, WaveWindow, run

__all__ = [
    "MemoryModel",
    "Outcome",
    "Stalls",
    "port_settings",
    "result_bits",
    "results_of",
    "simulate",
]


@dataclass(frozen=True, kw_only=True)
class Stalls:
    """Random stalls on every stream.

    Attributes
    ----------
    probability : int
        Chance in 1/256 a cycle to hold a stream back, 0 to 255.
    seed : int
        Seed of the stalls.
    """

    probability: int = 0
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run of the RTL gave.

    Attributes
    ----------
    cycles : int
        Cycles from the first command to the last result.
    counters : dict of str to int
        Counters of the unit.
    cause : ErrorCause
        Contents of the error register, with ``error_row``, ``error_element`` and ``halted``.
    log : ResultLog
        Result beats with their cycles.
    result : RunResult
        Files and times of the simulation.
    """

    cycles: int
    counters: dict[str, int]
    cause: ErrorCause
    error_row: int
    error_element: int
    halted: bool
    log: ResultLog
    result: RunResult = field(repr=False)


def simulate(
    workload: Workload,
    config: VentaglioConfig,
    *,
    folder: Path,
    memory: MemoryModel | None = None,
    stalls: Stalls | None = None,
    cycle_limit: int = 100_000_000,
    waves: WaveWindow | None = None,
    seed: int = 0,
    simulator: Simulator = "verilator",
) -> Outcome:
    """Run a workload on the unit's RTL.

    Parameters
    ----------
    workload : Workload
        What the unit is given.
    config : VentaglioConfig
        The unit.
    folder : Path
        Where the files of the run go.
    memory : MemoryModel, optional
        How the memory answers.
    stalls : Stalls, optional
        Random stalls; none unless given.
    cycle_limit : int
        Bound of the run.
    waves : WaveWindow, optional
        Dump these cycles.
    seed : int
        Seed of the simulation.
    simulator : str
        ``verilator`` or ``icarus``.

    Raises
    ------
    FaultError
        If the run does not end within its bound or breaks a stream's protocol.
    """
    memory = memory or MemoryModel()
    stalls = stalls or Stalls()
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = write_images(workload, folder)
    results = folder / "results.hex"
    outcome_file = folder / "outcome.json"
    for stale in (results, outcome_file):
        stale.unlink(missing_ok=True)
    settings = port_settings(workload, memory=memory, stalls=stalls, cycle_limit=cycle_limit)
    result = run(
        harness_design(config),
        test_module="fanweave.sim.benches.ventaglio.play",
        results_dir=folder,
        plusargs={**files, "results": results},
        env={"FANWEAVE_SETTINGS": json.dumps(settings), "FANWEAVE_OUTCOME": str(outcome_file)},
        waves=waves,
        seed=seed,
        simulator=simulator,
    ).check()
    raw = json.loads(outcome_file.read_text())
    broken = [name for i, name in enumerate(STREAMS) if raw["violations"] >> i & 1]
    if broken:
        raise FaultError(f"stream protocol broken on {', '.join(broken)} (run in {folder})")
    if raw["expired"]:
        raise FaultError(
            f"the program did not end within {cycle_limit} cycles (run in {folder}); counters: "
            + json.dumps(raw["counters"])
        )
    error = raw["error"]
    return Outcome(
        cycles=raw["cycles"],
        counters=raw["counters"],
        cause=ErrorCause(error["cause"]),
        error_row=error["row"],
        error_element=error["element"],
        halted=bool(error["halted"]),
        log=read_results(results, config.beat_bits),
        result=result,
    )


def port_settings(
    workload: Workload, *, memory: MemoryModel, stalls: Stalls, cycle_limit: int
) -> dict[str, int]:
    """Values of the bench's ports, which hold during a run."""
    return {
        "command_count": len(workload.commands),
        "activation_count": len(workload.activations),
        "latency": memory.latency,
        "shared_port": int(memory.ports == "shared"),
        "stall_probability": stalls.probability,
        "stall_seed": stalls.seed,
        "cycle_limit": cycle_limit,
    }


def result_bits(result_format: ElementFormat | None) -> int:
    """Width of a result element in bits."""
    return 32 if result_format is None else result_format.bits


def results_of(outcome: Outcome, workload: Workload) -> np.ndarray:
    """The product [tokens, columns] as the RTL gave it."""
    return workload.gather(outcome.log.elements(result_bits(workload.result_format)))
