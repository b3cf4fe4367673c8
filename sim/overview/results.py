"""Reads what runs left in the build folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanweave.golden.errors import InputError
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["Results", "load_results"]

_QUICK = ".quick"


@dataclass(frozen=True, kw_only=True)
class Results:
    """What there is to show.

    Attributes
    ----------
    rows : dict of str to list of BenchRow
        By benchmark; of a quick run only where there was no other.
    seeds : dict of str to list of str
        What a benchmark was run with, in words.
    layers : list of dict
        Rows of the last trace through the Ventaglio unit.
    trace : dict
        The other entries of that document, such as ``config``.
    loop : dict
        The document of the last loop; empty if there is none.
    files : dict of str to list of Path
        Waveforms, documents and Verilog, by kind.
    """

    rows: dict[str, list[BenchRow]] = field(default_factory=dict)
    seeds: dict[str, list[str]] = field(default_factory=dict)
    layers: list[dict[str, Any]] = field(default_factory=list)
    trace: dict[str, Any] = field(default_factory=dict)
    loop: dict[str, Any] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)


def load_results(root: Path) -> Results:
    """Read a build folder.

    Parameters
    ----------
    root : Path
        What is missing in it is left out.

    Raises
    ------
    InputError
        If a document in it is broken.
    """
    results = Results()
    for path in _documents(root / "bench"):
        document = _read(path)
        name, quick = _entry(document, "name", path), path.stem.endswith(_QUICK)
        if quick and name in results.rows:
            continue
        rows = [_row(entry, path) for entry in _entry(document, "rows", path)]
        results.rows.setdefault(name, []).extend(rows)
        words = f"seed {_entry(document, 'seed', path)}{', quick' if quick else ''}"
        results.seeds.setdefault(name, []).append(words)
    trace = root / "sim" / "ventaglio" / "result.json"
    if trace.is_file():
        document = _read(trace)
        results.layers.extend(_entry(document, "rows", trace))
        results.trace.update({key: value for key, value in document.items() if key != "rows"})
    loop = root / "system" / "loop.json"
    if loop.is_file():
        results.loop.update(_read(loop))
        for key in ("rounds", "changes", "best", "rows", "costs"):
            _entry(results.loop, key, loop)
    for kind, pattern in (
        ("Waveforms", "sim/**/*.vcd"),
        ("Results", "sim/**/*.json"),
        ("Loops", "system/*.json"),
        ("Benchmarks", "bench/*.json"),
        ("Placements", "place/*.html"),
        ("Timelines, for Perfetto", "place/*.perfetto.json"),
        ("Verilog", "verilog/**/*.v"),
    ):
        found = sorted(root.glob(pattern))
        if found:
            results.files[kind] = found
    return results


def _documents(folder: Path) -> Iterator[Path]:
    """Documents of whole runs first."""
    yield from sorted(folder.glob("*.json"), key=lambda path: (path.stem.endswith(_QUICK), path))


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(
            f"result {path} cannot be read: {error}; remove it or run again"
        ) from error
    if not isinstance(document, dict):
        raise InputError(f"result {path} must be a JSON object; remove it or run again")
    return document


def _entry(document: dict[str, Any], key: str, path: Path) -> Any:
    if key not in document:
        raise InputError(f"result {path} has no {key!r}; remove it or run again")
    return document[key]


def _row(entry: Any, path: Path) -> BenchRow:
    try:
        return BenchRow(**entry)
    except TypeError as error:
        raise InputError(f"result {path}: {error}; remove it or run again") from error
