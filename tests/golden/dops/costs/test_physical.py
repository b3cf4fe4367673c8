import math
from dataclasses import replace

import pytest

from fanweave.golden.dops.costs.physical import Physical, least_time, operations, weight_bytes
from fanweave.golden.dops.graph import COLLECTIVES, Kind, Sharding, build_graph
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import GIB, load_platform
from fanweave.golden.dops.work import Step, flops, traffic

CARD = replace(load_model("qwen-1.8b"), layers=1)
CLASSES = build_graph(CARD, Sharding(attention=2, feed_forward=2), ends=True).classes
STEPS = (Step("prefill", 4, 256), Step("decode", 4, 256))


@pytest.mark.parametrize("step", STEPS, ids=["prefill", "decode"])
@pytest.mark.parametrize("device", load_platform("hp32").devices[:3], ids=lambda d: d.name)
def test_nothing_is_above_a_peak(device, step):
    for work in CLASSES:
        if work.kind in COLLECTIVES:
            continue
        seconds = Physical(device, 16).compute(work, step, 0) / 1e12
        assert seconds * device.peak_tflops * 1e12 >= flops(work, step)
        elements = sum(traffic(work, step)) + work.weights
        if work.kind in (Kind.QK, Kind.SV) and step.phase == "decode":
            elements += 4 * 256 * work.kv_heads * work.head_size
        assert seconds * device.bandwidth_gib * GIB >= 2 * elements


def test_keys_are_read_at_the_bandwidth():
    (work,) = (each for each in CLASSES if each.kind is Kind.QK)
    npu, pim = load_platform("hp32").devices[1:3]
    keys = 2 * 4 * 256 * work.kv_heads * work.head_size
    moved = 2 * sum(traffic(work, STEPS[1]))
    bound = math.ceil((keys + moved) / (npu.bandwidth_gib * GIB) * 1e12)
    assert least_time(npu, work, STEPS[1], 16) == Physical(npu, 16).compute(work, STEPS[1], 0)
    assert Physical(npu, 16).compute(work, STEPS[1], 0) == bound
    # A PIM reads and writes activations by lines of 5 and 30 ns; two of them here.
    pim = replace(pim, peak_tflops=1e4)
    stream = math.ceil(keys / (pim.bandwidth_gib * GIB) * 1e12)
    assert Physical(pim, 16).compute(work, STEPS[1], 0) == stream + 35_000


def test_the_head_sees_the_last_token_of_each_sequence():
    (head,) = (each for each in CLASSES if each.kind is Kind.HEAD)
    for step in STEPS:
        assert flops(head, step) == 2 * 4 * CARD.hidden * CARD.vocabulary
        assert traffic(head, step) == (4 * CARD.hidden, 4 * CARD.vocabulary)


SPARSE = replace(CARD, weight_density=0.5, activation_density=0.25)
SPARSE_CLASSES = build_graph(SPARSE, Sharding(), ends=True).classes


def work_of(kind):
    return next(work for work in SPARSE_CLASSES if work.kind is kind)


def ventaglio(**fields):
    device = next(d for d in load_platform("sparse-edge").devices if d.skips_zeros)
    return replace(device, busy=((0.25, 0.25), (0.75, 0.75)), **fields)


def test_a_ventaglio_cluster_leaves_out_zeros_at_the_measured_rate():
    work, step = work_of(Kind.W1), STEPS[0]
    device = ventaglio(bandwidth_gib=1e9)
    left = flops(work, step) * 0.5 * 0.25
    seconds = left / (device.peak_tflops * 1e12)
    assert operations(device, work, step) == left
    assert least_time(device, work, step, 16) == math.ceil(seconds * 1e12)
    assert Physical(device, 16).compute(work, step, 0) == math.ceil(seconds / 0.5 * 1e12)


def test_what_was_measured_of_an_operator_holds_before_its_density():
    work, (prefill, decode) = work_of(Kind.W1), STEPS[:2]
    assert (prefill.phase, decode.phase) == ("prefill", "decode")
    device = ventaglio(bandwidth_gib=1e9, busy_of=((str(Kind.W1), "prefill", 0.125),))
    seconds = operations(device, work, prefill) / (device.peak_tflops * 1e12)
    costs = Physical(device, 16)
    assert costs.compute(work, prefill, 0) == math.ceil(seconds / 0.125 * 1e12)
    plain = Physical(ventaglio(bandwidth_gib=1e9), 16)
    assert costs.compute(work, decode, 0) == plain.compute(work, decode, 0)
    assert costs.compute(work_of(Kind.W3), prefill, 0) == plain.compute(
        work_of(Kind.W3), prefill, 0
    )


def test_a_ventaglio_cluster_reads_the_weights_that_inputs_ask_for():
    work, device = work_of(Kind.W1), ventaglio()
    one, four = Step("decode", 1, 256), Step("decode", 4, 256)
    # Half of the weights, of 16 bits, and a bit each.
    assert weight_bytes(device, work, one, 16) == math.ceil(work.weights * 0.25 * (8 + 1) / 8)
    asked = 1 - 0.75**4
    assert weight_bytes(device, work, four, 16) == math.ceil(work.weights * asked * (8 + 1) / 8)


def test_other_devices_and_operators_count_zeros():
    npu, device, step = load_platform("hp32").devices[1], ventaglio(), STEPS[1]
    assert operations(npu, work_of(Kind.W1), step) == flops(work_of(Kind.W1), step)
    assert weight_bytes(npu, work_of(Kind.W1), step, 16) == 2 * work_of(Kind.W1).weights
    for kind in (Kind.HEAD, Kind.QK):
        assert operations(device, work_of(kind), step) == flops(work_of(kind), step)
