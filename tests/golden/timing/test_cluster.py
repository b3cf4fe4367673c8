"""Several replicas, pipelines, prefill and decode apart, prefixes; reckoned by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.timing.cluster import Cluster, KvLink, ReplicaSpec
from fanweave.golden.timing.config import ReplicaConfig
from fanweave.golden.timing.invariants import check_run
from fanweave.golden.timing.metrics import measure
from fanweave.golden.timing.requests import Request, RequestTrace

from .conftest import LinearCosts

FLAT = LinearCosts(start=1000, token=0, stored=0, longest=0)
LINK = KvLink(bytes_per_s=1e12, latency_ps=50, bytes_per_token=10)


def spec(costs=FLAT, **config):
    return ReplicaSpec(costs=costs, config=ReplicaConfig(**({"kv_blocks": 100} | config)))


def serve(trace, *specs, link=LINK):
    run = Cluster(list(specs), link).serve(trace)
    check_run(run)
    return run


def test_requests_go_to_the_replica_with_less_to_do(trace_of):
    run = serve(trace_of((0, 50, 9), (1, 5, 2), (2, 5, 2)), spec(), spec())
    assert [use.prefill_tokens for use in run.recorder.uses] == [50, 10]
    assert run.recorder.first_at[1] == 1001


def test_a_prefilled_request_decodes_elsewhere_once_its_cache_has_come(trace_of):
    run = serve(
        trace_of((0, 20, 3), (0, 20, 1)),
        spec(role="prefill", asynchronous=False),
        spec(role="decode", asynchronous=False),
    )
    record = run.recorder
    # Both prompts in one step of 1000; 20 tokens of 10 bytes at a byte a picosecond.
    assert record.first_at == [1000, 1000]
    assert record.last_at == [1000 + 200 + 50 + 2 * 1000, 1000]
    assert sorted(zip(record.gap_lengths, record.gap_counts, strict=True)) == [
        (1000, 1),
        (1250, 1),
    ]
    assert run.transferred == 20
    assert run.link_busy == {(0, 1): 200}
    assert [use.decode_tokens for use in record.uses] == [0, 2]


def test_caches_between_two_replicas_come_one_after_another(trace_of):
    run = serve(
        trace_of((0, 20, 2), (0, 20, 2)),
        spec(role="prefill", asynchronous=False),
        spec(role="decode", asynchronous=False),
    )
    # The second cache is there 200 later; its request joins the step after the first one's.
    assert run.recorder.last_at == [2250, 3250]


def test_decode_waits_for_memory_and_prefill_keeps_the_cache(trace_of):
    small = spec(role="decode", kv_blocks=3, asynchronous=False)
    trace = trace_of((0, 30, 3), (0, 30, 3))
    run = serve(trace, spec(role="prefill", asynchronous=False), small)
    assert run.recorder.last_at[0] == 1000 + 300 + 50 + 2000
    # Only then is there memory for the second one, and its cache is sent.
    assert run.recorder.last_at[1] == 3350 + 300 + 50 + 2000


def test_pipeline_stages_work_at_the_same_time(trace_of):
    costs = LinearCosts(stages=2, start=1000, token=0, stored=0, longest=0, transfer=100)
    run = serve(trace_of((0, 4, 1)), spec(costs))
    assert run.recorder.first_at == [2100]
    run = serve(trace_of((0, 4, 2), (1, 4, 2)), spec(costs, max_sequences=2))
    # The second request has a lane of its own, but is taken in only when the host is free.
    assert run.recorder.first_at == [2100, 5200]
    assert run.recorder.last_at == [4200, 7300]
    many = serve(trace_of(*[(0, 4, 9)] * 2), spec(costs, max_sequences=2))
    assert measure(many).co_utilisation > 0.4


def test_equal_prefixes_are_computed_once(trace_of):
    prefix = list(range(4))
    trace = trace_of((0, 70, 2, prefix), (10**6, 70, 2, prefix), prefix_block=16)
    run = serve(trace, spec())
    assert run.recorder.cached_tokens == [0, 64]
    assert [use.prefill_tokens for use in run.recorder.uses] == [76]
    assert measure(run).cached_share == pytest.approx(64 / 140)
    off = serve(trace, spec(prefix_caching=False))
    assert off.recorder.cached_tokens == [0, 0]


def test_of_a_prompt_that_is_all_stored_a_token_is_left_to_compute(trace_of):
    trace = trace_of((0, 64, 2, range(4)), (10**6, 64, 2, range(4)), prefix_block=16)
    run = serve(trace, spec())
    assert run.recorder.cached_tokens == [0, 48]


def test_prefixes_make_place_and_are_computed_again(trace_of):
    rows = [(i * 10**6, 64, 2, [10 * (i % 3) + j for j in range(4)]) for i in range(6)]
    run = serve(trace_of(*rows, prefix_block=16), spec(kv_blocks=8))
    assert run.replicas[0].memory.evicted
    assert sum(run.recorder.cached_tokens) < 3 * 48


@settings(max_examples=120, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3000),
            st.integers(1, 70),
            st.integers(1, 25),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=14,
    ),
    stages=st.integers(1, 3),
    split=st.booleans(),
    replicas=st.integers(1, 3),
    spare=st.integers(0, 25),
    sequences=st.integers(1, 7),
    asynchronous=st.booleans(),
)
def test_whatever_happens_the_invariants_hold(
    rows, stages, split, replicas, spare, sequences, asynchronous
):
    now, requests = 0, []
    for index, (gap, tokens, output, family) in enumerate(rows):
        now += gap
        prefix = tuple(family * 100 + j for j in range(-(-tokens // 8)))
        requests.append(
            Request(
                name=str(index),
                arrival=now,
                input_tokens=tokens,
                output_tokens=output,
                prefix=prefix,
            )
        )
    trace = RequestTrace(name="made", requests=tuple(requests), prefix_block=8)
    blocks = max(-(-(r.input_tokens + r.output_tokens) // 4) for r in requests) + spare
    costs = LinearCosts(stages=stages, transfer=30 * (stages - 1))
    roles = ["prefill", *["decode"] * replicas] if split else ["both"] * replicas
    specs = [
        spec(
            costs,
            role=role,
            kv_blocks=blocks,
            block_tokens=4,
            max_sequences=sequences,
            token_budget=40,
            asynchronous=asynchronous,
        )
        for role in roles
    ]
    run = serve(trace, *specs)
    metrics = measure(run)
    assert 0 <= metrics.co_utilisation <= min(metrics.utilisation.values())
    again = serve(trace, *specs)
    assert again.recorder.last_at == run.recorder.last_at


def test_what_cannot_be_served(trace_of):
    with pytest.raises(InputError, match=r"request 0: its 100 tokens need 7 blocks.*16 tokens"):
        serve(trace_of((0, 90, 11)), spec(kv_blocks=6))
    # A replica that only prefills holds no more than the prompt.
    with pytest.raises(InputError, match="need 7 blocks"):
        serve(
            trace_of((0, 90, 11)),
            spec(role="prefill", kv_blocks=6),
            spec(role="decode", kv_blocks=6),
        )
    for roles in (["prefill"], ["decode"], ["both", "decode"], []):
        with pytest.raises(InputError, match="roles"):
            Cluster([spec(role=role) for role in roles], LINK)
    with pytest.raises(InputError, match="need a link"):
        Cluster([spec(role="prefill"), spec(role="decode")])
    with pytest.raises(InputError, match="KV link"):
        KvLink(bytes_per_s=0, latency_ps=0, bytes_per_token=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_sequences": 0},
        {"token_budget": 0},
        {"kv_blocks": 0},
        {"token_budget": 4, "max_sequences": 5},
        {"role": "none"},
    ],
)
def test_configurations_that_do_not_fit(wrong):
    with pytest.raises(InputError):
        ReplicaConfig(**({"kv_blocks": 1} | wrong))


def broken(trace_of):
    return serve(trace_of((0, 20, 3), (5, 20, 1)), spec())


@pytest.mark.parametrize(
    ("breaking", "message"),
    [
        (
            lambda run: run.recorder.gap_counts.append(1) or run.recorder.gap_lengths.append(0),
            "tokens were",
        ),
        (lambda run: run.recorder.gap_lengths.__setitem__(0, 1), "sum up to"),
        (lambda run: run.recorder.first_at.__setitem__(0, 0), "do not follow"),
        (lambda run: run.recorder.last_at.__setitem__(1, 9000), "1 tokens from"),
        (lambda run: setattr(run.recorder, "repeated", 3), "and 43 needed"),
        (lambda run: setattr(run.replicas[0].memory, "private", 1), "KV memory"),
        (lambda run: run.replicas[0].memory.take(1), "1 blocks in use"),
        (lambda run: setattr(run.replicas[0], "outstanding", 1), "1 tokens outstanding"),
        (lambda run: setattr(run.recorder.uses[0], "peak_blocks", 101), "101 blocks"),
    ],
)
def test_every_invariant_can_fail(trace_of, breaking, message):
    run = broken(trace_of)
    breaking(run)
    with pytest.raises(FaultError, match=message):
        check_run(run)


def test_what_is_taken_down_cannot_contradict_itself(trace_of):
    record = broken(trace_of).recorder
    for call in (
        lambda: record.first_token(0, 9),
        lambda: record.last_token(0, 9),
        lambda: record.gaps(-1, 1),
        lambda: record.busy(0, 0, 0, 5),
    ):
        with pytest.raises(FaultError):
            call()
