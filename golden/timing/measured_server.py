"""The server whose request times were measured, and what is inferred from the first of them."""

from dataclasses import replace

import numpy as np

from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.timing.comparison import measured_times
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.launch import LaunchModel
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve

__all__ = [
    "BUDGETS",
    "FIRST_PART",
    "MEASURED_SERVER",
    "infer_intake_ps",
    "infer_step_costs",
    "infer_token_budget",
    "prefill_error",
    "with_step_costs",
]

#: Requests from which the inferred numbers come: those that never wait for a place.
FIRST_PART = 128
_SUSTAINED = tuple(1 + percent / 100 for percent in range(11))
#: Tokens of a step that are tried.
BUDGETS = (512, 1024, 2048, 4096, 8192)
_EAGER_PS = tuple(milliseconds * 10**9 for milliseconds in range(0, 31, 2))

#: The numbers that the functions here infer (docs/decisions/0012-serving-calibration.md); 128
#: requests at a time are known.
MEASURED_SERVER = ServerOptions(
    deployment=Deployment(sustained=1.05, launch=LaunchModel(eager_ps=20_000_000_000)),
    max_sequences=128,
    token_budget=2048,
    intake_ps=8_500_000,
)


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


def infer_step_costs(trace: RequestTrace, profile: DeviceProfile) -> tuple[float, int]:
    """Factor on dense layers and host time of steps without a graph, from the first part.

    Returns
    -------
    tuple of (float, int)
        `Deployment.sustained` and `LaunchModel.eager_ps`: of a grid, the pair with the least
        error of prefill.
    """
    return min(
        ((sustained, eager_ps) for sustained in _SUSTAINED for eager_ps in _EAGER_PS),
        key=lambda pair: prefill_error(trace, profile, with_step_costs(MEASURED_SERVER, *pair)),
    )


def with_step_costs(options: ServerOptions, sustained: float, eager_ps: int) -> ServerOptions:
    """The same server with other step costs; 1 and 0 are the measured operators alone."""
    launch = replace(options.deployment.launch, eager_ps=eager_ps)
    deployment = replace(options.deployment, sustained=sustained, launch=launch)
    return replace(options, deployment=deployment)
