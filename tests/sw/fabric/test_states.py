"""State across devices: owners, copies, and what is refused."""

from dataclasses import replace

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Graph, Phase
from fanweave.sw.fabric.compile import plan_graph
from fanweave.sw.fabric.snapshot import copy_state
from fanweave.sw.fabric.states import LEAST_PERIOD_NS

KERNELS = {"kernels": {Phase.ATTENTION: "attend"}}


def changed(graph, name, **changes):
    """The graph with another movement of this name."""
    movements = {**graph.movements, name: replace(graph.movements[name], **changes)}
    return replace(graph, movements=movements)


def test_states_of_the_shipped_graph(shipped):
    found = {(state.name, state.owner, state.reader): state for state in shipped.states}
    assert set(found) == {
        ("phases", "gpu0", "dpu0"),
        ("prices", "island1", "dpu0"),
        ("phases", "gpu1", "island1"),
    }
    epoch = found["phases", "gpu1", "island1"]
    # A quarter of the 20 us that decoding may take to read keys and values.
    assert (epoch.period_ns, epoch.rule) == (5000, "snapshot")
    assert epoch.movements == ("decode_reads_kv_a", "decode_reads_kv_b")
    assert {state.owner for state in shipped.states if state.name == "prices"} == {"island1"}


def test_copies_arrive_where_the_reader_looks(shipped, device):
    devices = {name: device(built) for name, built in shipped.built.items()}
    devices["gpu0"].run("attention_begins", time_ns=70)
    devices["gpu1"].run("attention_begins", time_ns=80)
    devices["island1"].put("prices", {3: 12})
    for state in shipped.states:
        owner, reader = devices[state.owner], devices[state.reader]
        copy_state(state, (owner.built, owner.machine), (reader.built, reader.machine))
    phase = {"began_ns": 70, "spent_ns": 0, "epoch": 1, "active": 1}
    assert devices["dpu0"].values("phases") == {1: phase}
    # The second island's port 3.
    assert devices["dpu0"].values("island_prices") == {16 + 3: 12}
    settings = devices["island1"].values(".rodata.settings")[0]
    assert settings["hot_pages_settings"] == {
        "threshold": 8,
        "epoch": 1,
        "page_shift": 12,
        "target": 2,
    }


def test_a_deadline_that_copies_are_too_old_for_is_refused(shipped):
    hurried = changed(shipped.graph, "hand_over_a", deadline_ns=4 * LEAST_PERIOD_NS - 1)
    with pytest.raises(InputError) as refused:
        plan_graph(hurried)
    message = str(refused.value)
    assert "movement 'hand_over_a' (gpu0 to gpu1) has deadline_ns = 3999" in message
    assert "'dpu0' decides by 'phases' of 'gpu0'" in message
    assert plan_graph(changed(shipped.graph, "hand_over_a", deadline_ns=4 * LEAST_PERIOD_NS))


def test_heat_has_one_owner(shipped):
    """A movement that does not pass the island with the near memory."""
    graph: Graph = shipped.graph
    near = next(goal for goal in graph.goals if goal.near)
    goals = tuple(
        replace(goal, near="near0", settings={"threshold": 8}) if goal is near else goal
        for goal in graph.goals
    )
    with pytest.raises(InputError) as refused:
        plan_graph(replace(graph, goals=goals))
    message = str(refused.value)
    assert "movement 'decode_reads_kv_a' (far1 to gpu1) does not pass island 'island0'" in message
    assert "a state has one owner: lead it over 'island0', or give 'kv_a' another near" in message


def test_an_epoch_has_one_owner(small_graph, goal):
    near = goal("keep_hot_near", "kv", near="near", by_phase=1)
    graph = small_graph(near, gpu=KERNELS)
    second = replace(graph.movements["read_kv"], name="again", consumer="npu")
    movements = {**graph.movements, "again": second}
    with pytest.raises(InputError, match="the epoch of 'island' would have two owners"):
        plan_graph(replace(graph, movements=movements))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reads_kv": "npu"}, "'npu', which 'read_kv' goes to, does not say when its attention"),
        ({}, "'gpu', which 'read_kv' goes to, does not say when its attention phase begins"),
    ],
)
def test_phases_must_be_told(small_graph, goal, changes, message):
    near = goal("keep_hot_near", "kv", near="near", by_phase=1)
    with pytest.raises(InputError, match=message):
        plan_graph(small_graph(near, **changes))


def test_somebody_must_read(small_graph, goal):
    near = goal("keep_hot_near", "weights", near="near", by_phase=1)
    with pytest.raises(InputError, match="nobody reads weights in an attention phase"):
        plan_graph(small_graph(near, gpu=KERNELS))
