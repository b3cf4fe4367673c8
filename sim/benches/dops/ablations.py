"""What Bifocal's terms and layouts of weights bring, on 16 workloads of the grid or 4 of them."""

from fanweave.golden.dops.published import (
    ABLATIONS,
    latin_square,
    layout_gains,
    published_cases,
)
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.registry import LAYOUT_NAMES
from fanweave.sim.benches.dops.grid import case_jobs, gains, geometric_mean
from fanweave.sim.placement.jobs import Variant, run_jobs
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["ablation_rows", "layout_rows"]

_PLATFORM = "hp32"
#: Layouts matter only where conversions cost something, which is this record.
_LAYOUT_RECORD = "trace"


def ablation_rows(
    quick: bool, only: str | None = None, *, record: str | None = None
) -> list[BenchRow]:
    """Latency without a term over latency with all, geometric means, by case and record.

    Parameters
    ----------
    quick : bool
        The first case and record alone, on 4 workloads.
    only, record : str, optional
        Name of one case, and of one record.
    """
    result = []
    cases = [case for case in published_cases() if only in (None, case.name)]
    records = [name for name in record_names() if record in (None, name)]
    for case in cases[:1] if quick else cases:
        for name in records[:1] if quick else records:
            full = vars(load_record(name).bifocal)
            variants = [Variant(label="all terms", scheduler="Bifocal")]
            variants += [
                Variant(
                    label=label,
                    scheduler="Bifocal",
                    parameters=tuple(sorted({**full, **changed}.items())),
                )
                for label, changed in ABLATIONS.items()
            ]
            outcomes = run_jobs(
                case_jobs(case, name, latin_square()[:: 5 if quick else 1], tuple(variants))
            )
            base = geometric_mean(gains(outcomes, "all terms"))
            for label in ABLATIONS:
                value = base / geometric_mean(gains(outcomes, label)) - 1
                where = f"{case.name} on {case.platform}, {name}, {label}"
                result.append(_row(where, "latency_increase", value))
    return result


def layout_rows(quick: bool, only: str | None = None) -> list[BenchRow]:
    """Gain of other layouts over linear ones, under the conversions of `layouts`.

    One layout for all weights, and what a search over blocks of layers finds for Bifocal.
    """
    low, high = layout_gains()
    result = [
        BenchRow(
            case=f"published, layout arbiter over linear weights, {word}",
            metric="speedup_over_linear",
            value=value,
            unit="1",
            origin="literature",
        )
        for word, value in (("low", low), ("high", high))
    ]
    # The published study searches for its own scheduler alone.
    names = {
        scheduler: [n for n in LAYOUT_NAMES if scheduler == "Bifocal" or "searched" not in n]
        for scheduler in ("PD", "Bifocal")
    }
    variants = tuple(
        Variant(label=f"{scheduler}, {name}", scheduler=scheduler, layouts=name)
        for scheduler, known in names.items()
        for name in known
    )
    cases = [
        case
        for case in published_cases()
        if case.platform == _PLATFORM and only in (None, case.name)
    ]
    for case in cases[:1] if quick else cases:
        outcomes = run_jobs(
            case_jobs(case, _LAYOUT_RECORD, latin_square()[:: 5 if quick else 1], variants)
        )
        for scheduler, known in names.items():
            linear = gains(outcomes, f"{scheduler}, linear")
            for layout in known[1:]:
                label = f"{scheduler}, {layout}"
                pairs = zip(gains(outcomes, label), linear, strict=True)
                value = geometric_mean([one / other for one, other in pairs])
                name = f"{case.name} on {case.platform}, {_LAYOUT_RECORD}, {label}"
                result.append(_row(name, "speedup_over_linear", value))
    return result


def _row(case: str, metric: str, value: float) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit="1", origin="model")
