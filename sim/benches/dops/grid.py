"""The published grid: geometric means of total(PD) / total(Bifocal), by record and parameters."""

import math
from collections.abc import Iterable, Sequence

from fanweave.golden.dops.published import (
    PublishedCase,
    grid,
    latin_square,
    parameter_sets,
    published_cases,
)
from fanweave.golden.dops.records import record_names
from fanweave.golden.dops.simulate import Workload
from fanweave.sim.placement.jobs import Job, Outcome, Variant, run_jobs
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["case_jobs", "gains", "geometric_mean", "grid_rows", "set_variants"]


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive numbers."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def set_variants(names: Iterable[str]) -> tuple[Variant, ...]:
    """Bifocal with sets of parameters, by their names."""
    known = parameter_sets()
    return tuple(
        Variant(
            label=name, scheduler="Bifocal", parameters=tuple(sorted(vars(known[name]).items()))
        )
        for name in names
    )


def case_jobs(
    case: PublishedCase,
    record: str,
    workloads: Sequence[Workload],
    variants: tuple[Variant, ...],
) -> list[Job]:
    """One job a workload, PD among its variants; decode is sampled."""
    return [
        Job(
            model=case.model,
            platform=case.platform,
            workload=workload,
            variants=(Variant(label="PD", scheduler="PD"), *variants),
            record=record,
            elements=case.elements,
            sampled=True,
        )
        for workload in workloads
    ]


def gains(outcomes: Sequence[Outcome], label: str) -> list[float]:
    """total(PD) / total(label) of every workload that has both."""
    return [
        outcome.times["PD"].total / outcome.times[label].total
        for outcome in outcomes
        if "PD" in outcome.times and label in outcome.times
    ]


def grid_rows(
    quick: bool,
    only: str | None = None,
    *,
    record: str | None = None,
    whole: bool = False,
    newest: bool = False,
) -> list[BenchRow]:
    """Means of every case, record and set of parameters beside the published ones.

    Parameters
    ----------
    quick : bool
        The first case alone, on 16 workloads, with the newest set.
    only, record : str, optional
        Name of one case, and of one record.
    whole : bool
        All 64 workloads, and not the 16 that stand for them.
    newest : bool
        The newest set of parameters alone.
    """
    cases = [case for case in published_cases() if only in (None, case.name)]
    sets = list(parameter_sets())
    result = []
    for case in cases[:1] if quick else cases:
        published = BenchRow(
            case=f"{case.name} on {case.platform}, published",
            metric="speedup_over_pd",
            value=case.gain,
            unit="1",
            origin="literature",
        )
        result.append(published)
        chosen = sets[:1] if quick or newest else sets
        records = [name for name in record_names() if record in (None, name)]
        for name in records[:1] if quick else records:
            result += _record_rows(case, name, chosen, grid() if whole else latin_square())
    return result


def _record_rows(
    case: PublishedCase, record: str, sets: list[str], workloads: list[Workload]
) -> list[BenchRow]:
    heft = Variant(label="HEFT", scheduler="HEFT")
    outcomes = run_jobs(case_jobs(case, record, workloads, (*set_variants(sets), heft)))
    name = f"{case.name} on {case.platform}, {record}, {len(workloads)} workloads"
    values = {label: gains(outcomes, label) for label in (*sets, "HEFT")}
    if len(sets) > 1:
        values["best set of each workload"] = _best(outcomes, sets)
        values["best set or HEFT"] = _best(outcomes, [*sets, "HEFT"])
    result = [
        _row(f"{name}, {label}", "speedup_over_pd", geometric_mean(gain))
        for label, gain in values.items()
        if gain
    ]
    refused = sum("PD" not in outcome.times for outcome in outcomes)
    if refused:
        result.append(_row(f"{name}, refused", "workloads", refused, "workloads"))
    return result


def _best(outcomes: Sequence[Outcome], labels: Sequence[str]) -> list[float]:
    return [max(each) for each in zip(*(gains(outcomes, label) for label in labels), strict=True)]


def _row(case: str, metric: str, value: float, unit: str = "1") -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, origin="model")
