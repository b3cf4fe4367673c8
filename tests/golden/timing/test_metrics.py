import numpy as np
import pytest

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.timing.cluster import Cluster, KvLink, ReplicaSpec
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.metrics import (
    DEFINITIONS,
    distribution,
    measure,
    weighted_percentiles,
)

from .conftest import LinearCosts

SECOND = LinearCosts(start=PICOSECONDS, token=0, stored=0, longest=0)


def serve(trace, *roles, link=None):
    specs = [
        ReplicaSpec(
            costs=SECOND,
            config=ReplicaConfig(kv_blocks=10, role=role, asynchronous=False),
        )
        for role in roles
    ]
    return Cluster(specs, link).serve(trace)


def test_metrics_of_a_run_that_is_reckoned_by_hand(trace_of):
    # Steps end at 1, 2, 3, 4 s: prompt 0, prompt 1 beside decode, decode of both, of 1.
    metrics = measure(serve(trace_of((0, 16, 3), (PICOSECONDS // 2, 32, 3)), "both"))
    document = metrics.document()["latencies_s"]
    assert document["intake_wait"]["mean"] == 0.25
    assert document["queue_wait"]["mean"] == 0
    assert document["prefill"]["p50"] == 1
    assert document["ttft"]["mean"] == pytest.approx((1 + 1.5) / 2)
    assert document["tpot"]["p99"] == 1
    assert document["itl"] == {"count": 4, "mean": 1.0, "p50": 1.0, "p90": 1.0, "p99": 1.0}
    assert document["end_to_end"]["p50"] == pytest.approx((3 + 3.5) / 2)
    assert metrics.makespan_s == 4
    assert metrics.rates == {
        "requests_per_s": 0.5,
        "output_tokens_per_s": 1.5,
        "tokens_per_s": 54 / 4,
    }
    assert metrics.utilisation == {"replica 0 stage 0": 1.0}
    assert metrics.co_utilisation == 1.0
    # Blocks of 16 tokens in use after each scheduling: 1, 2 + 2, 2 + 3, 3.
    assert metrics.kv_peak == [0.5]
    assert metrics.kv_mean == [pytest.approx((1 + 4 + 5 + 3) / 40)]
    assert metrics.spread == pytest.approx(0.1)
    assert metrics.steps == 4


def test_replicas_work_at_the_same_time_for_a_part_of_it(trace_of):
    link = KvLink(bytes_per_s=16e12 / PICOSECONDS, latency_ps=0, bytes_per_token=1)
    metrics = measure(
        serve(
            trace_of((0, 16, 2), (PICOSECONDS, 16, 1), (3 * PICOSECONDS // 2, 16, 1)),
            "prefill",
            "decode",
            link=link,
        )
    )
    # Prefill works from 0 to 3 s, the cache comes at 1 + 1 s, decode works from 2 to 3 s.
    assert metrics.utilisation == {
        "replica 0 stage 0": 1.0,
        "replica 1 stage 0": pytest.approx(1 / 3),
    }
    assert metrics.co_utilisation == pytest.approx(1 / 3)
    assert metrics.link_utilisation == {"0 to 1": pytest.approx(1 / 3)}


def test_weighted_percentiles_are_those_of_the_repeated_values():
    rng = np.random.default_rng(3)
    values, counts = rng.integers(0, 1000, 50), rng.integers(1, 9, 50)
    repeated = np.repeat(values, counts)
    for percent, value in weighted_percentiles(values, counts).items():
        assert value == np.percentile(repeated, percent, method="inverted_cdf")
    assert weighted_percentiles([], []) == {50: 0.0, 90: 0.0, 99: 0.0}


def test_a_distribution_of_nothing():
    assert distribution(np.array([])).count == 0


def test_every_metric_is_defined(trace_of):
    document = measure(serve(trace_of((0, 16, 3)), "both")).document()
    names = {*document["latencies_s"], *document} - {"latencies_s", "makespan_s", "steps"}
    for name in ("utilisation", "link_utilisation"):
        assert isinstance(document[name], dict)
    assert names <= DEFINITIONS.keys()
