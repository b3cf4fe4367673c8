"""The first published gain, term by term down to the one of sound mode, by record."""

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.published import latin_square, published_cases
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.waterfall import waterfall
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["waterfall_rows"]


def waterfall_rows(quick: bool) -> list[BenchRow]:
    """The published gain, what each step adds, and the gain of sound mode.

    Parameters
    ----------
    quick : bool
        Four workloads of 16, and the first record alone.
    """
    case = published_cases()[0]
    result = []
    for name in record_names()[:1] if quick else record_names():
        found = waterfall(
            case.gain,
            load_model(case.model),
            load_platform(case.platform),
            latin_square()[:: 5 if quick else 1],
            load_record(name),
            elements=case.elements,
            sampled=True,
        )
        where = f"{case.name} on {case.platform}, {name}"
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
    return result
