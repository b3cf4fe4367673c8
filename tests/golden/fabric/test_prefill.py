"""A prefill's objects, sizes and movements, and what cannot be one."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fanweave.golden.dops.models import load_model
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Direction, ObjectKind
from fanweave.golden.fabric.prefill import Prefill, prefill_graph

CARD = load_model("smollm2-135m")
HOMES = {
    "kv_a": "far1",
    "kv_b": "near1",
    "attention_weights": "near0",
    "ffn_weights": "far0",
    "ffn_weights_b": "far1",
    "hidden_in": "near0",
    "hidden_out": "near0",
}


def prefill(**changes):
    values = {
        "card": CARD,
        "layers": 2,
        "tokens": 256,
        "chunks": 4,
        "tenants": ("a", "b"),
        "reuse": 2,
        "scale": 1,
        "share_b": 0.25,
        "flops": {"gpu0": 100_000, "gpu1": 50_000},
        "homes": HOMES,
    }
    return Prefill(**{**values, **changes})


def test_lines_of_a_layer_are_the_models():
    lines = prefill().lines
    # 16-bit values, 32 of them a line: hidden 576, 9 heads and 3 pairs of 64, 1536 between.
    assert lines.attention_weights == 576 * (2 * 576 + 2 * 192) // 32
    assert lines.ffn_weights + lines.ffn_weights_b == 3 * 576 * 1536 // 32
    assert lines.ffn_weights == 3 * lines.ffn_weights_b
    assert (lines.kv, lines.hidden) == (64 * 2 * 192 // 32, 64 * 576 // 32)
    smaller = prefill(scale=4).lines
    assert smaller.attention_weights == lines.attention_weights // 4
    assert smaller.kv == lines.kv // 4


def test_objects_hold_all_layers_and_chunks():
    made = prefill()
    assert made.size("kv_a") == made.lines.kv * 4 * 2
    assert made.size("hidden_in") == made.lines.hidden * 4 * 2
    assert made.size("ffn_weights") == made.lines.ffn_weights * 2


def test_arithmetic_takes_its_time():
    made = prefill()
    assert made.cycles("gpu0") == round(2 * 64 * 576 * 4 * 576 / 100_000)
    assert made.cycles("gpu1") == round(2 * 64 * 3 * 576 * 1536 / 50_000)
    assert prefill(scale=2).cycles("gpu1") == round(64 * 3 * 576 * 1536 / 50_000)


def test_objects_lie_apart_each_a_prefix():
    graph = prefill_graph(prefill(), name="x")
    spans = sorted((item.first, item.size) for item in graph.objects.values())
    assert all(first % size == 0 and size & size - 1 == 0 for first, size in spans)
    assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))
    assert all(size >= 1 << 20 for _, size in spans)
    assert {item.name: item.home for item in graph.objects.values()} == HOMES
    assert graph.objects["kv_b"].tenant == "b"


def test_movements_go_where_they_must():
    graph = prefill_graph(prefill(), name="x")
    reads = graph.movements["dpu0_reads_kv_b"]
    assert (reads.direction, reads.producer, reads.consumer) == (Direction.READ, "near1", "dpu0")
    writes = graph.movements["gpu0_writes_kv_a"]
    assert (writes.direction, writes.producer, writes.consumer) == (Direction.WRITE, "gpu0", "far1")
    assert writes.size == prefill().lines.kv * 64
    assert len(graph.movements) == 2 * 3 + 3 + 4


def test_weights_can_lie_twice():
    graph = prefill_graph(prefill(copies={"ffn_weights": "far1"}), name="x")
    assert graph.objects["ffn_weights"].copies == ("far1",)
    assert graph.objects["ffn_weights"].kind is ObjectKind.WEIGHTS
    assert graph.objects["ffn_weights_b"].copies == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 31}, "layers = 31 must be from 1 to 30"),
        ({"chunks": 0}, "chunks = 0 must be from 1 to 256"),
        ({"chunks": 257}, "chunks = 257 must be from 1 to 256"),
        ({"homes": {}}, "object 'kv_a' needs a home; choose one of near0, far0, near1, far1"),
        ({"copies": {"kv_a": "near0"}}, "copies: 'kv_a' is not one of the weights"),
        ({"copies": {"color": "near0"}}, "copies: 'color' is not one of the weights"),
        ({"copies": {"ffn_weights": "far0"}}, "must be one of near0, far0, near1, far1, and not"),
        ({"copies": {"ffn_weights": "moon"}}, "copies: 'moon' of 'ffn_weights' must be one of"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        prefill(**changes)
    assert replace(prefill(), layers=1).layers == 1
