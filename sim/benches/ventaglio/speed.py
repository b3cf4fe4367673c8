"""How fast the Verilated unit runs, and what cocotb and waveforms cost."""

import statistics
from collections.abc import Iterator
from pathlib import Path

from fanweave.golden.ventaglio.config import VentaglioConfig, preset
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sim.benches.ventaglio.cases import cut
from fanweave.sim.benches.ventaglio.design import harness_design
from fanweave.sim.benches.ventaglio.images import write_images
from fanweave.sim.benches.ventaglio.run import MemoryModel, Stalls, port_settings, simulate
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.runner import WaveWindow, build_root, run_bare
from fanweave.sw.traces.library import open_trace

__all__ = ["rows"]

_METRIC = "simulated_cycles_per_second"
_GOAL = 100_000
_REPEATS = 5
_CYCLE_LIMIT = 100_000_000
#: Cycles of the dump that is timed: enough to outweigh its declarations.
_DUMPED = 5_000


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Measure the speed of the default configuration on a projection of the shipped trace.

    Times are wall times from the release of reset to the end of the program: building the model,
    starting Python and loading memories come on top, once a run.

    Parameters
    ----------
    quick : bool
        Run each case once, and the waveforms not at all.
    seed : int
        Seed of the simulation; the workload is always the same.
    """
    config = preset("default")
    case = next(cut(open_trace("smollm2-layer"), config, only="gate_proj"))
    folder = build_root() / "bench" / "sim-speed"
    return list(
        _measure(case.workload, config, folder, repeats=1 if quick else _REPEATS, seed=seed)
    )


def _measure(
    workload: Workload, config: VentaglioConfig, folder: Path, *, repeats: int, seed: int
) -> Iterator[BenchRow]:
    # Taken in turns, so that a busy machine slows all of them.
    pairs = [
        (_cocotb_rate(workload, config, folder, seed=seed), _bare_rate(workload, config, folder))
        for _ in range(repeats)
    ]
    with_cocotb = statistics.median(pair[0] for pair in pairs)
    without = statistics.median(pair[1] for pair in pairs)
    yield _row("ventaglio default, cocotb", with_cocotb, goal=_GOAL)
    yield _row("ventaglio default, bare loop in C++", without)
    yield BenchRow(
        case="ventaglio default, cost of cocotb",
        metric="relative_cost",
        value=without / with_cocotb - 1,
        unit="1",
        origin="measured",
    )
    if repeats > 1:
        dumping = _cocotb_rate(workload, config, folder, seed=seed, dumped=_DUMPED)
        yield _row(f"ventaglio default, cocotb, {_DUMPED} cycles dumped", dumping)


def _row(case: str, rate: float, *, goal: float | None = None) -> BenchRow:
    return BenchRow(
        case=case, metric=_METRIC, value=rate, unit="cycles/s", goal=goal, origin="measured"
    )


def _cocotb_rate(
    workload: Workload,
    config: VentaglioConfig,
    folder: Path,
    *,
    seed: int,
    dumped: int | None = None,
) -> float:
    waves = None if dumped is None else WaveWindow(file=folder / "speed.vcd", stop=dumped)
    outcome = simulate(workload, config, folder=folder, seed=seed, waves=waves)
    return outcome.cycles / outcome.result.tests[0].seconds


def _bare_rate(workload: Workload, config: VentaglioConfig, folder: Path) -> float:
    files = write_images(workload, folder)
    settings = port_settings(
        workload, memory=MemoryModel(), stalls=Stalls(), cycle_limit=_CYCLE_LIMIT
    )
    result = run_bare(
        harness_design(config),
        cycles=_CYCLE_LIMIT,
        inputs=settings,
        until="done",
        plusargs={**files, "results": folder / "bare-results.hex"},
        folder=folder,
    )
    return result.cycles_per_second
