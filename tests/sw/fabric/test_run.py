"""Compiled graphs in the golden models, end to end."""

import pytest

from fanweave.golden.errors import FaultError
from fanweave.golden.fabric.graph import Place, PlaceKind
from fanweave.golden.fabric.placement import graph_of_placement
from fanweave.sw.fabric.build import build_unit
from fanweave.sw.fabric.compile import compile_graph
from fanweave.sw.fabric.run import run_graph
from fanweave.sw.fabric.unit import Unit


@pytest.fixture(scope="module")
def document(shipped):
    return run_graph(shipped, lines=16).document(shipped.graph)


def test_every_movement_is_seen_where_it_passes(document):
    movements = document["movements"]
    assert set(movements["prefill_writes_kv_a"]) == {"island0", "island1"}
    assert set(movements["prefill_reads_weights"]) == {"island0"}
    # Each line is a request and an answer; the weights move four times.
    assert sum(movements["prefill_reads_weights"]["island0"].values()) == 2 * 16 * 4
    assert "hand_over_a" not in movements


def test_prefill_is_mirrored_and_hot_pages_are_asked_for(document):
    # A write of what has a copy goes to both.
    assert document["movements"]["prefill_writes_kv_a"]["island1"]["MIRROR"] == 16
    assert "MIRROR" not in document["movements"]["prefill_writes_kv_b"]["island1"]
    for tenant in "ab":
        # One page, once in an attention phase.
        assert document["movements"][f"decode_reads_kv_{tenant}"]["island1"]["PROMOTE"] == 1
    assert "DENY" not in document["verdicts"]["island0"].get("other_requests", {})


def test_transfers_arrive_in_the_order_of_their_queues(document):
    names = [transfer["movement"] for transfer in document["transfers"]]
    assert names == ["hand_over_a", "hand_over_b"]
    assert not any(transfer["late"] or transfer["rejected"] for transfer in document["transfers"])


def test_no_event_takes_more_than_the_worst_case(shipped, document):
    for name, count in document["instructions"].items():
        worst = max(
            report.worst_case_instructions for report in shipped.built[name].reports.values()
        )
        assert count["mean"] <= count["most"] <= worst
    assert document["copied_values"] > 0


def test_it_is_the_same_again(shipped, document):
    assert run_graph(shipped, lines=16).document(shipped.graph) == document


def test_a_graph_of_a_placement_runs():
    def row(purpose, operator, source, target):
        return {"purpose": purpose, "operator": operator, "source": source, "target": target}

    graph = graph_of_placement(
        {
            "model": "qwen2-1.5b",
            "elements": "fp16",
            "pieces": {"attention": 2, "feed_forward": 2},
            "batch": 1,
            "prefill_tokens": 8,
            "devices": [{"device": "CPU0"}, {"device": "NPU0"}, {"device": "PIM0"}],
            "passes": [
                {
                    "phase": "prefill",
                    "messages": [
                        row("weights", "L0_K_s0", "CPU0", "NPU0"),
                        row("move", "L0_K_s0", "NPU0", "PIM0"),
                    ],
                }
            ],
        },
        "p.json",
    )
    found = run_graph(compile_graph(graph), lines=4).document(graph)
    assert found["movements"] == {
        "weights_attention_npu0": {"island0": {"PASS": 8}},
        "kv_attention_npu0_to_pim0": {"island0": {"PASS": 8}},
    }


def test_r0_that_is_no_verdict_is_a_fault(shipped):
    from fanweave.golden.cxl.messages import message
    from fanweave.golden.isa.cxl_event import Channel, DevLoad
    from fanweave.sw.fabric.island_machine import IslandMachine

    unit = shipped.built["island1"].unit
    names = [program.name for program in unit.programs]
    source = "#include <fanweave/cxl.h>\n" + "".join(
        f'SEC("cxl") __u64 {name}(void *c) {{ return 99; }}\n' for name in names
    )
    broken = build_unit(
        Unit(
            place=Place(name="island1", kind=PlaceKind.ISLAND),
            source=source,
            programs=unit.programs,
            contents={},
            attach=unit.attach,
        )
    )
    machine = IslandMachine(broken, lambda port, request: (DevLoad.LIGHT, 1))
    request = message(Channel.M2S_REQ, opcode=1, address=0x10_0000_0000 // 64)
    with pytest.raises(FaultError, match="program 'kv_requests' returned 0x63, which is no verd"):
        machine.request(0, request, 0)
