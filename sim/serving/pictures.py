"""Pictures of a serving run as SVG: its steps, requests, memory, utilisation and latencies."""

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.timing.cluster import ServingRun
from fanweave.sim.report.html_parts import Box, lanes
from fanweave.sim.report.line_chart import Points, line_chart

__all__ = ["KINDS", "latencies", "memory", "requests", "step_lanes", "utilisation"]

#: Kinds of steps, with their colours.
KINDS = {"prefill": "#0072b2", "mixed": "#e69f00", "decode": "#009e73"}
#: Most steps that are drawn one by one; of more, neighbours of one kind become one box.
_MOST_BOXES = 4000
_BINS = 200
_POINTS = 500
#: Latencies that are drawn, by the columns of times between which they lie: arrival, queued,
#: scheduled, first and last token.
_LATENCIES = {"queue_wait": (1, 2), "ttft": (0, 3), "end_to_end": (0, 4)}


def _start(run: ServingRun) -> int:
    return run.trace.requests[0].arrival


def _end(run: ServingRun) -> int:
    return max(run.recorder.last_at)


def _times(run: ServingRun) -> np.ndarray:
    """Arrival, queued, scheduled, first and last token of each request, picoseconds."""
    record = run.recorder
    arrivals = [request.arrival for request in run.trace.requests]
    columns = (arrivals, record.queued_at, record.scheduled_at, record.first_at, record.last_at)
    return np.array(columns, np.int64).T


def _boxes(run: ServingRun) -> Iterator[Box]:
    """One a step and stage; of too many, neighbours of a kind within a short time are joined."""
    start, whole = _start(run), _end(run) - _start(run)
    joined = whole // _MOST_BOXES if len(run.recorder.kept) > _MOST_BOXES else 0
    # Of each stage the kind, begin, end, work and number of the steps that are joined.
    pending: dict[tuple[int, int], tuple[str, int, int, int, int]] = {}

    def box(row: tuple[int, int], kind: str, begin: int, end: int, work: int, steps: int) -> Box:
        words = kind if steps == 1 else f"{steps:,} steps, {kind}, busy {work / (end - begin):.0%}"
        seconds = [(moment - start) / PICOSECONDS for moment in (begin, end)]
        return Box(
            row=f"replica {row[0]}, stage {row[1]}",
            group=kind,
            title=f"{words}: {seconds[0]:.6f} to {seconds[1]:.6f} s",
            start=(begin - start) / whole,
            share=(end - begin) / whole,
        )

    for step in run.recorder.kept:
        kind = "prefill" if not step.decodes else "mixed" if step.prefill_tokens else "decode"
        for stage, (begin, end) in enumerate(step.intervals):
            row, work, count = (step.replica, stage), end - begin, 1
            if row in pending:
                before, first, last, done, steps = pending[row]
                if before == kind and end - first <= joined:
                    begin, work, count = first, done + work, steps + 1
                else:
                    yield box(row, before, first, last, done, steps)
            pending[row] = kind, begin, end, work, count
    for row, rest in pending.items():
        yield box(row, *rest)


def step_lanes(run: ServingRun) -> str:
    """Every step on every stage, by its kind."""
    return lanes(list(_boxes(run)), KINDS)


def _thin(xs: np.ndarray, ys: np.ndarray) -> Points:
    """A part of many points, so that a page stays small; peaks of y are kept."""
    if len(xs) <= 2 * _POINTS:
        return xs.tolist(), ys.tolist()
    kept = [0]
    for part in np.array_split(np.arange(1, len(xs)), _POINTS):
        kept += sorted({int(part[ys[part].argmin()]), int(part[ys[part].argmax()])})
    return xs[kept].tolist(), ys[kept].tolist()


def requests(run: ServingRun) -> str:
    """Requests that wait and that run, over time."""
    times, start = _times(run), _start(run)
    lines = {}
    for name, begin, end in (("waiting", 0, 2), ("running", 2, 4)):
        moments = np.concatenate([times[:, begin], times[:, end]])
        changes = np.concatenate([np.ones(len(times), int), -np.ones(len(times), int)])
        order = np.lexsort((-changes, moments))
        counts = np.array(list(accumulate(changes[order].tolist())))
        lines[name] = _thin((moments[order] - start) / PICOSECONDS, counts)
    return line_chart("requests over time", lines, unit="s", steps=True)


def memory(run: ServingRun) -> str:
    """Share of the cache's blocks in use, over time."""
    start, lines = _start(run), {}
    for index, replica in enumerate(run.replicas):
        rows = [
            (step.intervals[0][0], step.blocks)
            for step in run.recorder.kept
            if step.replica == index
        ]
        xs, ys = np.array(rows, float).reshape(-1, 2).T
        lines[f"replica {index}"] = _thin((xs - start) / PICOSECONDS, ys / replica.memory.blocks)
    return line_chart("memory over time", lines, unit="s", top=1.0, steps=True)


def utilisation(run: ServingRun) -> str:
    """Share of each part of the run in which a stage works."""
    start, whole = _start(run), _end(run) - _start(run)
    edges = np.linspace(start, start + whole, _BINS + 1)
    middles = ((edges[:-1] + edges[1:]) / 2 - start) / PICOSECONDS
    lines = {}
    for index, use in enumerate(run.recorder.uses):
        for stage, (begins, ends) in enumerate(use.intervals):
            lengths = np.cumsum(np.array(ends, float) - np.array(begins, float))
            # Work up to each edge, on lines within an interval of work.
            moments = np.array([begins, ends], float).T.ravel()
            done = np.concatenate([[0.0], lengths]).repeat(2)[1:-1]
            work = np.interp(edges, moments, done)
            shares = np.diff(work) / np.diff(edges)
            lines[f"replica {index}, stage {stage}"] = (middles.tolist(), shares.tolist())
    return line_chart("utilisation over time", lines, unit="s", top=1.0)


def latencies(run: ServingRun) -> str:
    """Share of the requests whose latency is at most so long."""
    times = _times(run)
    outputs = np.array([request.output_tokens for request in run.trace.requests])
    values = {name: times[:, end] - times[:, begin] for name, (begin, end) in _LATENCIES.items()}
    several = outputs > 1
    values["tpot"] = (times[:, 4] - times[:, 3])[several] / (outputs[several] - 1)
    lines = {}
    for name, each in values.items():
        ordered = np.sort(each) / PICOSECONDS
        shares = np.arange(1, len(ordered) + 1) / max(1, len(ordered))
        lines[name] = _thin(ordered, shares)
    return line_chart("latencies", lines, unit="s", top=1.0, logarithmic=True, steps=True)
