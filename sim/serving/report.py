"""Documents and tables of a serving run."""

import csv
import io
from collections.abc import Sequence
from typing import Any, TextIO

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.comparison import ComparedMetric
from fanweave.golden.timing.energy import ServingEnergy
from fanweave.golden.timing.metrics import PERCENTILES, ServingMetrics
from fanweave.golden.timing.slo import Attainment
from fanweave.sim.report.table import Column, format_number, print_table

__all__ = [
    "comparison_document",
    "print_comparison",
    "print_metrics",
    "requests_csv",
    "serving_document",
    "summary_rows",
    "verdict",
]

_COLUMNS = (
    "request",
    "input_tokens",
    "output_tokens",
    "arrival_s",
    "queued_s",
    "scheduled_s",
    "first_token_s",
    "last_token_s",
    "cached_tokens",
    "preemptions",
)


def serving_document(
    run: ServingRun, metrics: ServingMetrics, *, attained: Attainment | None
) -> dict[str, Any]:
    """JSON of a run."""
    document: dict[str, Any] = {
        "trace": run.trace.name,
        "requests": len(run.trace.requests),
        **metrics.document(),
    }
    if attained is not None:
        document["goodput"] = attained.goodput
        document["attained"] = attained.attained
    return document


def requests_csv(run: ServingRun) -> str:
    """One line a request: its times in seconds."""
    record, text = run.recorder, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for index, request in enumerate(run.trace.requests):
        times = (request.arrival, *record.times(index))
        writer.writerow(
            [
                request.name,
                request.input_tokens,
                request.output_tokens,
                *(f"{time // PICOSECONDS}.{time % PICOSECONDS:012d}" for time in times),
                record.cached_tokens[index],
                record.preemption_counts[index],
            ]
        )
    return text.getvalue()


def print_metrics(
    run: ServingRun,
    metrics: ServingMetrics,
    *,
    attained: Attainment | None,
    stream: TextIO,
) -> None:
    """Print a run for people."""
    columns = [Column(heading="seconds", numeric=False)]
    columns += [Column(heading=name) for name in ("mean", *(f"p{p}" for p in PERCENTILES), "+-")]
    cells = [
        [
            name,
            format_number(each.mean),
            *(format_number(each.percentiles[percent]) for percent in PERCENTILES),
            f"{metrics.spread:.0%}",
        ]
        for name, each in metrics.latencies.items()
    ]
    title = f"{run.trace.name}: {len(run.trace.requests)} requests"
    print_table(columns, cells, title=title, stream=stream)
    rows = summary_rows(metrics, attained)
    print_table([Column(heading="", numeric=False), Column(heading="")], rows, stream=stream)


def summary_rows(metrics: ServingMetrics, attained: Attainment | None) -> list[list[str]]:
    """What is not a latency, in words: name and value."""
    rows = [[name, format_number(value)] for name, value in metrics.rates.items()]
    rows += [
        [f"utilisation, {name}", f"{value:.1%}"] for name, value in metrics.utilisation.items()
    ]
    rows.append(["co_utilisation", f"{metrics.co_utilisation:.1%}"])
    rows += [
        [f"link utilisation, {name}", f"{value:.1%}"]
        for name, value in metrics.link_utilisation.items()
    ]
    for index, (peak, mean) in enumerate(zip(metrics.kv_peak, metrics.kv_mean, strict=True)):
        rows.append([f"KV memory of replica {index}, mean and peak", f"{mean:.1%}, {peak:.1%}"])
    rows.append(["cached_share", f"{metrics.cached_share:.1%}"])
    rows.append(["preemptions", format_number(metrics.preemptions)])
    if metrics.energy is not None:
        rows += _energy_rows(metrics.energy)
    if attained is not None:
        rows.append(["goodput", f"{attained.goodput:.4g} requests/s, {attained.attained:.1%}"])
    return rows


def _energy_rows(energy: ServingEnergy) -> list[list[str]]:
    without = f", without {', '.join(energy.unknown)}" if energy.unknown else ""
    return [
        [
            f"energy, {energy.origin}{without}",
            f"{format_number(energy.total_j)} J, of it idle {format_number(energy.idle_j)} J",
        ],
        ["energy for each generated token", f"{format_number(energy.per_output_token_j)} J"],
    ]


def comparison_document(rows: Sequence[ComparedMetric]) -> list[dict[str, Any]]:
    """JSON of a comparison with measured times."""
    return [
        {
            "group": row.group,
            "metric": row.metric,
            "percentile": row.percentile,
            "measured_s": row.measured_s,
            "simulated_s": row.simulated_s,
            "trivial_s": row.trivial_s,
            "error": row.error,
            "error_interval": [row.low, row.high],
            "measured_interval": [row.floor_low, row.floor_high],
            "goal": row.goal,
            "trivial_error": row.trivial_error,
            "trivial_closer_share": row.trivial_closer,
            "request_bias_s": row.request_bias,
            "request_error_s": row.request_error,
            "trivial_request_error_s": row.trivial_request_error,
        }
        for row in rows
    ]


def verdict(row: ComparedMetric) -> str:
    """Whether a goal is reached, and what else there is to know."""
    if abs(row.error) > row.goal:
        return "missed, in noise" if row.within_floor else "missed"
    if abs(row.trivial_error) < abs(row.error):
        return f"reached; trivial is nearer, in {row.trivial_closer:.0%} of samples"
    return "reached"


def print_comparison(rows: Sequence[ComparedMetric], *, stream: TextIO) -> None:
    """Print a comparison with measured times, beside the trivial model."""
    columns = [
        Column(heading="", numeric=False),
        *(
            Column(heading=heading)
            for heading in ("p", "measured s", "simulated s", "error", "95%", "trivial")
        ),
        Column(heading="goal", numeric=False),
    ]
    cells = [
        [
            f"{row.metric}, {row.group}",
            str(row.percentile),
            format_number(row.measured_s),
            format_number(row.simulated_s),
            f"{row.error:+.1%}",
            f"{row.low:+.0%} {row.high:+.0%}",
            f"{row.trivial_error:+.0%}",
            f"{row.goal:.0%} {verdict(row)}",
        ]
        for row in rows
    ]
    print_table(columns, cells, title="against the measured server", stream=stream)
    single = [
        [
            f"{row.metric}, {row.group}",
            f"{row.request_bias:+.4g}",
            format_number(row.request_error),
            format_number(row.trivial_request_error),
        ]
        for row in rows
        if row.percentile == PERCENTILES[0]
    ]
    headings = ("mean signed", "mean absolute", "trivial, absolute")
    columns = [Column(heading="errors of single requests, s", numeric=False)]
    columns += [Column(heading=heading) for heading in headings]
    print_table(columns, single, stream=stream)
