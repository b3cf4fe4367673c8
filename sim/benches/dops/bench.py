"""Imitation beside what is published: recorded runs, ties, the grid, ablations, layouts."""

import csv
import functools
from collections.abc import Callable
from pathlib import Path

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.dops.published import LOG_WORKLOADS, TRACE_WORKLOAD, published_cases
from fanweave.golden.dops.records import record_names
from fanweave.golden.dops.schedulers.static import STATIC
from fanweave.golden.errors import InputError
from fanweave.sim.benches.dops.ablations import ablation_rows, layout_rows
from fanweave.sim.benches.dops.grid import grid_rows
from fanweave.sim.benches.dops.online import online_rows
from fanweave.sim.benches.dops.waterfall import waterfall_rows
from fanweave.sim.placement.jobs import Job, Outcome, Variant, run_jobs
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["rows"]

_SEEDS = 20
#: The log's own schedulers; it has no all-NPU.
_LOGGED = tuple(name for name in STATIC if name != "all-NPU")
_PREFILL_GOAL, _STATIC_GOAL, _BIFOCAL_GOAL = 1e-4, 0.01, 0.1
_OPERATOR_GOAL = 0.05
#: Rows of the log over this ratio show that it is not PD's schedule that comes out.
_TELLING = 1.4


def rows(
    quick: bool, seed: int, part: str | None = None, reference: Path | None = None
) -> list[BenchRow]:
    """Times of the recorded workloads, gains over PD on the published grid, and what they rest on.

    Parameters
    ----------
    quick : bool
        The small model and 16 workloads alone.
    seed : int
        The first of the 20 seeds of ties, and of those of steps that are served online.
    part : str, optional
        ``log``, ``ties``, ``trace``, ``grid``, ``grid:CASE`` or ``grid:CASE:RECORD`` (16
        workloads that stand for 64), ``grid64:CASE:RECORD`` (all of them),
        ``newest64:CASE:RECORD`` (all of them with the newest parameters alone), ``layouts``,
        ``layouts:CASE``, or ``ablations`` or ``waterfall``, alone or with ``:CASE`` or
        ``:CASE:RECORD``, or ``online`` (our own scheduler against static plans in hindsight);
        all but the 64 if not given.
    reference : Path, optional
        Folder with the recorded values, ``log.csv``, ``trace.csv`` and ``trace_totals.csv``;
        errors are printed beside times then.

    Raises
    ------
    InputError
        If there is no such part or case, or the folder cannot be read.
    """
    parts: dict[str, Callable[[], list[BenchRow]]] = {
        "log": lambda: _log_rows(quick, reference),
        "ties": lambda: _tie_rows(quick, seed),
        "trace": lambda: _trace_rows(quick, reference),
        "grid": lambda: grid_rows(quick),
        "ablations": lambda: ablation_rows(quick),
        "layouts": lambda: layout_rows(quick),
        "waterfall": lambda: waterfall_rows(quick),
        "online": lambda: online_rows(quick, seed),
    }
    if part is None:
        return [row for each in parts.values() for row in each()]
    for case in published_cases():
        one = functools.partial(grid_rows, quick, case.name)
        falls = functools.partial(waterfall_rows, quick, case.name)
        lacks = functools.partial(ablation_rows, quick, case.name)
        parts[f"waterfall:{case.name}"] = falls
        parts[f"ablations:{case.name}"] = lacks
        parts[f"layouts:{case.name}"] = functools.partial(layout_rows, quick, case.name)
        parts[f"grid:{case.name}"] = one
        for record in record_names():
            parts[f"grid:{case.name}:{record}"] = functools.partial(one, record=record)
            parts[f"waterfall:{case.name}:{record}"] = functools.partial(falls, record=record)
            parts[f"ablations:{case.name}:{record}"] = functools.partial(lacks, record=record)
            whole = functools.partial(one, record=record, whole=True)
            parts[f"grid64:{case.name}:{record}"] = whole
            parts[f"newest64:{case.name}:{record}"] = functools.partial(whole, newest=True)
    if part not in parts:
        raise InputError(f"part {part!r} is not known; use one of {', '.join(parts)}")
    return parts[part]()


def _recorded(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _log_jobs(quick: bool, variants: tuple[Variant, ...], *, sampled: bool) -> list[Job]:
    return [
        Job(
            model=model,
            platform="hp32",
            workload=workload,
            variants=variants,
            record="log",
            sampled=sampled,
        )
        for model, workload in (LOG_WORKLOADS[:2] if quick else LOG_WORKLOADS)
    ]


def _name(job: Job) -> str:
    work = job.workload
    return f"{job.record}, {job.model} {work.batch} x ({work.prefill}+{work.decode})"


def _log_rows(quick: bool, reference: Path | None) -> list[BenchRow]:
    """Times of every row of the log, and their errors."""
    variants = tuple(Variant(label=name, scheduler=name) for name in (*_LOGGED, "Bifocal"))
    known: dict[tuple[str, ...], dict[str, str]] = {}
    if reference is not None:
        for line in _recorded(reference / "log.csv"):
            key = (line["model"], line["batch"], line["prefill"], line["decode"])
            known[(*key, line["scheduler"])] = line
    result: list[BenchRow] = []
    for outcome in run_jobs(_log_jobs(quick, variants, sampled=False)):
        result += _log_case(outcome, known)
    return result


def _log_case(outcome: Outcome, known: dict[tuple[str, ...], dict[str, str]]) -> list[BenchRow]:
    job, result = outcome.job, []
    work = job.workload
    sizes = (job.model, str(work.batch), str(work.prefill), str(work.decode))
    pd = float(known[(*sizes, "PD")]["total_s"]) if known else 0.0
    for label, times in outcome.times.items():
        case = f"{_name(job)}, {label}"
        if label in ("PD", "Bifocal"):
            result.append(_row(case, "prefill_s", times.prefill / PICOSECONDS, unit="s"))
        result.append(_row(case, "total_s", times.total / PICOSECONDS, unit="s"))
        if not known:
            continue
        line = known[(*sizes, label)]
        stored = float(line["total_s"])
        if label == "PD":
            error = abs(times.prefill / PICOSECONDS - float(line["prefill_s"]))
            result.append(_row(f"{case}, prefill", "latency_error", error, _PREFILL_GOAL, "s"))
        goal = _BIFOCAL_GOAL if label == "Bifocal" else _STATIC_GOAL
        if label == "Bifocal" and pd / stored > _TELLING:
            case += f" (PD/Bifocal over {_TELLING})"
        error = abs(times.total / PICOSECONDS / stored - 1)
        result.append(_row(f"{case}, total", "latency_error", error, goal))
    return result


def _tie_rows(quick: bool, seed: int) -> list[BenchRow]:
    """Spread of Bifocal's totals over seeds of ties, largest over least."""
    variants = tuple(
        Variant(label=str(each), scheduler="Bifocal", seed=each)
        for each in range(seed, seed + (2 if quick else _SEEDS))
    )
    result = []
    for outcome in run_jobs(_log_jobs(quick, variants, sampled=True)):
        totals = [times.total for times in outcome.times.values()]
        case = f"{_name(outcome.job)}, Bifocal, {len(totals)} seeds of ties"
        result.append(_row(case, "tie_spread", max(totals) / min(totals) - 1))
    return result


def _trace_rows(quick: bool, reference: Path | None) -> list[BenchRow]:
    """Totals of the traced workload; the errors of operators are those of a transcription."""
    model, workload = TRACE_WORKLOAD
    names = ("PD", "Bifocal")
    variants = tuple(Variant(label=name, scheduler=name) for name in names)
    job = Job(
        model=model,
        platform="hp32",
        workload=workload,
        variants=variants,
        record="trace",
        sampled=quick,
    )
    (outcome,) = run_jobs([job])
    stored = {}
    if reference is not None:
        lines = _recorded(reference / "trace_totals.csv")
        stored = {line["scheduler"]: float(line["total_s"]) for line in lines}
    result = []
    for name in names:
        case, total = f"{_name(job)}, {name}", outcome.times[name].total / PICOSECONDS
        result.append(_row(case, "total_s", total, unit="s"))
        if stored:
            error = abs(total / stored[name] - 1)
            goal = _OPERATOR_GOAL if name == "PD" else _BIFOCAL_GOAL
            result.append(_row(f"{case}, total", "latency_error", error, goal))
    gain = outcome.times["PD"].total / outcome.times["Bifocal"].total
    result.append(_row(f"{_name(job)}, Bifocal", "speedup_over_pd", gain))
    return result


def _row(
    case: str, metric: str, value: float, goal: float | None = None, unit: str = "1"
) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, goal=goal, origin="model")
