"""Compares simulated requests with measured ones, beside the simplest model there is."""

import heapq
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.metrics import PERCENTILES
from fanweave.golden.timing.requests import RequestTrace

__all__ = [
    "GROUPS",
    "METRICS",
    "ComparedMetric",
    "compare",
    "measured_times",
    "simulated_times",
    "trivial_times",
]

#: Times of a request: queued, scheduled, first token, last token.
Times = np.ndarray
#: Metrics that are compared; the clock begins when a request is taken in, as it does in the
#: measurement.
METRICS = {
    "queue_wait": "scheduled less queued",
    "prefill": "first token less scheduled",
    "tpot": "last less first token, divided by the tokens less one",
    "end_to_end": "last token less queued",
}
#: Groups of requests: those that find a free place, and the rest.
GROUPS = {"requests 1-128": slice(0, 128), "the rest": slice(128, None)}
_RESAMPLES = 1000
_TRIVIAL_PLACES = 128
_TRIVIAL_TOKEN_PS = 33_900_000_000


@dataclass(frozen=True, kw_only=True)
class ComparedMetric:
    """One metric of one group at one percentile.

    Attributes
    ----------
    group, metric : str
        What is compared.
    percentile : int
        At which percentile.
    measured_s, simulated_s, trivial_s : float
        Its value, seconds.
    error, trivial_error : float
        Relative, signed.
    low, high : float
        95% interval of `error` under resampling of the requests.
    floor_low, floor_high : float
        The same of the measured value alone, relative to it: what another sample of the same
        requests would have measured. An error within it cannot be told from none.
    trivial_closer : float
        Share of the resamplings in which the trivial model has the smaller error. Where it is
        small, a trivial model that is closer on the trace itself is so by chance.
    request_bias, request_error, trivial_request_error : float
        Errors of single requests in seconds: mean signed and mean absolute one, and the latter
        of the trivial model. They do not cancel as those of percentiles may.
    """

    group: str
    metric: str
    percentile: int
    measured_s: float
    simulated_s: float
    trivial_s: float
    error: float
    trivial_error: float
    low: float
    high: float
    floor_low: float
    floor_high: float
    trivial_closer: float
    request_bias: float
    request_error: float
    trivial_request_error: float

    @property
    def goal(self) -> float:
        """Largest error that is aimed at: 5%, and 10% at the 99th percentile."""
        return 0.1 if self.percentile == 99 else 0.05

    @property
    def within_floor(self) -> bool:
        """Whether the error is one that resampling of the measured requests gives as well."""
        return self.floor_low <= self.error <= self.floor_high


def measured_times(trace: RequestTrace) -> Times:
    """Measured times of a trace.

    Raises
    ------
    InputError
        If a request has none.
    """
    rows = []
    for request in trace.requests:
        each = request.measured
        if each is None:
            raise InputError(f"{trace.name}, request {request.name}: has no measured times")
        rows.append((each.queued, each.scheduled, each.first_token, each.last_token))
    return np.array(rows, np.int64)


def simulated_times(run: ServingRun) -> Times:
    """Simulated times of a run."""
    record = run.recorder
    return np.array(
        [record.queued_at, record.scheduled_at, record.first_at, record.last_at], np.int64
    ).T


def trivial_times(trace: RequestTrace) -> Times:
    """Times by the simplest model: 128 places, and every token takes 33.9 ms.

    It is told when the measured server took each request in.
    """
    free = [0] * _TRIVIAL_PLACES
    rows = []
    for request in trace.requests:
        queued = request.arrival if request.measured is None else request.measured.queued
        start = max(queued, heapq.heappop(free))
        end = start + request.output_tokens * _TRIVIAL_TOKEN_PS
        heapq.heappush(free, end)
        rows.append((queued, start, start + _TRIVIAL_TOKEN_PS, end))
    return np.array(rows, np.int64)


def _metric(times: Times, outputs: np.ndarray, name: str) -> np.ndarray:
    queued, scheduled, first, last = times.T.astype(np.float64) / PICOSECONDS
    if name == "queue_wait":
        return scheduled - queued
    if name == "prefill":
        return first - scheduled
    if name == "tpot":
        return (last - first) / np.maximum(outputs - 1, 1)
    return last - queued


def compare(run: ServingRun, *, seed: int = 1) -> list[ComparedMetric]:
    """Compare a run with the measured times of its trace.

    Prefill of requests whose `Request.cached_tokens` are given is not judged: for a measured
    trace they are inferred from it.

    Parameters
    ----------
    run : ServingRun
        A run over a trace with measured times.
    seed : int
        Seed of the resampling.

    Raises
    ------
    InputError
        If a request has no measured times.
    """
    trace = run.trace
    measured, simulated = measured_times(trace), simulated_times(run)
    trivial = trivial_times(trace)
    outputs = np.array([request.output_tokens for request in trace.requests])
    known = np.array([request.cached_tokens == 0 for request in trace.requests])
    rng = np.random.default_rng(seed)
    result = []
    for group, part in GROUPS.items():
        if not len(outputs[part]):
            continue
        for metric in METRICS:
            judged = known[part] if metric == "prefill" else np.ones_like(known[part])
            values = [
                _metric(times[part][judged], outputs[part][judged], metric)
                for times in (measured, simulated, trivial)
            ]
            result += _compared(group, metric, values, rng)
    return result


def _compared(
    group: str, metric: str, all_values: list[np.ndarray], rng: np.random.Generator
) -> list[ComparedMetric]:
    measured, simulated, trivial = all_values
    draws = rng.integers(0, len(measured), (_RESAMPLES, len(measured)))
    rows = []
    for percentile in PERCENTILES:
        values = [float(np.percentile(each, percentile)) for each in (measured, simulated, trivial)]
        again = np.percentile(measured[draws], percentile, axis=1)
        errors, trivial_errors = (
            np.percentile(each[draws], percentile, axis=1) / again - 1
            for each in (simulated, trivial)
        )
        low, high = np.percentile(errors, [2.5, 97.5])
        floor = np.percentile(again / values[0] - 1, [2.5, 97.5])
        rows.append(
            ComparedMetric(
                group=group,
                metric=metric,
                percentile=percentile,
                measured_s=values[0],
                simulated_s=values[1],
                trivial_s=values[2],
                error=values[1] / values[0] - 1,
                trivial_error=values[2] / values[0] - 1,
                low=float(low),
                high=float(high),
                floor_low=float(floor[0]),
                floor_high=float(floor[1]),
                trivial_closer=float((np.abs(trivial_errors) < np.abs(errors)).mean()),
                request_bias=float((simulated - measured).mean()),
                request_error=float(np.abs(simulated - measured).mean()),
                trivial_request_error=float(np.abs(trivial - measured).mean()),
            )
        )
    return rows
