"""Limits on latencies: how many requests keep them, and up to which rate of requests."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.requests import MOST_SECONDS, RequestTrace

__all__ = ["Attainment", "Slo", "attainment", "highest_rate"]

_ROUNDS = 8
_DOUBLINGS = 12


@dataclass(frozen=True, kw_only=True)
class Slo:
    """Limits that a request has to keep; None for none.

    Attributes
    ----------
    ttft_s, tpot_s, end_to_end_s : float, optional
        Seconds; see `fanweave.golden.timing.metrics.DEFINITIONS`.
    share : float
        Share of the requests that has to keep all of them.

    Raises
    ------
    InputError
        If there is no limit, one is not positive and finite, or the share is not over 0 and up
        to 1.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    end_to_end_s: float | None = None
    share: float = 0.99

    def __post_init__(self) -> None:
        limits = [self.ttft_s, self.tpot_s, self.end_to_end_s]
        given = [limit for limit in limits if limit is not None]
        if not given or not all(0 < limit < float("inf") for limit in given):
            raise InputError(
                f"limits ttft_s = {self.ttft_s}, tpot_s = {self.tpot_s}, end_to_end_s = "
                f"{self.end_to_end_s}: give at least one, in seconds, finite and over 0"
            )
        if not 0 < self.share <= 1:
            raise InputError(f"share = {self.share} must be over 0 and at most 1")


@dataclass(frozen=True, kw_only=True)
class Attainment:
    """How a run keeps limits.

    Attributes
    ----------
    attained : float
        Share of the requests that keep all of them.
    goodput : float
        These requests a second.
    """

    attained: float
    goodput: float


def attainment(run: ServingRun, slo: Slo) -> Attainment:
    """Count the requests that keep all limits."""
    record, requests = run.recorder, run.trace.requests
    arrival = np.array([request.arrival for request in requests])
    outputs = np.array([request.output_tokens for request in requests])
    first, last = np.array(record.first_at), np.array(record.last_at)
    kept = np.ones(len(requests), bool)
    if slo.ttft_s is not None:
        kept &= first - arrival <= slo.ttft_s * PICOSECONDS
    if slo.tpot_s is not None:
        # A request with one token has no time between tokens.
        kept &= last - first <= slo.tpot_s * PICOSECONDS * (outputs - 1)
    if slo.end_to_end_s is not None:
        kept &= last - arrival <= slo.end_to_end_s * PICOSECONDS
    makespan = (int(last.max()) - int(arrival[0])) / PICOSECONDS
    return Attainment(attained=float(kept.mean()), goodput=float(kept.sum()) / makespan)


def highest_rate(
    trace: RequestTrace, slo: Slo, serve: Callable[[RequestTrace], ServingRun]
) -> float:
    """Highest mean rate of requests at which the limits are kept.

    The gaps of the trace are stretched alike. The rate is doubled or halved until it is between
    kept and broken, and then bisected, to 0.3% of its value; a rate of 0 means that the limits
    are broken even when requests hardly meet.

    Parameters
    ----------
    trace : RequestTrace
        At least two requests that do not all arrive at once.
    slo : Slo
        The limits.
    serve : callable
        Serves a trace.
    """

    def keeps(rate: float) -> bool:
        return attainment(serve(trace.at_rate(rate)), slo).attained >= slo.share

    slowest = (len(trace.requests) - 1) / MOST_SECONDS
    rate = max(1.0, slowest)
    kept = keeps(rate)
    for _ in range(_DOUBLINGS):
        following = rate * 2 if kept else rate / 2
        if following < slowest:
            return 0.0
        if keeps(following) != kept:
            break
        rate = following
    else:
        return rate if kept else 0.0
    low, high = (rate, following) if kept else (following, rate)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if keeps(middle):
            low = middle
        else:
            high = middle
    return low
