"""The server whose request times were measured, and what is inferred from the first of them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.errors import FaultError
from fanweave.golden.timing.comparison import measured_times
from fanweave.golden.timing.config import IntakeModel
from fanweave.golden.timing.counted_steps import CountedSteps, PromptStep, count_steps
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.launch import TILE_TOKENS, LaunchModel
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.golden.timing.step import Chunk, StepCosts, StepShape

__all__ = [
    "BUDGETS",
    "FIRST_PART",
    "MEASURED_SERVER",
    "OPERATORS_ALONE",
    "PromptCosts",
    "counted",
    "infer_prompt_costs",
    "infer_token_budget",
    "missing_ps",
    "prefill_error",
    "uncut_share",
    "with_cache_hits",
]

#: Requests from which the inferred numbers come: those that never wait for a place.
FIRST_PART = 128
#: Tokens of a step that are tried.
BUDGETS = (512, 1024, 2048, 4096, 8192)
#: A step that is shorter than its costs by so much found a part of its prompts in the cache:
#: five times what steps differ otherwise.
_CLEAR_PS = 6 * 10**9
#: Steps that a number of tiles must have, so that a median of them says something.
_LEAST_STEPS = 3

#: The numbers that the functions here infer (docs/decisions/0012-serving-calibration.md); 128
#: requests at a time are known.
MEASURED_SERVER = ServerOptions(
    deployment=Deployment(
        launch=LaunchModel(
            idle_ps=6_100_000_000,
            tiles_ps=tuple(
                (tile, tenths * 10**8)
                for tile, tenths in (
                    *((3, 7), (4, -16), (5, 9), (6, -27), (7, 36)),
                    *((8, -2), (9, 0), (11, 56), (12, 8), (16, 1)),
                )
            ),
            uncut=(33, 64),
        ),
        beside=0.86,
    ),
    max_sequences=128,
    token_budget=2048,
    intake=IntakeModel(
        ps=5_000_000, slow_ps=14_500_000, short_ps=45_000_000_000, long_ps=70_000_000_000
    ),
)
#: The same server with nothing beyond its measured operators.
OPERATORS_ALONE = replace(MEASURED_SERVER, deployment=Deployment())


def prefill_error(trace: RequestTrace, profile: DeviceProfile, options: ServerOptions) -> float:
    """Median absolute error of prefill in the first part, on a logarithmic scale.

    Prefill is the time from scheduling to first token. The median, because a few requests were
    faster than any prefill of their length: the server must have found a part of them in its
    cache, and the trace does not say which. The very first request is left out: the server had
    never run before.
    """
    first = trace.first(FIRST_PART)
    times = measured_times(first)
    record = serve(first, profile, options).recorder
    simulated = np.array(record.first_at) - np.array(record.scheduled_at)
    return float(np.median(np.abs(np.log(simulated / (times[:, 2] - times[:, 1])))[1:]))


def infer_token_budget(trace: RequestTrace, profile: DeviceProfile) -> int:
    """Tokens of a step: the power of two with the least error of prefill in the first part."""
    return min(
        BUDGETS,
        key=lambda budget: prefill_error(
            trace, profile, replace(MEASURED_SERVER, token_budget=budget)
        ),
    )


def counted(trace: RequestTrace, profile: DeviceProfile) -> CountedSteps:
    """The counted steps of the measured server."""
    return count_steps(trace, MeasuredCosts(profile))


def missing_ps(
    trace: RequestTrace, profile: DeviceProfile, options: ServerOptions
) -> list[tuple[PromptStep, int]]:
    """Steps with whole prompts and no graph, and what they took beyond their costs.

    Parameters
    ----------
    options : ServerOptions
        Say the costs.
    """
    costs = MeasuredCosts(profile, options.deployment)
    launch = options.deployment.launch
    steps = counted(trace, profile).prompt_steps(costs, options.token_budget)
    return [
        (step, step.measured_ps - _total(costs, step.shape))
        for step in steps
        if not launch.has_graph(step.shape.tokens)
    ]


class PromptCosts(NamedTuple):
    """What steps with prompts take beyond, or less than, their measured operators."""

    idle_ps: int
    beside: float
    tiles_ps: tuple[tuple[int, int], ...]


def infer_prompt_costs(trace: RequestTrace, profile: DeviceProfile) -> PromptCosts:
    """`LaunchModel.idle_ps` and `tiles_ps`, and `Deployment.beside`, from the first part.

    First the line with the least absolute errors through what counted steps took beyond their
    operators, by what decode adds to them; absolute, because of prompts that were found in the
    cache. Then the medians of what is left by number of tiles, without steps that are so
    short that they found a prompt there. Times are rounded to 0.1 ms, the
    factor to 0.01.
    """
    launch = replace(MEASURED_SERVER.deployment.launch, idle_ps=0, tiles_ps=())
    plain = replace(MEASURED_SERVER.deployment, launch=launch, beside=1.0)
    costs = MeasuredCosts(profile, plain)
    found = [
        (step, missing)
        for step, missing in missing_ps(trace, profile, replace(MEASURED_SERVER, deployment=plain))
        if max(step.requests) < FIRST_PART
    ]
    beyond = np.array([missing for _, missing in found], float)
    added = np.array([costs.beside_ps(step.shape) for step, _ in found])
    idle, slope = _least_absolute(added, beyond)
    idle, slope = round(idle / 10**8) * 10**8, round(slope, 2)
    left = beyond - idle - slope * added
    tiles = np.array([-(-step.shape.tokens // TILE_TOKENS) for step, _ in found])
    tiles, left = tiles[left > -_CLEAR_PS], left[left > -_CLEAR_PS]
    medians = tuple(
        (int(tile), round(float(np.median(left[tiles == tile])) / 10**8) * 10**8)
        for tile in np.unique(tiles)
        if (tiles == tile).sum() >= _LEAST_STEPS
    )
    return PromptCosts(idle_ps=idle, beside=round(1 + slope, 2), tiles_ps=medians)


def _least_absolute(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Intercept and slope of the line through points with the least sum of absolute errors."""
    count, scale = len(x), 1e9
    left = np.column_stack([np.ones(count), x / scale, np.eye(count), -np.eye(count)])
    found = linprog(
        np.concatenate([np.zeros(2), np.ones(2 * count)]),
        A_eq=left,
        b_eq=y / scale,
        bounds=[(None, None)] * 2 + [(0, None)] * (2 * count),
        method="highs",
    )
    if found.x is None:
        raise FaultError("no line through what steps took beyond their operators was found")
    return float(found.x[0]) * scale, float(found.x[1])


def uncut_share(
    trace: RequestTrace, profile: DeviceProfile, sequences: tuple[int, int], *, first: bool
) -> tuple[float, int]:
    """How much decode alone took, from 0 as with cut sequences to 1 as with uncut ones.

    Parameters
    ----------
    sequences : tuple of (int, int)
        Rows of steps with so many decoding sequences count.
    first : bool
        Those before the first request that waits for a place, or those behind.

    Returns
    -------
    tuple of (float, int)
        The median over rows of steps, and how many rows there are; NaN if none.
    """
    cut, uncut = (
        MeasuredCosts(profile, Deployment(launch=LaunchModel(uncut=each)))
        for each in ((0, 0), (0, 256))
    )
    steps = counted(trace, profile)
    end = int(measured_times(trace)[FIRST_PART, 1])
    low, high = sequences
    shares = []
    for begin, shapes, length in steps.decode_rows():
        if (begin < end) is not first or not low <= shapes[-1].decodes <= shapes[0].decodes <= high:
            continue
        least, most = (sum(_total(costs, shape) for shape in shapes) for costs in (cut, uncut))
        if most > least:
            shares.append((length - least) / (most - least))
    return (float(np.median(shares)) if shares else float("nan")), len(shares)


def with_cache_hits(trace: RequestTrace, profile: DeviceProfile) -> RequestTrace:
    """The trace with the parts of prompts that the server must have found in its cache.

    The trace does not record them. Where a step with whole prompts was clearly shorter than its
    operators, the longest prompt in it takes the tokens that explain it best, in whole blocks.
    So the prefill of these requests is an input here, and must not be judged.
    """
    costs = MeasuredCosts(profile, MEASURED_SERVER.deployment)
    requests = list(trace.requests)
    for step, missing in missing_ps(trace, profile, MEASURED_SERVER):
        if missing > -_CLEAR_PS:
            continue
        chosen = max(step.requests, key=lambda index: trace.requests[index].input_tokens)
        hit = _best_hit(costs, step, trace.requests[chosen].input_tokens)
        requests[chosen] = replace(requests[chosen], cached_tokens=hit)
    return replace(trace, requests=tuple(requests))


def _best_hit(costs: StepCosts, step: PromptStep, tokens: int) -> int:
    """Cached tokens of one prompt of a step with which its time is nearest to the measured one."""
    others = list(step.shape.chunks)
    others.remove(Chunk(tokens, 0))
    block = MEASURED_SERVER.block_tokens

    def error(hit: int) -> int:
        shape = step.shape._replace(chunks=(*others, Chunk(tokens - hit, hit)))
        return abs(_total(costs, shape) - step.measured_ps)

    return min(range(block, tokens, block), key=error)


def _total(costs: StepCosts, shape: StepShape) -> int:
    return sum(costs.step(shape).stages)
