"""What a change does: the metrics of a run beside those of another one that were kept as JSON."""

import json
import math
from pathlib import Path
from typing import Any, TextIO

from fanweave.golden.errors import InputError
from fanweave.sim.report.table import Column, format_number, print_table

__all__ = ["differences", "print_differences", "read_document"]

#: Where times are in a document of metrics.
_TIMES = "latencies_s"


def read_document(path: str) -> dict[str, Any]:
    """Read what ``fanweave serve --json`` wrote.

    Raises
    ------
    InputError
        If it cannot be read or is no such document.
    """
    try:
        document = json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get(_TIMES), dict):
        raise InputError(
            f"{path} has no {_TIMES!r}; give a file that 'fanweave serve --json' wrote"
        )
    return document


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Numbers that both runs have: name, before, after; times and rates, shares and counts.

    Parameters
    ----------
    before, after : dict
        Documents of ``fanweave serve``.

    Raises
    ------
    InputError
        If they are of different traces: then a difference says nothing about the server.
    """
    for key in ("trace", "requests"):
        if before.get(key) != after.get(key):
            raise InputError(
                f"the runs to compare differ in {key}: {before.get(key)!r} and {after.get(key)!r};"
                " serve the same requests in both"
            )
    numbers = dict(_numbers(before))
    return [
        (name, numbers[name], value)
        for name, value in _numbers(after)
        if name in numbers and name != "requests"
    ]


def _numbers(document: dict[str, Any], inside: str = "") -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for key, value in document.items():
        name = key if key == _TIMES or not inside else f"{inside} {key}"
        if isinstance(value, dict):
            found += _numbers(value, "" if name == _TIMES else name)
        elif isinstance(value, list):
            found += [
                (f"{name} {index}", float(each))
                for index, each in enumerate(value)
                if isinstance(each, int | float)
            ]
        elif isinstance(value, int | float) and not name.endswith("count"):
            found.append((name, float(value)))
    return found


def print_differences(rows: list[tuple[str, float, float]], *, stream: TextIO) -> None:
    """Print numbers of two runs, and how much the second one has more."""
    headings = ("before", "now", "difference", "relative")
    columns = [Column(heading="", numeric=False), *(Column(heading=each) for each in headings)]
    cells = [
        [
            name,
            format_number(before),
            format_number(after),
            f"{after - before:+.4g}",
            f"{after / before - 1:+.1%}" if before else "",
        ]
        for name, before, after in rows
        if not math.isclose(before, after, rel_tol=1e-12)
    ]
    same = len(rows) - len(cells)
    print_table(columns, cells, title=f"against the other run; {same} are the same", stream=stream)
