"""Deployment, launches, scaling and step costs."""

from dataclasses import replace

import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.errors import InputError
from fanweave.golden.timing.cached_costs import CachedCosts
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.launch import LaunchModel
from fanweave.golden.timing.measured_costs import (
    CALIBRATED_SPREAD,
    EXTRAPOLATED_SPREAD,
    MeasuredCosts,
)
from fanweave.golden.timing.step import Chunk, StepShape

PROFILE = load_profile("rtxpro6000")
CARD = PROFILE.card
EAGER = LaunchModel(graph_sizes=(), kernel_ps=0)


def decode(n, context):
    return StepShape((), n, n * context, context)


def prefill(*chunks):
    return StepShape(tuple(Chunk(*chunk) for chunk in chunks), 0, 0, 0)


def one_stage(deployment, shape):
    (time,) = MeasuredCosts(PROFILE, deployment).step(shape).stages
    return time


def test_a_step_is_the_sum_of_its_operators():
    dense = {name: table.time_ps(512) for name, table in PROFILE.dense.items()}
    layer = sum(
        time * (2 if name == "layernorm" else 1)
        for name, time in dense.items()
        if name not in ("embedding", "final_layernorm")
    )
    layer += round(PROFILE.attention.prefill_ps(512, 0))
    head = sum(table.time_ps(1) for table in PROFILE.per_sequence.values())
    expected = 32 * layer + dense["embedding"] + dense["final_layernorm"] + head
    assert one_stage(Deployment(), prefill((512, 0))) == expected


def test_decode_of_one_sequence_uses_its_own_context():
    longer = one_stage(Deployment(), decode(1, 4096)) - one_stage(Deployment(), decode(1, 1024))
    attention = PROFILE.attention
    assert longer == 32 * (
        round(attention.decode_ps(1, 4096)) - round(attention.decode_ps(1, 1024))
    )


def test_unequal_lengths_take_longer_than_their_mean():
    even, uneven = decode(128, 1000), StepShape((), 128, 128 * 1000, 4000)
    assert one_stage(Deployment(), uneven) > one_stage(Deployment(), even)
    chunk = (Chunk(512, 0),)
    assert one_stage(Deployment(), StepShape(chunk, 128, 128 * 1000, 4000)) > one_stage(
        Deployment(), StepShape(chunk, 128, 128 * 1000, 1000)
    )


def test_several_chunks_share_the_start_of_the_kernel():
    attention = PROFILE.attention
    both = one_stage(Deployment(), prefill((300, 0), (212, 64)))
    one = one_stage(Deployment(), prefill((512, 0)))
    extra = attention.prefill_ps(300, 0) + attention.prefill_ps(212, 64) - attention.floor_ps
    heads = PROFILE.per_sequence.values()
    head = sum(table.time_ps(2) - table.time_ps(1) for table in heads)
    assert both - one == 32 * (round(extra) - round(attention.prefill_ps(512, 0))) + head


def test_a_chunk_longer_than_measured_is_cut():
    costs = MeasuredCosts(PROFILE, Deployment())
    time = costs.step(prefill((5000, 0)))
    assert not time.calibrated
    assert time.spread == EXTRAPOLATED_SPREAD
    assert time.stages[0] > 2 * costs.step(prefill((2048, 0))).stages[0]


def test_the_calibrated_range():
    costs = MeasuredCosts(PROFILE, Deployment())
    assert costs.step(prefill((2048, 16384))).spread == CALIBRATED_SPREAD
    for shape in (
        prefill((2048, 16385)),
        prefill((2049, 0)),
        decode(257, 10),
        decode(1, 16385),
        StepShape((Chunk(16, 0),), 129, 129, 1),
    ):
        assert not costs.step(shape).calibrated
    for deployment in (Deployment(tensor=2), Deployment(kv_bits=8)):
        assert not MeasuredCosts(PROFILE, deployment).step(decode(1, 10)).calibrated
    assert MeasuredCosts(PROFILE, Deployment(pipeline=2)).step(decode(1, 10)).calibrated


def test_graphs_pad_and_other_steps_wait_for_the_host():
    launch = LaunchModel(graph_sizes=(1, 8), graph_ps=3, eager_ps=5, kernel_ps=0)
    assert [launch.padded(tokens) for tokens in (1, 2, 8, 9)] == [1, 8, 8, 9]
    assert [launch.host(tokens) for tokens in (8, 9)] == [3, 5]
    slow = LaunchModel(graph_sizes=(1, 8), kernel_ps=7, kernels_per_layer=2, kernels_per_step=1)
    assert slow.total(8, 10, 100) == 100
    assert slow.total(9, 10, 100) == 147
    assert slow.total(9, 10, 1000) == 1000
    padded = Deployment(launch=replace(EAGER, graph_sizes=(8,)))
    # The sequences that are sampled are not padded.
    less = sum(t.time_ps(8) - t.time_ps(5) for t in PROFILE.per_sequence.values())
    same = 32 * (
        round(PROFILE.attention.decode_ps(8, 64)) - round(PROFILE.attention.decode_ps(5, 64))
    )
    assert one_stage(padded, decode(8, 64)) - one_stage(padded, decode(5, 64)) == less + same
    for wrong in ({"graph_sizes": (2, 1)}, {"graph_sizes": (0,)}, {"eager_ps": -1}):
        with pytest.raises(InputError):
            LaunchModel(**wrong)


def test_a_device_waits_in_steps_without_a_graph_alone():
    waiting = Deployment(launch=LaunchModel(idle_ps=12345))
    assert one_stage(waiting, decode(8, 64)) == one_stage(Deployment(), decode(8, 64))
    shape = prefill((1024, 0))
    assert one_stage(waiting, shape) == one_stage(Deployment(), shape) + 12345
    with pytest.raises(InputError, match="idle_ps = -1"):
        LaunchModel(idle_ps=-1)


def test_steps_without_a_graph_take_what_their_tiles_say():
    tiles = Deployment(launch=LaunchModel(idle_ps=50, tiles_ps=((3, -20), (8, 7))))
    assert one_stage(tiles, decode(8, 64)) == one_stage(Deployment(), decode(8, 64))
    for tokens, beyond in ((257, 30), (384, 30), (385, 50), (897, 57), (1024, 57), (1025, 50)):
        shape = prefill((tokens, 0))
        assert one_stage(tiles, shape) == one_stage(Deployment(), shape) + beyond
    for wrong in (((0, 5),), ((3, 5), (3, 6))):
        with pytest.raises(InputError, match="tiles_ps of"):
            LaunchModel(tiles_ps=wrong)


def test_a_factor_on_what_decode_adds_beside_prompts():
    mixed = StepShape((Chunk(512, 0),), 40, 40 * 1300, 1300)
    added = MeasuredCosts(PROFILE).beside_ps(mixed)
    assert added > 0
    less = one_stage(Deployment(), mixed) - one_stage(Deployment(beside=0.5), mixed)
    assert less == pytest.approx(added / 2, abs=64)
    for shape in (prefill((1024, 0)), decode(8, 64)):
        assert MeasuredCosts(PROFILE).beside_ps(shape) == 0
        assert one_stage(Deployment(beside=0.5), shape) == one_stage(Deployment(), shape)


def test_graphs_that_do_not_cut_sequences_take_the_time_of_the_other_kernel():
    uncut = Deployment(launch=LaunchModel(uncut=(33, 64)))
    table = PROFILE.attention
    for n in (32, 65):
        assert one_stage(uncut, decode(n, 1300)) == one_stage(Deployment(), decode(n, 1300))
    for n in (33, 64):
        extra = one_stage(uncut, decode(n, 1300)) - one_stage(Deployment(), decode(n, 1300))
        assert extra == 32 * (
            round(table.mixed_ps(16, 0, n, 1300)) - round(table.decode_ps(n, 1300))
        )
        assert extra > 32 * 20e6
    # Without graphs, kernels cut for the lengths that there are; beside prefill nothing changes.
    eager = replace(uncut, launch=replace(uncut.launch, graph_sizes=()))
    assert one_stage(eager, decode(40, 1300)) < one_stage(uncut, decode(40, 1300))
    mixed = StepShape((Chunk(512, 0),), 40, 40 * 1300, 1300)
    assert one_stage(uncut, mixed) == one_stage(Deployment(), mixed)
    with pytest.raises(InputError, match="uncut"):
        LaunchModel(uncut=(64, 33))


def test_sustained_load_slows_dense_layers_of_steps_without_a_graph():
    slow = Deployment(sustained=2.0)
    assert one_stage(slow, decode(8, 64)) == one_stage(Deployment(), decode(8, 64))
    shape = prefill((1024, 0))
    extra = one_stage(slow, shape) - one_stage(Deployment(), shape)
    assert 0.8 < extra / one_stage(Deployment(), shape) < 1.0


def test_pipeline_stages_share_the_layers_and_send_activations():
    whole = one_stage(Deployment(launch=EAGER), decode(4, 64))
    deployment = Deployment(pipeline=3, launch=EAGER, link_latency_ps=7, link_bytes_per_s=1e12)
    assert deployment.stage_layers(CARD) == [11, 11, 10]
    costs = MeasuredCosts(PROFILE, deployment)
    time = costs.step(decode(4, 64))
    assert costs.stages == len(time.stages) == 3
    assert sum(time.stages) == whole
    assert time.transfer == 7 + 4 * 4096 * 2


def test_tensor_parallelism_cuts_work_and_adds_all_reduces():
    shape = prefill((2048, 0))
    one, two = (one_stage(Deployment(tensor=n, link_bytes_per_s=1e18), shape) for n in (1, 2))
    assert 0.5 < two / one < 0.62
    slow = Deployment(tensor=2, link_bytes_per_s=1e9, link_latency_ps=0)
    # A ring of two: each all-reduce sends the activations once; two in each layer.
    reduces = 32 * 2 * round(2048 * 4096 * 2 / 1e9 * 1e12)
    assert one_stage(slow, shape) - two == pytest.approx(reduces, rel=1e-3)


def test_fewer_bits_of_the_cache_shorten_decode_attention_only():
    eight = Deployment(kv_bits=8)
    assert one_stage(eight, prefill((512, 0))) == one_stage(Deployment(), prefill((512, 0)))
    attention = round(PROFILE.attention.decode_ps(128, 1024))
    saved = one_stage(Deployment(), decode(128, 1024)) - one_stage(eight, decode(128, 1024))
    assert saved == pytest.approx(32 * (attention - PROFILE.attention.floor_ps) / 2, rel=1e-6)
    assert eight.kv_bytes_per_token(CARD) == Deployment().kv_bytes_per_token(CARD) // 2


def test_memory_for_the_cache():
    assert Deployment().kv_bytes_per_token(CARD) == 131072
    # 16 devices share 8 KV heads: every head is there twice.
    assert Deployment(tensor=16).kv_bytes_per_token(CARD) == 2 * 131072
    assert Deployment().weight_bytes(CARD) == pytest.approx(16.06e9, rel=1e-3)
    one, two = (
        Deployment(tensor=n, memory_share=1.0, activation_bytes=0).kv_capacity_bytes(CARD, 10**11)
        for n in (1, 2)
    )
    assert two - one == 10**11
    with pytest.raises(InputError, match=r"does not fit on 1 devices of 16 GB: 3.7 GB are missing"):
        Deployment().kv_capacity_bytes(CARD, 16 * 10**9)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tensor": 0}, "tensor = 0"),
        ({"tensor": 3}, "tensor = 3 must divide"),
        ({"pipeline": 33}, "33 stages are more than the 32 layers"),
        ({"kv_bits": 5}, "kv_bits = 5"),
        ({"memory_share": 0.0}, "memory_share"),
        ({"sustained": 0.0}, "sustained"),
        ({"beside": -0.1}, "beside"),
        ({"sustained": 1e300}, "sustained = 1e\\+300 .* at most 1000"),
        ({"link_bytes_per_s": 0.0}, "link_bytes_per_s = 0.0"),
        ({"link_bytes_per_s": float("nan")}, "link_bytes_per_s = nan"),
    ],
)
def test_deployments_that_do_not_fit(wrong, message):
    with pytest.raises(InputError, match=message):
        MeasuredCosts(PROFILE, Deployment(**wrong))


def test_times_are_remembered_by_rounded_shape(linear):
    costs = CachedCosts(linear(), grain=10)
    first = costs.step(StepShape((Chunk(7, 12),), 2, 44, 26))
    assert first == linear().step(StepShape((Chunk(7, 10),), 2, 40, 30))
    assert costs.step(StepShape((Chunk(7, 8),), 2, 41, 29)) == first
    assert (costs.asked, costs.found, costs.stages) == (2, 1, 1)
    costs.step(StepShape((Chunk(8, 8),), 2, 41, 29))
    assert costs.found == 1
    with pytest.raises(InputError, match="grain = 0"):
        CachedCosts(linear(), grain=0)
