"""One HTML page about a serving run, which needs nothing from afar."""

import html
from collections.abc import Sequence

from fanweave.golden.dops.explain import Explanation
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.comparison import ComparedMetric
from fanweave.golden.timing.metrics import PERCENTILES, ServingMetrics
from fanweave.golden.timing.slo import Attainment
from fanweave.sim.placement.explanation import explanation_table
from fanweave.sim.report.html_parts import (
    LANES_HELP,
    LANES_SCRIPT,
    cell,
    colour_key,
    document,
    lane_style,
    table,
)
from fanweave.sim.report.table import format_number
from fanweave.sim.serving import pictures
from fanweave.sim.serving.report import summary_rows, verdict

__all__ = ["serve_page"]


def serve_page(
    run: ServingRun,
    metrics: ServingMetrics,
    *,
    attained: Attainment | None = None,
    compared: Sequence[ComparedMetric] = (),
    explanation: Explanation | None = None,
) -> str:
    """The page: latencies, timeline, requests, memory, utilisation, energy, comparison.

    Parameters
    ----------
    run : ServingRun
        Served with `keep_steps`.
    metrics : ServingMetrics
        Of the run.
    attained : Attainment, optional
    compared : sequence of ComparedMetric
        Beside a measured server.
    explanation : Explanation, optional
        Why an operator is where it is.
    """
    title = f"serving {run.trace.name}"
    spread = f"times are +-{metrics.spread:.0%}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{len(run.trace.requests):,} requests in {metrics.makespan_s:.4g} s, "
        f"{metrics.steps:,} steps; {spread}.</p>",
        "<h2>Latency</h2>",
        _latencies(metrics),
        "<p>Share of the requests whose latency is at most so long.</p>",
        pictures.latencies(run),
        "<h2>Totals</h2>",
        table(
            [cell(name), cell(value, numeric=True)]
            for name, value in summary_rows(metrics, attained)
        ),
        "<h2>Timeline</h2>",
        LANES_HELP,
        colour_key(pictures.KINDS),
        pictures.step_lanes(run),
        "<h2>Requests</h2>",
        pictures.requests(run),
        "<h2>Utilisation</h2>",
        pictures.utilisation(run),
        "<h2>Memory</h2>",
        "<p>Share of the blocks of the cache that requests hold.</p>",
        pictures.memory(run),
    ]
    if compared:
        parts += ["<h2>Against the measured server</h2>", _comparison(compared)]
    if explanation is not None:
        parts += ["<h2>Why it is there</h2>", _explanation(explanation)]
    style = lane_style(pictures.KINDS.values())
    return document(title, parts, style=style, script=LANES_SCRIPT)


def _latencies(metrics: ServingMetrics) -> str:
    rows = [
        [
            cell(name),
            cell(format_number(each.mean), numeric=True),
            *(cell(format_number(each.percentiles[p]), numeric=True) for p in PERCENTILES),
        ]
        for name, each in metrics.latencies.items()
    ]
    return table(rows, headings=["seconds", "mean", *(f"p{p}" for p in PERCENTILES)])


def _comparison(rows: Sequence[ComparedMetric]) -> str:
    headings = ("", "p", "measured s", "simulated s", "error", "one constant", "goal", "")
    cells = [
        [
            cell(f"{row.metric}, {row.group}"),
            cell(str(row.percentile), numeric=True),
            cell(format_number(row.measured_s), numeric=True),
            cell(format_number(row.simulated_s), numeric=True),
            cell(f"{row.error:+.1%}", numeric=True),
            cell(f"{row.trivial_error:+.1%}", numeric=True),
            cell(f"{row.goal:.0%}", numeric=True),
            cell(verdict(row)),
        ]
        for row in rows
    ]
    return table(cells, headings=headings)


def _explanation(explanation: Explanation) -> str:
    made = explanation_table(explanation)
    rows = [
        [cell(device), *(cell(number, numeric=True) for number in numbers), cell(note)]
        for device, *numbers, note in made.rows
    ]
    return f"<p>{html.escape(made.title)}</p>{table(rows, headings=made.headings)}"
