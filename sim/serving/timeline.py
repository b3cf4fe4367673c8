"""A timeline of a serving run in the Chrome trace format, which Perfetto shows."""

from collections.abc import Iterator
from typing import Any

from fanweave.golden.timing.cluster import ServingRun

__all__ = ["serving_timeline"]

#: Picoseconds in a microsecond, the unit of the format.
_US = 1e6
#: The rows of requests; those of replica r have the number behind.
_REQUESTS = 1


def serving_timeline(run: ServingRun) -> dict[str, Any]:
    """Steps of every stage, phases of every request, requests and memory of every replica.

    Parameters
    ----------
    run : ServingRun
        Served with `keep_steps`.

    Returns
    -------
    dict
        Times in microseconds, as the format wants them.
    """
    events = [*_names(run), *_steps(run), *_requests(run), *_counts(run)]
    return {
        "displayTimeUnit": "ms",
        "otherData": {"trace": run.trace.name, "requests": len(run.trace.requests)},
        "traceEvents": events,
    }


def _named(kind: str, pid: int, name: str, tid: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _pid(replica: int) -> int:
    return _REQUESTS + 1 + replica


def _names(run: ServingRun) -> Iterator[dict[str, Any]]:
    yield _named("process", _REQUESTS, "requests")
    for index, spec in enumerate(run.cluster.specs):
        yield _named("process", _pid(index), f"replica {index}, {spec.config.role}")
        for stage in range(spec.costs.stages):
            yield _named("thread", _pid(index), f"stage {stage}", stage)


def _steps(run: ServingRun) -> Iterator[dict[str, Any]]:
    for step in run.recorder.kept:
        name = "prefill" if not step.decodes else "mixed" if step.prefill_tokens else "decode"
        words = {"prefill_tokens": step.prefill_tokens, "decodes": step.decodes}
        for stage, (begin, end) in enumerate(step.intervals):
            yield {
                "name": name,
                "cat": "step",
                "ph": "X",
                "pid": _pid(step.replica),
                "tid": stage,
                "ts": begin / _US,
                "dur": (end - begin) / _US,
                "args": words,
            }
        yield {
            "name": "blocks of the cache",
            "ph": "C",
            "pid": _pid(step.replica),
            "ts": step.intervals[0][0] / _US,
            "args": {"in use": step.blocks},
        }


def _requests(run: ServingRun) -> Iterator[dict[str, Any]]:
    for index, request in enumerate(run.trace.requests):
        times = (request.arrival, *run.recorder.times(index))
        for name, begin, end in (
            (f"request {request.name}", times[0], times[4]),
            ("wait", times[0], times[2]),
            ("prefill", times[2], times[3]),
            ("decode", times[3], times[4]),
        ):
            if begin == end:
                continue
            both = {"name": name, "cat": "request", "id": index, "pid": _REQUESTS, "tid": 0}
            words = {"input_tokens": request.input_tokens, "output_tokens": request.output_tokens}
            yield {**both, "ph": "b", "ts": begin / _US, "args": words}
            yield {**both, "ph": "e", "ts": end / _US}


def _counts(run: ServingRun) -> Iterator[dict[str, Any]]:
    """Requests that wait and that run, whenever one of both changes."""
    changes: list[tuple[int, int, int]] = []
    for index, request in enumerate(run.trace.requests):
        _, scheduled, _, last = run.recorder.times(index)
        changes += [(request.arrival, 1, 0), (scheduled, -1, 1), (last, 0, -1)]
    waiting = running = 0
    # At one time what comes is there before it begins, and what ends makes place first.
    changes.sort(key=lambda change: (change[0], -change[1]))
    for at, more_waiting, more_running in changes:
        waiting, running = waiting + more_waiting, running + more_running
        yield {
            "name": "requests",
            "ph": "C",
            "pid": _REQUESTS,
            "ts": at / _US,
            "args": {"waiting": waiting, "running": running},
        }
