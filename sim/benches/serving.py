"""How well operators and requests are timed, against measurements, and how fast."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fanweave.golden.dops.calibration.profile import (
    DeviceProfile,
    data_folder,
    load_profile,
)
from fanweave.golden.dops.calibration.readers import read_measurements
from fanweave.golden.dops.calibration.report import calibrate
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.timing.cached_costs import CachedCosts
from fanweave.golden.timing.cluster import Cluster, ReplicaSpec, ServingRun
from fanweave.golden.timing.comparison import ComparedMetric, compare
from fanweave.golden.timing.measured_intake import intakes
from fanweave.golden.timing.measured_server import (
    BUDGETS,
    FIRST_PART,
    MEASURED_SERVER,
    OPERATORS_ALONE,
    missing_ps,
    prefill_error,
    uncut_share,
    with_cache_hits,
)
from fanweave.golden.timing.placed_serving import PlacedServer, serve_placed
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, build_cluster, serve
from fanweave.golden.timing.step import StepCosts, StepShape, StepTime
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["rows"]

#: Shipped measurements of operators -> streaming multiprocessors of their device.
_MEASURED = {
    "rtxpro6000_llama31_8b_tp1_dense": 188,
    "rtxpro6000_llama31_8b_tp1_per_sequence": 188,
    "rtxpro6000_llama31_8b_tp1_attention": 188,
    "a100_llama3_8b_tp1_median_ms": 108,
    "llmcompass_matmul_A100": 108,
    "llmcompass_gelu_A100": 108,
    "llmcompass_softmax_A100": 108,
    "llmcompass_layernorm_A100": 108,
}
_SPEED_GOAL = 100
_CACHE_GOAL = 0.01
_CACHE_REQUESTS, _CACHE_GRAIN = 500, 64
#: Requests and their rate where every step is placed: so that batches form.
_QUICK_PLANS, _PLAN_RATE = 20, 20.0
_QUICK_REQUESTS = 2000
#: Random differences of steps, about what counted steps differ from their costs, and the runs.
_STEP_NOISE, _NOISY_RUNS, _QUICK_RUNS = 0.02, 20, 3
#: Numbers of decoding sequences for which it is told whether kernels cut them.
_CUT_RANGES = ((5, 16), (17, 32), (33, 64), (65, 128))


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Errors of operators and of requests, of the cache of step times, and the speed.

    Parameters
    ----------
    quick : bool
        The speed on 2,000 requests and not on all.
    seed : int
        Seed of the resampling of requests.
    """
    profile = load_profile("rtxpro6000")
    measured = read_requests("measured-server")
    conversation = read_requests("azure-conversation")
    with_hits = with_cache_hits(measured, profile)
    result = _operator_rows()
    result += _request_rows("simulated", with_hits, profile, MEASURED_SERVER, seed)
    result += _request_rows("cache unknown", measured, profile, MEASURED_SERVER, seed)
    result += _request_rows("operators alone", measured, profile, OPERATORS_ALONE, seed)
    result += _noise_rows(with_hits, profile, seed, _QUICK_RUNS if quick else _NOISY_RUNS)
    result += _inference_rows(measured, profile)
    result += _step_rows(with_hits, profile)
    result += _intake_rows(measured, profile)
    result.append(_cache_row(conversation.first(_CACHE_REQUESTS), profile))
    result.append(_plan_row(conversation.first(_QUICK_PLANS if quick else _CACHE_REQUESTS)))
    count = _QUICK_REQUESTS if quick else len(conversation.requests)
    result.append(_speed_row(conversation.first(count), profile))
    return result


def _operator_rows() -> list[BenchRow]:
    card = load_model("llama-3.1-8b")
    result = []
    for name, processors in _MEASURED.items():
        path = Path(data_folder()) / f"{name}.csv"
        for row in calibrate(read_measurements(path, card), card, processors=processors):
            case = f"{name}, {row.operators}, {row.method}, held-out {row.held_out}"
            values = (
                ("latency_error", row.error.mean, row.goal),
                ("latency_error_p95", row.error.p95, None),
                ("latency_error_max", row.error.worst, None),
            )
            result += [
                BenchRow(case=case, metric=metric, value=value, unit="1", goal=goal, origin="model")
                for metric, value, goal in values
            ]
    return result


def _request_rows(
    what: str, trace: RequestTrace, profile: DeviceProfile, options: ServerOptions, seed: int
) -> list[BenchRow]:
    result = []
    for row in compare(serve(trace, profile, options), seed=seed):
        case = f"{what}, {row.group}, {row.metric} p{row.percentile}"
        result += _compared_rows(case, row)
    return result


def _compared_rows(case: str, row: ComparedMetric) -> list[BenchRow]:
    def make(metric: str, value: float, goal: float | None = None) -> BenchRow:
        return BenchRow(case=case, metric=metric, value=value, unit="1", goal=goal, origin="model")

    result = [make("latency_error", abs(row.error), row.goal)]
    result.append(make("signed_error", row.error))
    result.append(make("trivial_signed_error", row.trivial_error))
    result.append(make("trivial_closer_share", row.trivial_closer))
    result += [make("measured_low", row.floor_low), make("measured_high", row.floor_high)]
    if row.percentile == 99:
        result += [make("error_low", row.low), make("error_high", row.high)]
    return result


class _NoisyCosts:
    """Costs whose steps differ at random, as those of a machine do."""

    def __init__(self, costs: StepCosts, seed: int) -> None:
        self._costs, self._rng = costs, np.random.default_rng(seed)

    @property
    def stages(self) -> int:
        return self._costs.stages

    def step(self, shape: StepShape) -> StepTime:
        time = self._costs.step(shape)
        factor = 1 + _STEP_NOISE * self._rng.standard_normal()
        return time._replace(stages=tuple(round(each * factor) for each in time.stages))


def _noise_rows(
    trace: RequestTrace, profile: DeviceProfile, seed: int, runs: int
) -> list[BenchRow]:
    """Errors over runs whose steps differ at random: which step a prompt falls in."""
    (spec,) = build_cluster(profile, MEASURED_SERVER).specs
    errors: dict[str, list[float]] = {}
    for each in range(seed, seed + runs):
        noisy = ReplicaSpec(costs=_NoisyCosts(spec.costs, each), config=spec.config)
        for row in compare(Cluster([noisy]).serve(trace), seed=seed):
            if row.metric in ("queue_wait", "prefill"):
                case = f"{row.group}, {row.metric} p{row.percentile}"
                errors.setdefault(case, []).append(row.error)
    return [
        BenchRow(
            case=f"simulated, {runs} runs, steps differ by {_STEP_NOISE:.0%}, {case}",
            metric=metric,
            value=value,
            unit="1",
            origin="model",
        )
        for case, values in errors.items()
        for metric, value in (
            ("signed_error_least", min(values)),
            ("signed_error_mean", float(np.mean(values))),
            ("signed_error_most", max(values)),
        )
    ]


def _step_rows(trace: RequestTrace, profile: DeviceProfile) -> list[BenchRow]:
    """What counted steps say: waiting beside operators, cutting of contexts, errors of steps."""
    found = [
        (step, missing)
        for step, missing in missing_ps(trace, profile, MEASURED_SERVER)
        if not any(trace.requests[index].cached_tokens for index in step.requests)
    ]
    parts = {
        "requests 1-128": lambda index: index < FIRST_PART,
        "even requests": lambda index: index % 2 == 0,
        "odd requests": lambda index: index % 2 == 1,
        "the rest": lambda index: index >= FIRST_PART,
    }
    result = []
    for name, chosen in parts.items():
        mine = [each for each in found if chosen(max(each[0].requests))]
        waits = float(np.median([missing for _, missing in mine])) / 1e12
        error = [abs(missing) / step.measured_ps for step, missing in mine]
        case = f"{len(mine)} counted steps with prompts, {name}"
        result.append(_row(f"{case}, time beyond costs, median", "missing_s", waits, "s"))
        result.append(_row(f"{case}, mean", "latency_error", float(np.mean(error))))
    for low, high in _CUT_RANGES:
        share, rows = uncut_share(trace, profile, (low, high), first=False)
        case = f"{rows} rows of decode steps, {low} to {high} sequences"
        result.append(_row(case, "uncut_share", share))
    return result


def _intake_rows(trace: RequestTrace, profile: DeviceProfile) -> list[BenchRow]:
    """How far waits for the host alone differ where nothing that is recorded does."""
    intake = MEASURED_SERVER.intake
    found = [each for each in intakes(trace, profile) if each.together == 1]
    parts = {
        f"up to {intake.short_ps / 1e9:g} ms": [e for e in found if e.step_ps <= intake.short_ps],
        f"of {intake.long_ps / 1e9:g} ms and more": [
            e for e in found if e.step_ps >= intake.long_ps
        ],
    }
    return [
        _row(
            f"{len(part)} requests taken in alone behind steps {name}, wait for the host",
            f"wait_p{percentile}_s",
            float(np.percentile([each.wait_ps for each in part], percentile)) / 1e12,
            "s",
        )
        for name, part in parts.items()
        for percentile in (10, 50, 90)
    ]


def _row(case: str, metric: str, value: float, unit: str = "1") -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit=unit, origin="model")


def _inference_rows(trace: RequestTrace, profile: DeviceProfile) -> list[BenchRow]:
    """The error from which the numbers of the measured server are inferred."""
    variants = {
        f"{budget} tokens a step": replace(MEASURED_SERVER, token_budget=budget)
        for budget in BUDGETS
    }
    variants["operators alone"] = OPERATORS_ALONE
    return [
        _row(
            f"median error of prefill, requests 1-128, {name}",
            "latency_error",
            prefill_error(trace, profile, options),
        )
        for name, options in variants.items()
    ]


def _ends(run: ServingRun) -> np.ndarray:
    arrivals = [request.arrival for request in run.trace.requests]
    return np.array(run.recorder.last_at) - np.array(arrivals)


def _cache_row(trace: RequestTrace, profile: DeviceProfile) -> BenchRow:
    """Mean error of end-to-end latencies if step times are remembered by rounded shapes."""
    cluster = build_cluster(profile, MEASURED_SERVER)
    (spec,) = cluster.specs
    cached = CachedCosts(spec.costs, grain=_CACHE_GRAIN)
    exact = _ends(cluster.serve(trace))
    rounded = _ends(Cluster([ReplicaSpec(costs=cached, config=spec.config)]).serve(trace))
    return BenchRow(
        case=f"step times by shape, {cached.found / cached.asked:.0%} remembered",
        metric="latency_error",
        value=float(np.abs(rounded / exact - 1).mean()),
        unit="1",
        goal=_CACHE_GOAL,
        origin="model",
    )


def _plan_row(trace: RequestTrace) -> BenchRow:
    """Mean error of end-to-end latencies if plans are kept by the shape of a step."""
    server = PlacedServer(
        model=load_model("qwen-1.8b"), platform=load_platform("hp32"), scheduler="HEFT"
    )
    busy = trace.at_rate(_PLAN_RATE)
    kept, few = serve_placed(busy, server)
    anew, all_passes = serve_placed(busy, replace(server, grain=0))
    return BenchRow(
        case=f"plans by shape, {len(busy.requests)} requests, {few.planned} passes placed and not "
        f"{all_passes.planned}",
        metric="latency_error",
        value=float(np.abs(_ends(kept) / _ends(anew) - 1).mean()),
        unit="1",
        goal=_CACHE_GOAL,
        origin="model",
    )


def _speed_row(trace: RequestTrace, profile: DeviceProfile) -> BenchRow:
    start = time.perf_counter()
    serve(trace, profile, MEASURED_SERVER)
    seconds = time.perf_counter() - start
    return BenchRow(
        case=f"{trace.name}, {_count(trace.requests)} requests",
        metric="requests_per_second",
        value=len(trace.requests) / seconds,
        unit="1/s",
        goal=_SPEED_GOAL,
        origin="measured",
    )


def _count(requests: Sequence[object]) -> str:
    return f"{len(requests):,}"
