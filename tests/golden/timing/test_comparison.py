"""The measured server: aims that are reached stay reached, and what was inferred follows."""

import numpy as np
import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.errors import InputError
from fanweave.golden.timing.comparison import compare, simulated_times, trivial_times
from fanweave.golden.timing.measured_server import (
    MEASURED_SERVER,
    infer_intake_ps,
    infer_step_costs,
    infer_token_budget,
    with_step_costs,
)
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.requests import PS
from fanweave.golden.timing.serving import serve


@pytest.fixture(scope="module")
def trace():
    return read_requests("measured-server")


@pytest.fixture(scope="module")
def profile():
    return load_profile("rtxpro6000")


@pytest.fixture(scope="module")
def rows(trace, profile):
    return compare(serve(trace, profile, MEASURED_SERVER))


def test_percentiles_of_tpot_end_to_end_and_waiting_are_met(rows):
    assert len(rows) == 2 * 4 * 3
    missed = {(row.group, row.metric, row.percentile) for row in rows if abs(row.error) > row.goal}
    assert missed <= {
        # Microseconds of a host that is busy with something else.
        ("requests 1-128", "queue_wait", 90),
        # Where a request falls in the step before; the interval holds the aim.
        ("the rest", "prefill", 50),
        ("the rest", "prefill", 90),
    }
    for row in rows:
        if row.metric == "prefill":
            assert row.low < row.goal
            assert row.high > -row.goal


def test_single_requests_are_better_than_with_the_trivial_model(rows):
    for row in rows:
        assert row.request_error < 0.55 * row.trivial_request_error
        assert abs(row.request_bias) <= row.request_error


def test_operators_alone_are_nearly_as_good(trace, profile):
    run = serve(trace, profile, with_step_costs(MEASURED_SERVER, 1.0, 0))
    for row in compare(run):
        if row.metric in ("tpot", "end_to_end"):
            assert abs(row.error) < 0.03


def test_what_was_inferred_follows_from_the_first_part(trace, profile):
    launch = MEASURED_SERVER.deployment.launch
    assert infer_intake_ps(trace) == MEASURED_SERVER.intake_ps
    assert infer_token_budget(trace, profile) == MEASURED_SERVER.token_budget
    assert infer_step_costs(trace, profile) == (
        MEASURED_SERVER.deployment.sustained,
        launch.eager_ps,
    )


def test_the_trivial_model(trace_of):
    times = trivial_times(trace_of(*[(0, 5, 2)] * 129)) / PS
    assert times[0].tolist() == pytest.approx([0, 0, 0.0339, 0.0678])
    assert times[128].tolist() == pytest.approx([0, 0.0678, 0.1017, 0.1356])


def test_a_run_compared_with_itself_has_no_error(trace, profile, monkeypatch):
    run = serve(trace.first(150), profile, MEASURED_SERVER)
    from fanweave.golden.timing import comparison

    monkeypatch.setattr(comparison, "measured_times", lambda trace: simulated_times(run))
    for row in compare(run):
        assert row.request_error == row.request_bias == 0
        if row.measured_s:
            assert row.error == row.low == row.high == 0


def test_resampling_repeats_with_its_seed(trace, profile):
    run = serve(trace.first(140), profile, MEASURED_SERVER)
    assert compare(run, seed=5) == compare(run, seed=5)
    assert compare(run, seed=5) != compare(run, seed=6)


def test_a_trace_without_measured_times(trace_of, profile):
    with pytest.raises(InputError, match="request 0: has no measured times"):
        compare(serve(trace_of((0, 5, 5)), profile, MEASURED_SERVER))
    with pytest.raises(InputError, match="no measured times"):
        infer_intake_ps(trace_of((0, 5, 5)))


def test_simulated_times_are_integers(trace, profile):
    times = simulated_times(serve(trace.first(5), profile, MEASURED_SERVER))
    assert times.dtype == np.int64
    assert (np.diff(times, axis=1) >= 0).all()
