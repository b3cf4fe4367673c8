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
    "FIRST_PART",
    "MEASURED_SERVER",
    "infer_intake_ps",
    "infer_step_costs",
    "with_step_costs",
]

#: Requests from which the inferred numbers come: those that never wait for a place.
FIRST_PART = 128
_SUSTAINED = tuple(1 + percent / 100 for percent in range(11))
_EAGER_PS = tuple(milliseconds * 10**9 for milliseconds in range(7))

#: Batching as the server had it, and the numbers that `infer_step_costs` and `infer_intake_ps`
#: give (docs/decisions/0012-serving-calibration.md).
MEASURED_SERVER = ServerOptions(
    deployment=Deployment(sustained=1.02, launch=LaunchModel(eager_ps=3_000_000_000)),
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


def infer_step_costs(trace: RequestTrace, profile: DeviceProfile) -> tuple[float, int]:
    """Factor on dense layers and idle time of steps without a graph, from the first part.

    Of a grid the pair with which prefill, the time from scheduling to first token, has the
    least mean absolute error on a logarithmic scale. The very first request is left out: the
    server had never run before.

    Returns
    -------
    tuple of (float, int)
        `Deployment.sustained`, and `LaunchModel.eager_ps`.
    """
    first = trace.first(FIRST_PART)
    times = measured_times(first)
    measured = (times[:, 2] - times[:, 1])[1:]
    errors = {}
    for sustained in _SUSTAINED:
        for eager_ps in _EAGER_PS:
            options = with_step_costs(MEASURED_SERVER, sustained, eager_ps)
            record = serve(first, profile, options).recorder
            simulated = np.array(record.first_at) - np.array(record.scheduled_at)
            error = np.abs(np.log(simulated[1:] / measured)).mean()
            errors[sustained, eager_ps] = float(error)
    return min(errors, key=errors.__getitem__)


def with_step_costs(options: ServerOptions, sustained: float, eager_ps: int) -> ServerOptions:
    """The same server with other step costs; 1 and 0 are the measured operators alone."""
    launch = replace(options.deployment.launch, eager_ps=eager_ps)
    deployment = replace(options.deployment, sustained=sustained, launch=launch)
    return replace(options, deployment=deployment)
