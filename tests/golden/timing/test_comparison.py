"""The measured server: aims that are reached stay reached, and what was inferred follows."""

import numpy as np
import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing import measured_server
from fanweave.golden.timing.comparison import (
    compare,
    measured_times,
    simulated_times,
    trivial_times,
)
from fanweave.golden.timing.measured_intake import infer_intake, intakes
from fanweave.golden.timing.measured_server import (
    FIRST_PART,
    MEASURED_SERVER,
    OPERATORS_ALONE,
    infer_prompt_costs,
    infer_token_budget,
    missing_ps,
    uncut_share,
    with_cache_hits,
)
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.serving import serve


@pytest.fixture(scope="module")
def trace():
    return read_requests("measured-server")


@pytest.fixture(scope="module")
def profile():
    return load_profile("rtxpro6000")


@pytest.fixture(scope="module")
def with_hits(trace, profile):
    return with_cache_hits(trace, profile)


@pytest.fixture(scope="module")
def rows(with_hits, profile):
    return compare(serve(with_hits, profile, MEASURED_SERVER))


def missed(rows):
    return {(row.group, row.metric, row.percentile) for row in rows if abs(row.error) > row.goal}


def test_percentiles_are_met_but_for_microseconds_of_the_host(rows):
    assert len(rows) == 2 * 4 * 3
    found = missed(rows)
    assert found == {("requests 1-128", "queue_wait", 50), ("requests 1-128", "queue_wait", 90)}
    for row in rows:
        if (row.group, row.metric, row.percentile) in found:
            assert row.within_floor
            assert abs(row.simulated_s - row.measured_s) < 20e-6
        if row.metric in ("tpot", "end_to_end"):
            assert abs(row.error) < 0.008


def test_the_trivial_model_is_nearer_once_and_by_chance(rows):
    (row,) = [row for row in rows if abs(row.trivial_error) < abs(row.error)]
    assert (row.group, row.metric, row.percentile) == ("the rest", "queue_wait", 50)
    assert abs(row.error) < 0.015
    assert 0.3 < row.trivial_closer < 0.7
    assert row.request_error < 0.1 * row.trivial_request_error
    for other in rows:
        if other.metric in ("tpot", "prefill", "end_to_end"):
            assert other.trivial_closer < 0.1


def test_single_requests_are_better_than_with_the_trivial_model(rows):
    for row in rows:
        assert row.request_error < 0.2 * row.trivial_request_error
        assert abs(row.request_bias) <= row.request_error


def test_without_what_the_cache_held_the_rest_waits_a_little_too_long(trace, profile, rows):
    blind = compare(serve(trace, profile, MEASURED_SERVER))
    for row, known in zip(blind, rows, strict=True):
        if row.metric in ("tpot", "end_to_end"):
            assert abs(row.error) < 0.035
        if row.group == "the rest" and row.metric == "queue_wait":
            assert known.error < row.error < 0.05


def test_operators_alone_are_nearly_as_good(trace, profile):
    for row in compare(serve(trace, profile, OPERATORS_ALONE)):
        if row.metric in ("tpot", "end_to_end"):
            assert abs(row.error) < 0.03


def test_what_was_inferred_follows_from_the_first_part(trace, profile):
    deployment = MEASURED_SERVER.deployment
    assert infer_intake(trace, profile) == MEASURED_SERVER.intake
    assert infer_token_budget(trace, profile) == MEASURED_SERVER.token_budget
    assert infer_prompt_costs(trace, profile) == (
        deployment.launch.idle_ps,
        deployment.beside,
        deployment.launch.tiles_ps,
    )


def test_what_was_inferred_sees_nothing_of_the_rest(trace, profile, monkeypatch):
    """Steps of the rest that took three times as long beyond their costs change nothing."""
    found = missing_ps(trace, profile, MEASURED_SERVER)
    first = [step for step, _ in found if max(step.requests) < FIRST_PART]
    assert len(first) > 60
    slower = [(s, m * 3 if max(s.requests) >= FIRST_PART else m) for s, m in found]
    monkeypatch.setattr(measured_server, "missing_ps", lambda *_: slower)
    changed = infer_prompt_costs(trace, profile)
    monkeypatch.setattr(measured_server, "missing_ps", lambda *_: found)
    assert infer_prompt_costs(trace, profile) == changed


def test_waits_for_the_host_hang_on_the_step_before(trace, profile):
    intake = MEASURED_SERVER.intake
    found = intakes(trace, profile)
    short = [each.each_ps for each in found if each.step_ps <= intake.short_ps]
    long = [each.each_ps for each in found if each.step_ps >= intake.long_ps]
    assert len(short) > 60
    assert len(long) > 20
    assert np.percentile(short, 75) * 1.8 < np.percentile(long, 25)


def test_what_was_inferred_holds_for_even_and_for_odd_requests(with_hits, profile):
    parts = {0: [], 1: [], "rest": []}
    for step, missing in missing_ps(with_hits, profile, MEASURED_SERVER):
        if not any(with_hits.requests[index].cached_tokens for index in step.requests):
            parts[max(step.requests) % 2].append(missing / 1e9)
            if max(step.requests) >= FIRST_PART:
                parts["rest"].append(missing / 1e9)
    even, odd, rest = (float(np.median(values)) for values in parts.values())
    # Milliseconds, of steps that take 50.
    assert abs(even - odd) < 0.3
    assert abs(rest) < 0.8


def test_steps_of_the_rest_take_what_was_inferred_from_the_first_part(with_hits, profile):
    errors = {}
    for name, options in (("inferred", MEASURED_SERVER), ("operators", OPERATORS_ALONE)):
        errors[name] = np.mean(
            [
                abs(missing) / step.measured_ps
                for step, missing in missing_ps(with_hits, profile, options)
                if max(step.requests) >= FIRST_PART
                and not any(with_hits.requests[index].cached_tokens for index in step.requests)
            ]
        )
    assert errors["inferred"] < 0.016
    assert errors["operators"] > 2.5 * errors["inferred"]


def test_graphs_of_33_to_64_sequences_do_not_cut_them(trace, profile):
    share, count = uncut_share(trace, profile, (33, 64), first=False)
    assert count > 25
    assert share == pytest.approx(1.0, abs=0.15)
    share, count = uncut_share(trace, profile, (65, 128), first=False)
    assert count > 100
    assert abs(share) < 0.05


def test_cached_prompts_are_whole_blocks_and_hold_one_prompt_twice(with_hits):
    found = {
        index: request.cached_tokens
        for index, request in enumerate(with_hits.requests)
        if request.cached_tokens
    }
    assert all(tokens % MEASURED_SERVER.block_tokens == 0 for tokens in found.values())
    # Two prompts are as long as an earlier one, and nearly all their whole blocks were there.
    for index, length in ((174, 1320), (188, 721)):
        assert with_hits.requests[index].input_tokens == length
        assert any(each.input_tokens == length for each in with_hits.requests[:index])
        assert 0.93 * length < found[index] <= (length - 1) // 16 * 16


def test_prefill_of_prompts_that_were_cached_is_not_judged(with_hits, profile):
    run = serve(with_hits, profile, MEASURED_SERVER)
    (row,) = [
        row
        for row in compare(run)
        if (row.group, row.metric, row.percentile) == ("the rest", "prefill", 50)
    ]
    times = measured_times(with_hits)[128:]
    judged = [request.cached_tokens == 0 for request in with_hits.requests[128:]]
    prefill = (times[:, 2] - times[:, 1]) / PICOSECONDS
    assert row.measured_s == pytest.approx(float(np.median(prefill[judged])))
    assert row.measured_s != pytest.approx(float(np.median(prefill)))


def test_the_trivial_model(trace_of):
    times = trivial_times(trace_of(*[(0, 5, 2)] * 129)) / PICOSECONDS
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
        infer_intake(trace_of((0, 5, 5)), profile)


def test_simulated_times_are_integers(trace, profile):
    times = simulated_times(serve(trace.first(5), profile, MEASURED_SERVER))
    assert times.dtype == np.int64
    assert (np.diff(times, axis=1) >= 0).all()
