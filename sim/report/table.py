"""Tables for people, readable at 100 columns."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

__all__ = ["WIDTH", "Column", "format_number", "print_table"]

#: Width of every table.
WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its heading, and whether it holds numbers (aligned right) or words."""

    heading: str
    numeric: bool = True


def format_number(value: float, *, digits: int = 4) -> str:
    """Return a number as people write it: 1,234,567 or 0.9512 or 1.2e-09."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    if abs(value) >= 1e-3:
        return f"{value:.{digits}g}"
    return f"{value:.{digits - 1}e}"


def print_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    stream: TextIO | None = None,
) -> None:
    """Print a table; cells that do not fit are folded, never cut.

    Parameters
    ----------
    columns
        The columns.
    rows
        As many cells a row as there are columns.
    title
        Line above the table.
    stream
        Standard output if not given.
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    for column in columns:
        table.add_column(
            column.heading,
            justify="right" if column.numeric else "left",
            overflow="fold",
        )
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"table row {row!r} has {len(row)} cells, not {len(columns)}")
        table.add_row(*row)
    # No markup: cells hold text such as [1:0].
    console = Console(file=stream or sys.stdout, width=WIDTH, markup=False, highlight=False)
    console.print(table)
