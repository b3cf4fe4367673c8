"""The page itself."""

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fanweave.sim.loop.page import loop_section
from fanweave.sim.overview.charts import CAUSES, gain_chart, shares_chart, stalls_chart
from fanweave.sim.overview.published import best_row, published_figures
from fanweave.sim.overview.results import Results
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.report.html_parts import cell, colour_key, disclosure, document, table
from fanweave.sim.report.table import format_number

__all__ = ["overview_page"]

_STYLE = """
.rtl::before, .model::before, .measured::before, .literature::before, .assumed::before {
  content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .4em; }
.rtl::before { background: #0072b2; } .model::before { background: #009e73; }
.measured::before { background: #e69f00; } .literature::before { background: #999; }
.assumed::before { background: #d55e00; }
.missed { font-weight: 700; }
"""
_ORIGINS = {
    "rtl": "counted in RTL",
    "model": "computed by a model",
    "measured": "measured on a machine",
    "literature": "published by others",
    "assumed": "assumed",
}
_WORDS = {None: "", True: "reached", False: "missed"}


def overview_page(results: Results, folder: Path) -> str:
    """The page.

    Parameters
    ----------
    results : Results
    folder : Path
        Where it will be, for its links.
    """
    parts = [
        "<h1>Fanweave: what was measured</h1>",
        _origins(),
        "<h2>Beside published figures</h2>",
        _headline(results),
        *_layers(results),
        *(loop_section(results.loop) if results.loop else ()),
        "<h2>Benchmarks</h2>",
        *_benches(results),
        *_files(results, folder),
    ]
    return document("Fanweave: what was measured", parts, style=_STYLE)


def _origins() -> str:
    words = (f'<span class="{name}">{text}</span>' for name, text in _ORIGINS.items())
    return f'<p class="key">Where a number comes from: {" ".join(words)}</p>'


def _origin(row: BenchRow) -> str:
    return f'<td><span class="{row.origin}">{row.origin}</span></td>'


def _headline(results: Results) -> str:
    rows = []
    for figure in published_figures():
        row = best_row(figure, results.rows)
        first = [cell(figure.title), cell(format_number(figure.published), numeric=True)]
        last = cell(figure.source)
        if row is None:
            wanted = f"not measured yet: fanweave bench {figure.bench}"
            rows.append([*first, cell(""), cell(wanted), cell(""), last])
            continue
        word = "better" if figure.beaten_by(row.value) else "worse"
        value = cell(format_number(row.value), numeric=True)
        rows.append([*first, value, cell(f"{word}: {row.case}"), _origin(row), last])
    return table(rows, headings=["", "published", "here", "", "origin", "source"])


def _layers(results: Results) -> Iterable[str]:
    rows = results.layers
    if not rows:
        return
    trace, exact = results.trace, "bit-exact" if results.trace["bit_exact"] else "NOT bit-exact"
    yield "<h2>A sparse layer through Ventaglio</h2>"
    yield (
        f"<p>{html.escape(_source(trace['trace']))}; configuration "
        f"{html.escape(str(trace['config']))}, in RTL, {exact}. The bars are shares of the "
        "roofline of each product.</p>"
    )
    yield shares_chart(rows)
    yield "<h3>Where the cycles went</h3>"
    yield colour_key(dict(CAUSES.values()))
    yield stalls_chart(rows)
    yield "<h3>Gain over dense</h3><p>The line is what leaving out products could give at most.</p>"
    yield gain_chart(rows)
    yield disclosure("All numbers", _layer_table(rows))


def _source(trace: Mapping[str, str]) -> str:
    return f"Model {trace.get('model', 'unknown')}, {trace.get('origin', 'of unknown origin')}"


def _layer_table(rows: Sequence[dict[str, Any]]) -> str:
    columns = ("cycles", "bound_cycles", "roofline_share", "lanes_busy", "speedup_over_dense")
    cells = []
    for row in rows:
        conflicts = row["counters"]["conflicts"]
        numbers = [*(row[name] for name in columns), conflicts]
        words = [cell(str(row[name])) for name in ("projection", "phase", "format", "layout")]
        cells.append([*words, *(cell(format_number(n), numeric=True) for n in numbers)])
    headings = ["projection", "phase", "format", "layout", "cycles", "bound", "share", "lanes busy"]
    return table(cells, headings=[*headings, "over dense", "conflicts"])


def _benches(results: Results) -> Iterable[str]:
    if not results.rows:
        yield "<p>None was run yet: <code>fanweave bench NAME</code>.</p>"
    for name, rows in sorted(results.rows.items()):
        with_goal = [row for row in rows if row.met is not None]
        reached = sum(row.met is True for row in with_goal)
        runs = "; ".join(results.seeds[name])
        summary = f"{name} ({runs}): {reached} of {len(with_goal)} goals reached"
        yield disclosure(summary, _bench_table(rows))


def _bench_table(rows: Sequence[BenchRow]) -> str:
    cells = []
    for row in rows:
        goal = "" if row.goal is None else format_number(row.goal)
        missed = ' class="missed"' if row.met is False else ""
        cells.append(
            [
                cell(row.case),
                cell(row.metric),
                cell(format_number(row.value), numeric=True),
                cell("" if row.unit == "1" else row.unit),
                cell(goal, numeric=True),
                f"<td{missed}>{_WORDS[row.met]}</td>",
                _origin(row),
            ]
        )
    return table(cells, headings=["case", "metric", "value", "unit", "goal", "", "origin"])


def _files(results: Results, folder: Path) -> Iterable[str]:
    if not results.files:
        return
    yield "<h2>Files</h2>"
    for kind, paths in results.files.items():
        links = "".join(
            f'<li><a href="{html.escape(os.path.relpath(path, folder), quote=True)}">'
            f"{html.escape(path.name)}</a> in {html.escape(path.parent.name)}</li>"
            for path in paths
        )
        yield disclosure(f"{kind}: {len(paths)}", f"<ul>{links}</ul>")
