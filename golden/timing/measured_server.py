"""The server whose request times were measured, and what is inferred from the first of them."""

from dataclasses import replace

import numpy as np

from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.timing.comparison import measured_times
from fanweave.golden.timing.counted_steps import CountedSteps, PromptStep, count_steps
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.launch import LaunchModel
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.golden.timing.step import Chunk, StepCosts, StepShape

__all__ = [
    "BUDGETS",
    "FIRST_PART",
    "MEASURED_SERVER",
    "OPERATORS_ALONE",
    "counted",
    "infer_idle_ps",
    "infer_intake_ps",
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
#: A step that is shorter than its operators by so much found a part of its prompts in the cache:
#: three times what steps differ otherwise.
_CLEAR_PS = 6 * 10**9

#: The numbers that the functions here infer (docs/decisions/0012-serving-calibration.md); 128
#: requests at a time are known.
MEASURED_SERVER = ServerOptions(
    deployment=Deployment(launch=LaunchModel(idle_ps=4_000_000_000, uncut=(33, 64))),
    max_sequences=128,
    token_budget=2048,
    intake_ps=8_500_000,
)
#: The same server with nothing beyond its measured operators.
OPERATORS_ALONE = replace(MEASURED_SERVER, deployment=Deployment())


def infer_intake_ps(trace: RequestTrace) -> int:
    """Time to take in a request: the median wait of the first part, in which places are free.

    Rounded to 0.5 us.
    """
    times = measured_times(trace.first(FIRST_PART))
    return round(float(np.median(times[:, 1] - times[:, 0])) / 500_000) * 500_000


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
    """Steps with whole prompts and no graph, and what they took beyond their operators.

    Parameters
    ----------
    options : ServerOptions
        What its device is thought to wait in such steps is left out.
    """
    launch = replace(options.deployment.launch, idle_ps=0)
    costs = MeasuredCosts(profile, replace(options.deployment, launch=launch))
    steps = counted(trace, profile).prompt_steps(costs, options.token_budget)
    return [
        (step, step.measured_ps - _total(costs, step.shape))
        for step in steps
        if not launch.has_graph(step.shape.tokens)
    ]


def infer_idle_ps(trace: RequestTrace, profile: DeviceProfile) -> int:
    """`LaunchModel.idle_ps`: the median of what steps of the first part took beyond operators.

    The median, because of prompts that were found in the cache. Rounded to 0.1 ms.
    """
    values = [
        missing
        for step, missing in missing_ps(trace, profile, MEASURED_SERVER)
        if max(step.requests) < FIRST_PART
    ]
    return round(float(np.median(values)) / 10**8) * 10**8


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
    idle = MEASURED_SERVER.deployment.launch.idle_ps
    requests = list(trace.requests)
    for step, missing in missing_ps(trace, profile, MEASURED_SERVER):
        if missing - idle > -_CLEAR_PS:
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
