"""Graphs from TOML: what is read, and what is refused with which words."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import Direction, GoalKind, Phase, PlaceKind, Sharing
from fanweave.golden.fabric.read import graph_names, load_graph


def test_a_graph_is_read_with_defaults(table, read):
    table["goals"].append(
        {"kind": "keep_hot_near", "near": "near", "objects": ["kv"], "threshold": 3}
    )
    graph = read(table)
    assert graph.places["gpu"].kernels == {Phase.ATTENTION: "attend"}
    assert graph.places["island"].kind is PlaceKind.ISLAND
    assert [m.direction for m in graph.movements.values()] == [
        Direction.WRITE,
        Direction.READ,
        Direction.READ,
    ]
    read_kv = graph.movements["read_kv"]
    assert (read_kv.host, read_kv.phase, read_kv.sharing) == (
        "npu",
        Phase.ATTENTION,
        Sharing.HANDOVER,
    )
    assert (read_kv.reuse, graph.movements["stream"].priority) == (1, 0)
    goal = graph.goals[1]
    assert (goal.kind, setting(goal, "threshold"), setting(goal, "page_shift")) == (
        GoalKind.KEEP_HOT_NEAR,
        3,
        12,
    )


def test_shipped_graphs_are_read():
    assert graph_names() == ["prefill_decode"]
    graph = load_graph("prefill_decode")
    assert len(graph.of_kind(PlaceKind.ISLAND)) == 2
    assert {item.tenant for item in graph.objects.values()} == {"a", "b", ""}
    assert {m.phase for m in graph.movements.values()} == {Phase.ATTENTION, Phase.FFN}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("links"), "graph.toml: key 'links' is missing"),
        (lambda t: t.update(gaols=[]), "unknown key 'gaols'; did you mean 'goals'"),
        (lambda t: t.update(places=3), r"places must be tables, \[\[places\]\]"),
        (lambda t: t["places"][0].update(kind="gpuu"), "must be one of .* did you mean 'gpu'"),
        (lambda t: t["places"][1].update(kernels={}), "place 'npu': unknown key 'kernels'"),
        (lambda t: t["places"][0].update(kernels={"atention": "x"}), "did you mean 'attention'"),
        (lambda t: t["places"][0].update(instructions=0), "instructions = 0 must be an integer of"),
        (lambda t: t["movements"][0].update(priority=8), "priority = 8 must be from 0 to 7"),
        (lambda t: t["movements"][0].update(deadlin_ns=1), "did you mean 'deadline_ns'"),
        (
            lambda t: t["movements"][0].update(size="1"),
            "movement 'write_kv': size = '1' must be an",
        ),
        (lambda t: t["movements"][0].update(after="x"), "after = 'x' must be a list of names"),
        (lambda t: t["objects"][0].update(kind="cache"), "kind = 'cache' must be one"),
        (lambda t: t["goals"].append({"kind": "be_fast"}), "kind = 'be_fast' must be one of"),
        (
            lambda t: t["goals"].append({"kind": "balance_duplex", "window": 1 << 40}),
            "goal balance_duplex: window = 1099511627776 must be at most",
        ),
        (
            lambda t: t["goals"].append({"kind": "keep_hot_near"}),
            "goal keep_hot_near: key 'near' is missing",
        ),
        (lambda t: t["places"].append(t["places"][0]), "place 'gpu' is there twice; rename one"),
    ],
)
def test_what_does_not_fit_is_refused(table, read, change, message):
    change(table)
    with pytest.raises(InputError, match=message):
        read(table)


def test_unknown_graphs_are_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'prefill_decode'"):
        load_graph("prefil_decode")
    with pytest.raises(InputError, match=r"none.toml cannot be read"):
        load_graph(str(tmp_path / "none.toml"))
