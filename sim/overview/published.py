"""Published figures, and the rows of benchmarks that answer them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from typing import Literal

from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["PublishedFigure", "best_row", "published_figures"]


@dataclass(frozen=True, kw_only=True)
class PublishedFigure:
    """A figure that others published.

    Attributes
    ----------
    title : str
        What is compared.
    bench, case, metric : str
        Benchmark, pattern of cases, and metric of the rows that measure the same.
    published : float
        Their figure, in the unit of the rows.
    better : {"less", "more"}
        Which side wins.
    source : str
        Whose figure it is.
    """

    title: str
    bench: str
    case: str
    metric: str
    published: float
    better: Literal["less", "more"]
    source: str

    def beaten_by(self, value: float) -> bool:
        """Whether a value is at least as good."""
        return value <= self.published if self.better == "less" else value >= self.published


def published_figures() -> list[PublishedFigure]:
    """All of them, as ``published.toml`` lists them."""
    text = resources.files(__package__).joinpath("published.toml").read_text()
    return [PublishedFigure(**entry) for entry in tomllib.loads(text)["figure"]]


def best_row(figure: PublishedFigure, rows: Mapping[str, Sequence[BenchRow]]) -> BenchRow | None:
    """The best row that measures what a figure says; None if nothing was measured.

    Parameters
    ----------
    figure : PublishedFigure
    rows : mapping of str to sequence of BenchRow
        By benchmark.
    """
    found = [
        row
        for row in rows.get(figure.bench, ())
        if row.metric == figure.metric and fnmatchcase(row.case, figure.case)
    ]
    choose = min if figure.better == "less" else max
    return choose(found, key=lambda row: row.value, default=None)
