import pytest

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing.cluster import Cluster, ReplicaSpec
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.slo import Slo, attainment, highest_rate

from .conftest import LinearCosts


def serve(trace, sequences=128):
    """Every step takes a second."""
    costs = LinearCosts(start=PICOSECONDS, token=0, stored=0, longest=0)
    config = ReplicaConfig(kv_blocks=1000, max_sequences=sequences, asynchronous=False)
    return Cluster([ReplicaSpec(costs=costs, config=config)]).serve(trace)


def test_limits_are_counted_together(trace_of):
    run = serve(trace_of((0, 4, 3), (PICOSECONDS // 2, 4, 1), (PICOSECONDS, 4, 5)))
    # First tokens after 1, 1.5 and 1 s; a second a token; ends after 3, 1.5 and 5 s.
    assert attainment(run, Slo(ttft_s=1)).attained == pytest.approx(2 / 3)
    assert attainment(run, Slo(ttft_s=1.5)).attained == 1
    assert attainment(run, Slo(tpot_s=0.99)).attained == pytest.approx(1 / 3)
    assert attainment(run, Slo(tpot_s=1)).attained == 1
    assert attainment(run, Slo(ttft_s=1, end_to_end_s=3)).attained == pytest.approx(1 / 3)
    assert attainment(run, Slo(ttft_s=1)).goodput == pytest.approx(2 / 6)


def test_the_highest_rate_is_that_of_a_server_with_one_place(trace_of):
    trace = trace_of(*[(i * PICOSECONDS, 4, 1) for i in range(200)])
    rate = highest_rate(trace, Slo(ttft_s=2.0), lambda each: serve(each, sequences=1))
    # One request a second; a little more keeps 99% of 200 requests within a second of waiting.
    assert 1.0 <= rate < 1.02
    assert highest_rate(trace, Slo(ttft_s=0.5), lambda each: serve(each, sequences=1)) == 0


def test_no_rate_is_tried_that_spreads_a_trace_over_too_long_a_time(trace_of):
    trace = trace_of(*[(i * PICOSECONDS, 4, 1) for i in range(20)])
    tried = []

    def broken(each):
        tried.append(each.seconds)
        return serve(each)

    few = trace_of((0, 4, 1), (PICOSECONDS, 4, 1))
    assert highest_rate(few, Slo(ttft_s=0.5), broken) == 0
    assert len(tried) == 13
    assert tried[-1] == 4096
    tried.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fanweave.golden.timing.slo.MOST_SECONDS", 100)
        assert highest_rate(trace, Slo(ttft_s=0.5), broken) == 0
    assert tried == [19, 38, 76]


def test_limits_that_are_none():
    for wrong in (
        {},
        {"ttft_s": 0},
        {"tpot_s": -1.0},
        {"tpot_s": float("inf")},
        {"ttft_s": 1, "share": 0},
    ):
        with pytest.raises(InputError):
            Slo(**wrong)
