"""Steps counted from a trace: on traces whose steps are known, and on the measured one."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.timing.counted_steps import count_steps
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.requests import Measured, RequestTrace
from fanweave.golden.timing.serving import ServerOptions, serve

PROFILE = load_profile("rtxpro6000")
COSTS = MeasuredCosts(PROFILE)


class Scaled:
    """Costs that are wrong by a factor."""

    stages = 1

    def __init__(self, factor):
        self.factor = factor

    def step(self, shape):
        time = COSTS.step(shape)
        return time._replace(stages=tuple(round(each * self.factor) for each in time.stages))


@pytest.fixture(scope="module")
def measured():
    return read_requests("measured-server")


@pytest.fixture(scope="module")
def counts(measured):
    return count_steps(measured, COSTS)


@pytest.fixture(scope="module")
def simulated(measured):
    """A run as if it had been measured."""
    trace = measured.first(60)
    run = serve(trace, PROFILE, ServerOptions())
    record = run.recorder
    requests = []
    for index, request in enumerate(trace.requests):
        queued, scheduled, first, last = record.times(index)
        times = Measured(queued=queued, scheduled=scheduled, first_token=first, last_token=last)
        requests.append(replace(request, measured=times))
    return RequestTrace(name="simulated", requests=tuple(requests)), run


def test_every_request_takes_part_in_as_many_steps_as_it_has_tokens(measured, counts):
    for index, request in enumerate(measured.requests):
        assert counts.last[index] - counts.first[index] == request.output_tokens - 1


def test_steps_of_the_measured_server_have_plausible_times(counts):
    assert counts.numbers[-1] == 2388
    each = np.diff(counts.ends) / np.diff(counts.numbers)
    assert each.min() > 10e9
    assert each.max() < 0.13e12


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_counts_do_not_hang_on_the_estimate(measured, counts, factor):
    other = count_steps(measured, Scaled(factor))
    differ = (np.diff(other.numbers) != np.diff(counts.numbers)).sum()
    assert differ <= 4


def test_steps_of_a_simulated_server_are_counted_right(simulated):
    trace, run = simulated
    found = count_steps(trace, Scaled(0.97))
    assert found.numbers[-1] - found.numbers[0] <= run.recorder.uses[0].steps
    steps = found.prompt_steps(COSTS, 2048)
    assert len(steps) > 10
    exact = 0
    for step in steps:
        (time,) = COSTS.step(step.shape).stages
        exact += abs(time / step.measured_ps - 1) < 0.02
    assert exact >= 0.9 * len(steps)


def test_rows_of_decode_alone_take_their_costs(simulated):
    trace, _ = simulated
    rows = count_steps(trace, COSTS).decode_rows()
    assert len(rows) > 20
    for _, shapes, length in rows:
        assert all(not shape.chunks for shape in shapes)
        assert sum(COSTS.step(shape).stages[0] for shape in shapes) == pytest.approx(
            length, rel=0.01
        )


def test_a_trace_that_no_steps_can_give(simulated):
    trace, _ = simulated
    # Two requests that begin and end together cannot have different numbers of tokens.
    one, other = trace.requests[0], trace.requests[1]
    twin = replace(other, measured=one.measured, arrival=one.arrival)
    with pytest.raises(FaultError, match="twins: no numbers of steps agree"):
        count_steps(RequestTrace(name="twins", requests=(one, twin)), COSTS)


def test_a_trace_without_measured_times(trace_of):
    with pytest.raises(InputError, match="has no measured times"):
        count_steps(trace_of((0, 5, 5)), COSTS)
