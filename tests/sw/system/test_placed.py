"""Traffic of a placement's movement graph."""

from dataclasses import replace

import pytest

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.cxl.timed.config import DeviceTiming
from fanweave.golden.fabric.placement import graph_of_placement
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.sw.fabric.compile import compile_graph
from fanweave.sw.system.placed import IDLE, OFF, Sample, prepare_placed, sampled_lines
from fanweave.sw.system.run import run_golden
from fanweave.sw.system.setups import COMPILED


def row(purpose, operator, source, target):
    return {"purpose": purpose, "operator": operator, "source": source, "target": target}


MESSAGES = (
    row("weights", "L0_Q", "CPU0", "VENTAGLIO0"),
    row("weights", "L1_Q", "CPU0", "PIM0"),
    row("weights", "L0_FFN_W1", "CPU0", "VENTAGLIO0"),
    row("move", "L0_V", "VENTAGLIO0", "PIM0"),
    row("move", "L0_SwiGLU", "PIM0", "VENTAGLIO0"),
)


def graph_of(*devices, messages=MESSAGES):
    return graph_of_placement(
        {
            "model": "smollm2-135m",
            "platform": "a test",
            "elements": "fp16",
            "pieces": {"attention": 1, "feed_forward": 1},
            "batch": 1,
            "prefill_tokens": 8,
            "devices": [{"device": name} for name in ("CPU0", *devices)],
            "passes": [{"phase": "prefill", "token": 0, "operators": [], "messages": [*messages]}],
        },
        "test",
    )


@pytest.fixture(scope="module")
def graph():
    return graph_of("VENTAGLIO0", "PIM0")


def test_lines_are_the_share_of_their_bytes_and_at_least_so_many(graph):
    sample = Sample(messages=4096, least=64)
    lines = sampled_lines(graph, sample)
    sizes = {name: -(-each.size // LINE_BYTES) for name, each in graph.movements.items()}
    total = sum(sizes.values())
    name = "weights_ffn_ventaglio0"
    assert lines[name] == round(sizes[name] * 4096 / total)
    # Keys and values of 8 tokens are 48 lines, fewer than 64.
    assert lines["kv_attention_ventaglio0_to_pim0"] == 8 * 192 * 2 // LINE_BYTES
    assert sampled_lines(graph, replace(sample, messages=10 * total)) == sizes


def test_each_phase_waits_for_the_others_and_weights_come_behind(graph):
    prepared = prepare_placed(graph, {}, Sample(), OFF)
    plan = prepared.plan
    assert plan.spans == {"ventaglio0": (0, 6), "pim0": (6, 12)}
    ventaglio, pim = plan.tasks[:6], plan.tasks[6:]
    assert [task[0] for task in ventaglio] == [-1, -1, 7, -1, 9, -1]
    assert [task[0] for task in pim] == [-1, -1, 1, -1, 3, -1]
    names = [plan.movements[task[3]] if task[4] else "" for task in ventaglio]
    assert names[:4] == [
        "kv_attention_ventaglio0_to_pim0",
        "weights_attention_ventaglio0",
        "",
        "weights_ffn_ventaglio0",
    ]


def test_movements_of_one_object_have_lines_of_their_own(graph):
    prepared = prepare_placed(graph, {}, Sample(), OFF)
    flows = dict(zip(prepared.plan.movements, prepared.plan.flows, strict=True))
    one, other = flows["weights_attention_ventaglio0"], flows["weights_attention_pim0"]
    assert one[0] == graph.objects["weights_attention"].first // LINE_BYTES
    assert other[0] == one[0] + one[1]


def test_one_request_alone(graph):
    prepared = prepare_placed(graph, {}, Sample(memory=DeviceTiming(latency=70)), IDLE)
    assert prepared.plan.messages == 1
    run = run_golden(prepared, IslandConfig(), window=1)
    # Four cycles there and four back.
    assert run.result.cycles == 78


def test_policies_make_no_request_wait_without_an_end(graph):
    compilation = compile_graph(graph)
    lengths = {}
    for name, built in ((OFF, {}), (COMPILED, compilation.built)):
        prepared = prepare_placed(graph, built, Sample(messages=1024), name)
        run = run_golden(prepared, IslandConfig(), window=prepared.plan.messages)
        assert run.result.messages == prepared.plan.messages
        lengths[name] = run.result.cycles
    assert lengths[OFF] < lengths[COMPILED] < 2 * lengths[OFF]


def test_requests_between_islands_go_over_their_link():
    devices = ("VENTAGLIO0", *(f"PIM{number}" for number in range(4)))
    last = (row("weights", "L0_Q", "CPU0", "PIM3"),)
    near = (row("weights", "L0_Q", "CPU0", "VENTAGLIO0"),)
    cycles = []
    for messages in (near, last):
        graph = graph_of(*devices, messages=messages)
        prepared = prepare_placed(graph, {}, Sample(link=30), IDLE)
        assert prepared.islands == ("island0", "island1")
        config = IslandConfig(switch=PRESETS["wide"])
        cycles.append(run_golden(prepared, config, window=1).result.cycles)
    assert cycles[1] - cycles[0] >= 60
