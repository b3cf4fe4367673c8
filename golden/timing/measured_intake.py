"""How long the host of the measured server takes to take in a request, from what it waits."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.timing.comparison import measured_times
from fanweave.golden.timing.config import IntakeModel
from fanweave.golden.timing.counted_steps import CountedSteps
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.measured_server import FIRST_PART, MEASURED_SERVER, counted
from fanweave.golden.timing.requests import RequestTrace
from fanweave.golden.timing.step import Chunk, StepCosts

__all__ = ["Intake", "infer_intake", "intakes"]

#: Requests that the host takes in together are queued within this, picoseconds.
_TOGETHER_PS = 2 * 10**8
#: Waits that are longer are those for a step; and a request that is taken in behind a step is so
#: within this, picoseconds.
_BEHIND_PS = 10**9
#: Lengths of steps that are tried, picoseconds.
_GRID = range(10 * 10**9, 101 * 10**9, 5 * 10**9)
_ROUNDED = 500_000


@dataclass(frozen=True, kw_only=True)
class Intake:
    """A request that was scheduled as soon as it was taken in.

    Attributes
    ----------
    step_ps : int
        How long the step before took by its costs, picoseconds.
    together : int
        Requests that were taken in from this one on.
    wait_ps : int
        From being taken in to being scheduled.
    """

    step_ps: int
    together: int
    wait_ps: int

    @property
    def each_ps(self) -> float:
        """Wait for each request that was taken in."""
        return self.wait_ps / self.together


def intakes(trace: RequestTrace, profile: DeviceProfile) -> list[Intake]:
    """Requests of the first part that did not wait for a step, but the very first."""
    steps, costs = counted(trace, profile), MeasuredCosts(profile, MEASURED_SERVER.deployment)
    times = measured_times(trace.first(FIRST_PART))
    queued = times[:, 0]
    found = []
    for at, wait in zip(queued[1:].tolist(), (times[1:, 1] - queued[1:]).tolist(), strict=True):
        if wait < _BEHIND_PS:
            together = int(((queued >= at) & (queued < at + _TOGETHER_PS)).sum())
            length = _step_before(steps, costs, at)
            found.append(Intake(step_ps=length, together=together, wait_ps=wait))
    return found


def _step_before(steps: CountedSteps, costs: StepCosts, now: int) -> int:
    """How long the step took that ended last: one whose prompts are known, or decode alone."""
    at = int(np.searchsorted(steps.ends, now, side="right")) - 1
    number, chunks = int(steps.numbers[at]) + 1, []
    if now - int(steps.ends[at]) < _BEHIND_PS:
        number -= 1
        requests = np.flatnonzero(steps.first == number)
        most = MEASURED_SERVER.token_budget
        chunks = [Chunk(min(steps.trace.requests[i].input_tokens, most), 0) for i in requests]
    shape = steps.decode_shape(number, chunks)
    return sum(costs.step(shape).stages) if shape.tokens else 0


def infer_intake(trace: RequestTrace, profile: DeviceProfile) -> IntakeModel:
    """The model with the least error on a logarithmic scale.

    Its two lengths of steps are multiples of 5 ms, its times the medians behind shorter and
    longer ones, rounded to 0.5 us.
    """
    found = intakes(trace, profile)
    lengths = np.array([each.step_ps for each in found])
    waits = np.array([each.each_ps for each in found])
    models = [
        IntakeModel(
            ps=_median(waits[lengths <= short]),
            slow_ps=_median(waits[lengths >= long]),
            short_ps=short,
            long_ps=long,
        )
        for short in _GRID
        for long in _GRID
        if short < long and (lengths <= short).any() and (lengths >= long).any()
    ]

    def error(model: IntakeModel) -> float:
        expected = [model.behind(length) for length in lengths.tolist()]
        return float(np.abs(np.log(waits / expected)).mean())

    return min(models, key=error)


def _median(values: np.ndarray) -> int:
    return round(float(np.median(values)) / _ROUNDED) * _ROUNDED
