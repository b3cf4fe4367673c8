"""The published gains, term by term down to those of sound mode, by case and record."""

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.published import latin_square, published_cases
from fanweave.golden.dops.records import DEFAULT_RECORD, load_record
from fanweave.golden.dops.waterfall import waterfall
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["waterfall_rows"]


def waterfall_rows(
    quick: bool, only: str | None = None, *, record: str = DEFAULT_RECORD
) -> list[BenchRow]:
    """The published gain, what each step adds, and the gain of sound mode.

    Parameters
    ----------
    quick : bool
        The first case alone, on one workload of the four.
    only : str, optional
        Name of one case.
    record : str
        Where the steps begin.
    """
    cases = [case for case in published_cases() if only in (None, case.name)]
    result = []
    for case in cases[:1] if quick else cases:
        found = waterfall(
            case.gain,
            load_model(case.model),
            load_platform(case.platform),
            latin_square()[: 1 if quick else None : 5],
            load_record(record),
            elements=case.elements,
            sampled=True,
        )
        where = f"{case.name} on {case.platform}, {record}"
        values = (("published", found.published), *found.terms, ("sound", found.sound))
        ends = ("published", "sound")
        result += [
            BenchRow(
                case=f"{where}, {word}",
                metric="speedup_over_pd" if word in ends else "speedup_term",
                value=value / 1e6,
                unit="1",
                origin="literature" if word == "published" else "model",
            )
            for word, value in values
        ]
        result.append(
            BenchRow(
                case=f"{where}, workloads that fit at every step",
                metric="workloads",
                value=found.workloads,
                unit="workloads",
                origin="model",
            )
        )
        result += [
            BenchRow(
                case=f"{where}, left out, {each}",
                metric="workloads",
                value=1,
                unit="workloads",
                origin="model",
            )
            for each in found.refused
        ]
    return result
