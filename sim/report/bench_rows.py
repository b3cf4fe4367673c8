"""The one form of every benchmark's result."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from fanweave.golden.errors import InputError
from fanweave.golden.origins import ORIGINS, Origin
from fanweave.sim.report.files import write_json
from fanweave.sim.report.table import Column, format_number, print_table

__all__ = ["ORIGINS", "BenchRow", "Origin", "bench_document", "print_bench", "write_bench"]

_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
#: Metrics whose goal is an upper limit; every other goal is a lower one.
_LESS_IS_BETTER = frozenset(
    {
        "area_ge",
        "area_share",
        "cycle_model_error",
        "cycles",
        "gap_to_optimum",
        "latency_error",
        "map_cycles",
        "p99_cycles",
    }
)


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """One measured number.

    Attributes
    ----------
    case
        What was measured, such as ``"2:4 fp32 two rows"``.
    metric
        Name in snake_case; the shared names are those of the benchmarks' description.
    value
        Finite number.
    unit
        ``"1"`` for ratios and shares, SI symbols, or a counted thing such as ``"cycles"``.
    goal
        Value to reach (to stay under, for the metrics where less is better), or None.
    origin
        Where the value comes from: rtl, model, measured, literature or assumed.

    Raises
    ------
    InputError
        If a field is not of this form.
    """

    case: str
    metric: str
    value: float
    unit: str
    goal: float | None = None
    origin: Origin

    def __post_init__(self) -> None:
        if not self.case:
            raise InputError("benchmark row: case must not be empty")
        if not _SNAKE.fullmatch(self.metric):
            raise InputError(f"benchmark row: metric {self.metric!r} must be in snake_case")
        for name in ("value", "goal"):
            number = getattr(self, name)
            if name == "goal" and number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise InputError(
                    f"benchmark row {self.case!r}: {name} {number!r} must be a Python number"
                )
            if not math.isfinite(number):
                raise InputError(f"benchmark row {self.case!r}: {name} {number!r} must be finite")
        if not self.unit:
            raise InputError(f"benchmark row {self.case!r}: unit must not be empty; a ratio is '1'")
        if self.origin not in ORIGINS:
            raise InputError(
                f"benchmark row {self.case!r}: origin {self.origin!r} must be one of "
                f"{', '.join(ORIGINS)}"
            )

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        if self.metric in _LESS_IS_BETTER:
            return self.value <= self.goal
        return self.value >= self.goal


def bench_document(name: str, *, seed: int, rows: Sequence[BenchRow]) -> dict[str, Any]:
    """Return the JSON document of a benchmark."""
    return {"name": name, "seed": seed, "rows": [asdict(row) for row in rows]}


def write_bench(path: Path | str, name: str, *, seed: int, rows: Sequence[BenchRow]) -> None:
    """Write the JSON document of a benchmark to a file, or to standard output for ``-``."""
    write_json(path, bench_document(name, seed=seed, rows=rows))


def print_bench(
    name: str, *, seed: int, rows: Sequence[BenchRow], stream: TextIO | None = None
) -> None:
    """Print the rows of a benchmark as a table."""
    words = {None: "", True: "reached", False: "missed"}
    columns = [
        Column(heading="case", numeric=False),
        Column(heading="metric", numeric=False),
        Column(heading="value"),
        Column(heading="unit", numeric=False),
        Column(heading="goal"),
        Column(heading="", numeric=False),
        Column(heading="origin", numeric=False),
    ]
    cells = [
        [
            row.case,
            row.metric,
            format_number(row.value),
            "" if row.unit == "1" else row.unit,
            "" if row.goal is None else _goal(row),
            words[row.met],
            row.origin,
        ]
        for row in rows
    ]
    print_table(columns, cells, title=f"bench {name}, seed {seed}", stream=stream)


def _goal(row: BenchRow) -> str:
    assert row.goal is not None
    sign = "<=" if row.metric in _LESS_IS_BETTER else ">="
    return f"{sign} {format_number(row.goal)}"
