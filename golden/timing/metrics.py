"""Metrics of a run. Each is defined once, in `DEFINITIONS`, from which the document is made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.origins import published
from fanweave.golden.timing.cluster import ServingRun
from fanweave.golden.timing.energy import ServingEnergy

__all__ = [
    "DEFINITIONS",
    "PERCENTILES",
    "Distribution",
    "ServingMetrics",
    "distribution",
    "measure",
    "weighted_percentiles",
]

#: Percentiles that every distribution has.
PERCENTILES = (50, 90, 99)

#: What each metric means.
DEFINITIONS = {
    "intake_wait": "From a request's arrival to the moment at which the server takes it in: "
    "between two steps, or at once if nothing runs.",
    "queue_wait": "From being taken in to the scheduling of the first step that computes a part "
    "of its prompt.",
    "prefill": "From that scheduling to its first token. The step that was scheduled before and "
    "still runs is part of it.",
    "ttft": "Time to first token: from arrival to first token; intake_wait, queue_wait and "
    "prefill together.",
    "tpot": "Time per output token: from first to last token, divided by its tokens less one. "
    "Requests with one token have none.",
    "itl": "Inter-token latency: each time between two tokens of a request, of all requests "
    "together.",
    "end_to_end": "From arrival to last token.",
    "requests_per_s": "Requests divided by the makespan: from the first arrival to the last token.",
    "output_tokens_per_s": "Generated tokens divided by the makespan.",
    "tokens_per_s": "Prompt and generated tokens divided by the makespan.",
    "utilisation": "Share of the makespan in which the devices of a pipeline stage of a replica "
    "work. Idle time between the launches of a step counts as work.",
    "co_utilisation": "Share of the makespan in which all stages of all replicas work at the same "
    "time; with one of them it is its utilisation.",
    "link_utilisation": "Share of the makespan in which caches go over the link between two "
    "replicas.",
    "kv_peak": "Most blocks of the cache that requests held, as a share of all blocks of the "
    "replica. Kept blocks of prefixes that nobody holds are not counted.",
    "kv_mean": "The same, averaged over the makespan.",
    "preemptions": "How often a request gave its memory back and had to compute again.",
    "cached_share": "Prompt tokens that were found in the cache, as a share of all.",
    "extrapolated_share": "Steps outside the measured sizes, as a share of all.",
    "spread": "Relative half-width of the interval around every time: the half-widths of the "
    "steps, averaged over their durations. Queueing can make true differences larger.",
    "energy_j": "Energy of all steps, their operations and bytes, and of all devices while they "
    "are on, which is the whole makespan; in joules. Devices whose energy is not known are named "
    "and not counted, nor is the sending of caches between replicas.",
    "energy_per_output_token_j": "The same divided by the generated tokens.",
    "goodput": "Requests within all limits, divided by the makespan.",
    "attained": "Requests within all limits, as a share of all.",
}


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Mean and percentiles, in seconds."""

    count: int
    mean: float
    percentiles: dict[int, float]

    def document(self) -> dict[str, float | int]:
        """As JSON."""
        named = {f"p{percent}": value for percent, value in self.percentiles.items()}
        return {"count": self.count, "mean": self.mean, **named}


@dataclass(frozen=True, kw_only=True)
class ServingMetrics:
    """Metrics of a run; `DEFINITIONS` says what they mean.

    Attributes
    ----------
    latencies : dict of str to Distribution
        intake_wait, queue_wait, prefill, ttft, tpot, itl and end_to_end.
    rates : dict of str to float
        requests_per_s, output_tokens_per_s and tokens_per_s.
    utilisation : dict of str to float
        By ``"replica 0 stage 0"``.
    co_utilisation : float
    link_utilisation : dict of str to float
        By ``"0 to 1"``.
    kv_peak, kv_mean : list of float
        One a replica.
    preemptions : int
    cached_share, extrapolated_share, spread : float
    makespan_s : float
    steps : int
    energy : ServingEnergy or None
        None where nothing is known of it.
    """

    latencies: dict[str, Distribution]
    rates: dict[str, float]
    utilisation: dict[str, float]
    co_utilisation: float
    link_utilisation: dict[str, float]
    kv_peak: list[float]
    kv_mean: list[float]
    preemptions: int
    cached_share: float
    extrapolated_share: float
    spread: float
    makespan_s: float
    steps: int
    energy: ServingEnergy | None = None

    def document(self) -> dict[str, object]:
        """As JSON."""
        return {
            "latencies_s": {name: each.document() for name, each in self.latencies.items()},
            **self.rates,
            "utilisation": self.utilisation,
            "co_utilisation": self.co_utilisation,
            "link_utilisation": self.link_utilisation,
            "kv_peak": self.kv_peak,
            "kv_mean": self.kv_mean,
            "preemptions": self.preemptions,
            "cached_share": self.cached_share,
            "extrapolated_share": self.extrapolated_share,
            "spread": self.spread,
            "makespan_s": self.makespan_s,
            "steps": self.steps,
            **(self.energy.document() if self.energy else {}),
        }


def weighted_percentiles(
    values: Sequence[int] | np.ndarray, counts: Sequence[int] | np.ndarray
) -> dict[int, float]:
    """Percentiles of values that stand for so many equal ones: the least that reaches a share."""
    if len(values) == 0:
        return dict.fromkeys(PERCENTILES, 0.0)
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values)[order]
    reached = np.cumsum(np.asarray(counts, np.int64)[order])
    places = [
        int(np.searchsorted(reached, -(-reached[-1] * percent // 100))) for percent in PERCENTILES
    ]
    return {
        percent: float(ordered[place]) for percent, place in zip(PERCENTILES, places, strict=True)
    }


def distribution(picoseconds: np.ndarray) -> Distribution:
    """Distribution of times; percentiles between two values are interpolated linearly."""
    if len(picoseconds) == 0:
        return Distribution(count=0, mean=0.0, percentiles=dict.fromkeys(PERCENTILES, 0.0))
    seconds = np.asarray(picoseconds, np.float64) / PICOSECONDS
    return Distribution(
        count=len(seconds),
        mean=float(seconds.mean()),
        percentiles={each: float(np.percentile(seconds, each)) for each in PERCENTILES},
    )


def measure(run: ServingRun) -> ServingMetrics:
    """Measure a run that has ended."""
    record, requests = run.recorder, run.trace.requests
    start = requests[0].arrival
    end = max(record.last_at)
    makespan = end - start
    uses = record.uses
    for replica, use in zip(run.replicas, uses, strict=True):
        use.blocks(end, replica.memory.used)
    inputs = sum(request.input_tokens for request in requests)
    outputs = sum(request.output_tokens for request in requests)
    steps = sum(use.steps for use in uses)
    seconds = makespan / PICOSECONDS
    return ServingMetrics(
        latencies=_latencies(run),
        rates={
            "requests_per_s": len(requests) / seconds,
            "output_tokens_per_s": outputs / seconds,
            "tokens_per_s": (inputs + outputs) / seconds,
        },
        utilisation={
            f"replica {replica} stage {stage}": busy / makespan
            for replica, use in enumerate(uses)
            for stage, busy in enumerate(use.busy)
        },
        co_utilisation=_co_utilisation(run, makespan),
        link_utilisation={
            f"{source} to {target}": busy / makespan
            for (source, target), busy in run.link_busy.items()
        },
        kv_peak=[
            use.peak_blocks / replica.memory.blocks
            for replica, use in zip(run.replicas, uses, strict=True)
        ],
        kv_mean=[
            use.block_ps / replica.memory.blocks / makespan
            for replica, use in zip(run.replicas, uses, strict=True)
        ],
        preemptions=sum(record.preemption_counts),
        cached_share=sum(record.cached_tokens) / inputs,
        extrapolated_share=sum(use.extrapolated for use in uses) / steps,
        spread=sum(use.spread_ps for use in uses) / sum(use.step_ps for use in uses),
        makespan_s=seconds,
        steps=steps,
        energy=_energy(run, seconds, outputs),
    )


def _energy(run: ServingRun, seconds: float, outputs: int) -> ServingEnergy | None:
    powers = [spec.power for spec in run.cluster.specs if spec.power is not None]
    if len(powers) < len(run.cluster.specs):
        return None
    return ServingEnergy(
        steps_j=sum(use.energy_pj for use in run.recorder.uses) / PICOSECONDS,
        idle_j=seconds * sum(power.idle_w for power in powers),
        output_tokens=outputs,
        origin=published(power.origin for power in powers),
        unknown=tuple(dict.fromkeys(name for power in powers for name in power.unknown)),
    )


def _latencies(run: ServingRun) -> dict[str, Distribution]:
    record, requests = run.recorder, run.trace.requests
    arrival = np.array([request.arrival for request in requests])
    outputs = np.array([request.output_tokens for request in requests])
    queued, scheduled, first, last = (
        np.array(times)
        for times in (record.queued_at, record.scheduled_at, record.first_at, record.last_at)
    )
    several = outputs > 1
    counts = np.array(record.gap_counts, np.int64)
    lengths = np.array(record.gap_lengths, np.int64)
    total = int(counts.sum())
    gaps = weighted_percentiles(lengths, counts)
    mean = (
        float((lengths.astype(np.float64) * counts).sum()) / total / PICOSECONDS if total else 0.0
    )
    return {
        "intake_wait": distribution(queued - arrival),
        "queue_wait": distribution(scheduled - queued),
        "prefill": distribution(first - scheduled),
        "ttft": distribution(first - arrival),
        "tpot": distribution((last - first)[several] / (outputs[several] - 1)),
        "itl": Distribution(
            count=total,
            mean=mean,
            percentiles={percent: value / PICOSECONDS for percent, value in gaps.items()},
        ),
        "end_to_end": distribution(last - arrival),
    }


def _co_utilisation(run: ServingRun, makespan: int) -> float:
    """Share of the time in which every stage works, by sweeping over their intervals."""
    intervals = [pair for use in run.recorder.uses for pair in use.intervals]
    begins = np.concatenate([np.array(begin, np.int64) for begin, _ in intervals])
    ends = np.concatenate([np.array(end, np.int64) for _, end in intervals])
    times = np.concatenate([begins, ends])
    steps = np.concatenate([np.ones(len(begins), np.int64), -np.ones(len(ends), np.int64)])
    order = np.lexsort((steps, times))
    working = np.cumsum(steps[order])[:-1]
    lengths = np.diff(times[order])
    return float(lengths[working == len(intervals)].sum()) / makespan
