"""Graphs of placements."""

import copy
import json

import pytest

from fanweave.golden.dops.models import load_model
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Direction, ObjectKind, Phase, PlaceKind
from fanweave.golden.fabric.placement import graph_of_placement, load_placement
from fanweave.golden.fabric.routes import Network

MODEL = load_model("qwen2-1.5b")


def row(purpose, operator, source, target):
    return {"purpose": purpose, "operator": operator, "source": source, "target": target}


DOCUMENT = {
    "model": "qwen2-1.5b",
    "platform": "HP32",
    "elements": "fp16",
    "pieces": {"attention": 2, "feed_forward": 2},
    "batch": 2,
    "prefill_tokens": 8,
    "devices": [{"device": "CPU0"}, {"device": "NPU0"}, {"device": "PIM0"}],
    "passes": [
        {
            "phase": "prefill",
            "token": 0,
            "operators": [],
            "messages": [
                row("weights", "L0_K_s0", "CPU0", "NPU0"),
                row("weights", "L1_K_s1", "CPU0", "PIM0"),
                row("weights", "L0_FFN_W1_s0", "CPU0", "NPU0"),
                row("move", "L0_K_s0", "NPU0", "PIM0"),
                row("move", "L1_K_s0", "NPU0", "PIM0"),
                row("move", "L0_SwiGLU_s0", "PIM0", "NPU0"),
            ],
        },
        {"phase": "decode", "token": 0, "operators": [], "messages": []},
    ],
}


@pytest.fixture
def document():
    return copy.deepcopy(DOCUMENT)


def test_weights_at_the_host_and_in_a_memory_have_homes_of_their_own(document):
    document["devices"].append({"device": "CXLMEM0"})
    weights = document["passes"][0]["messages"]
    weights.append(row("weights", "L2_K_s0", "CXLMEM0", "NPU0"))
    graph = graph_of_placement(document, "p.json")
    keys = MODEL.kv_heads // 2 * MODEL.head_size
    assert graph.movements["weights_attention_npu0"].size == 2 * MODEL.hidden * keys
    assert graph.movements["weights_attention_cxlmem0_npu0"].size == 2 * MODEL.hidden * keys
    homes = {name: item.home for name, item in graph.objects.items() if "weights" in name}
    assert homes == {
        "weights_attention": "cpu0_memory",
        "weights_attention_cxlmem0": "cxlmem0_memory",
        "weights_ffn": "cpu0_memory",
    }


def test_messages_of_a_kind_become_a_movement(document):
    graph = graph_of_placement(document, "p.json")
    keys = MODEL.kv_heads // 2 * MODEL.head_size
    sizes = {name: moved.size for name, moved in graph.movements.items()}
    assert sizes == {
        "weights_attention_npu0": 2 * MODEL.hidden * keys,
        "weights_attention_pim0": 2 * MODEL.hidden * keys,
        "weights_ffn_npu0": 2 * MODEL.hidden * MODEL.intermediate // 2,
        # Two layers, 16 tokens, two bytes.
        "kv_attention_npu0_to_pim0": 2 * 16 * 2 * keys,
        "activations_ffn_pim0_to_npu0": 16 * 2 * MODEL.intermediate // 2,
    }
    written = graph.movements["kv_attention_npu0_to_pim0"]
    assert (written.direction, written.host, written.consumer, written.phase) == (
        Direction.WRITE,
        "npu0",
        "pim0_memory",
        Phase.ATTENTION,
    )
    loaded = graph.movements["weights_attention_pim0"]
    assert (loaded.direction, loaded.producer) == (Direction.READ, "cpu0_memory")
    weights = graph.objects["weights_attention"]
    assert weights.kind is ObjectKind.WEIGHTS
    assert weights.size >= 2 * sizes["weights_attention_npu0"]
    assert graph.places["pim0"].kind is PlaceKind.VENTAGLIO
    # Two hosts and three memories fit the small switch.
    assert graph.places["island0"].switch == "default"
    assert Network(graph).exit_of("island0", "cpu0_memory") == 4
    assert {goal.kind.value for goal in graph.goals} == {
        "balance_duplex",
        "bound_tail_latency",
        "prefetch_streams",
    }


def test_more_than_four_devices_are_at_two_islands(document):
    document["devices"] += [{"device": f"PIM{n}"} for n in range(1, 5)]
    document["passes"][0]["messages"].append(row("move", "L0_O_s0", "PIM4", "NPU0"))
    graph = graph_of_placement(document, "p.json")
    assert [place.name for place in graph.of_kind(PlaceKind.ISLAND)] == ["island0", "island1"]
    assert graph.places["island0"].switch == "wide"
    network = Network(graph)
    assert [hop.island for hop in network.way("npu0", "pim4_memory") or ()] == [
        "island0",
        "island1",
    ]
    back = network.of(graph.movements["activations_attention_pim4_to_npu0"])
    assert [(hop.island, hop.entry, hop.exit) for hop in back] == [
        ("island1", 2, 11),
        ("island0", 3, 4),
    ]
    # Memories of an island lie together.
    homes = [item.home for item in graph.objects.values()]
    assert homes == sorted(homes, key=homes.index)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("passes"), "'passes' is missing; write it with .* with --operators"),
        (lambda d: d.pop("model"), "'model' is missing"),
        (lambda d: d.update(model="none"), "model 'none' is not known"),
        (lambda d: d["devices"].pop(0), r"no device is called CPU"),
        (lambda d: d.update(passes=[{}]), "it is not what `fanweave place"),
        (lambda d: d.update(pieces=3), "it is not what `fanweave place"),
        (
            lambda d: d["devices"].extend({"device": f"PIM{n}"} for n in range(1, 6)),
            "7 devices besides CPU0; 2 islands with switches 'wide' have ports for 6",
        ),
    ],
)
def test_what_does_not_fit_is_refused(document, change, message):
    change(document)
    with pytest.raises(InputError, match=message):
        graph_of_placement(document, "p.json")


def test_files(tmp_path, document):
    file = tmp_path / "p.json"
    with pytest.raises(InputError, match=r"p.json cannot be read"):
        load_placement(file)
    file.write_text("{")
    with pytest.raises(InputError, match=r"p.json is no JSON"):
        load_placement(file)
    file.write_text("[]")
    with pytest.raises(InputError, match="expected the JSON of `fanweave place --json`"):
        load_placement(file)
    file.write_text(json.dumps(document))
    assert load_placement(file).name == "qwen2-1.5b on HP32"
