"""Memory expanders behind a switch: links, capacity, keys and values, and what they cannot do."""

from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.cxl.latency import ANSWER_CYCLES, REQUEST_CYCLES
from fanweave.golden.dops.graph import build_graph
from fanweave.golden.dops.invariants import Invariants
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.place import memory_limits
from fanweave.golden.dops.platforms import GIB, load_platform, platform_from_table
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.registry import EXPLAINERS, Request, make_scheduler, place
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import run_sound
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.errors import FaultError, InputError

PLATFORM = load_platform("a100-cxl")
MEMORIES = [i for i, device in enumerate(PLATFORM.devices) if device.type == "memory"]
HOST = {
    "name": "CPU0",
    "type": "cpu",
    "peak_tflops": 1.0,
    "bandwidth_gib": 100.0,
    "capacity_gib": 64.0,
    "source": "assumed",
}
NPU = {**HOST, "name": "NPU0", "type": "npu"}


def table(**more):
    return {
        "name": "p",
        "topology": "fc",
        "link": {"bandwidth_gib": 60.0, "latency_ns": 100.0},
        "devices": [HOST, NPU, {"name": "MEM0", "card": "cxl-memory", "bandwidth_gib": 20.0}],
        **more,
    }


def request(platform, *, batch, prefill, scheduler="HEFT", decode=2):
    return Request(
        model=load_model("llama-7b"),
        platform=platform,
        workload=Workload(batch=batch, prefill=prefill, decode=decode),
        record=load_record("log"),
        scheduler=scheduler,
    )


def test_a_switch_adds_what_its_rtl_takes_to_every_link():
    bare = platform_from_table("file", table())
    switched = platform_from_table(
        "file",
        table(
            switch={"clock_mhz": 500.0, "source": "assumed"},
            links=[{"from": "CPU0", "to": "NPU0", "bandwidth_gib": 9.0, "latency_ns": 7.0}],
        ),
    )
    more = (REQUEST_CYCLES + ANSWER_CYCLES) * 2.0
    assert switched.switch.latency_ns == more
    assert switched.switch.origin == "rtl"
    assert switched.link(1, 0).latency_ns == bare.link(1, 0).latency_ns + more
    assert switched.link(0, 1).latency_ns == 7.0 + more
    assert PLATFORM.default_link.latency_ns == 300.0 + 7.0


def test_links_carry_no_more_than_the_memory_at_their_end():
    platform = platform_from_table("file", table())
    assert platform.link(0, 1).bandwidth_gib == 60.0
    assert platform.link(0, 2).bandwidth_gib == platform.link(2, 1).bandwidth_gib == 20.0
    star = platform_from_table("file", table(topology="star"))
    assert star.link(1, 2) is None
    assert star.link(0, 2).bandwidth_gib == 20.0
    quick = table()
    quick["devices"][2] = {"name": "MEM0", "card": "cxl-memory"}
    assert platform_from_table("file", quick).link(0, 2).bandwidth_gib == 60.0


@pytest.mark.parametrize("scheduler", ["HEFT", "all-NPU", "Bifocal", "RHLS"])
def test_keys_and_values_that_fit_nowhere_else_live_there(scheduler):
    # 0.5 MiB a token: 94 GiB, more than the GPU or the host has.
    result = place(request(PLATFORM, batch=32, prefill=6000, scheduler=scheduler), "sound")
    flat = result.flat
    homes = set(flat.home[flat.writer].tolist())
    assert homes <= set(MEMORIES)
    for kept in result.kept:
        for index, home in enumerate(flat.home.tolist()):
            if flat.writer[index]:
                assert kept.log.place[index] == home
            else:
                assert int(kept.log.place[index]) not in MEMORIES
    # What is read comes over the link, no quicker than it carries.
    history = [row for row in result.messages(result.kept[-1]) if row["purpose"] == "history"]
    size = 2 * 32 * 6000 * 4096
    link = PLATFORM.link(MEMORIES[0], 1)
    assert {row["source"] for row in history} == {"MEM0"}
    for row in history:
        assert row["finish_s"] - row["start_s"] >= size / (link.bandwidth_gib * GIB)


def test_without_the_memories_it_does_not_fit():
    small = replace(PLATFORM, devices=PLATFORM.devices[:2])
    with pytest.raises(InputError, match="for keys and values at host CPU0"):
        place(request(small, batch=32, prefill=6000), "sound")
    tiny = replace(
        PLATFORM,
        devices=tuple(
            replace(d, capacity_bytes=8 * GIB) if d.type == "memory" else d
            for d in PLATFORM.devices
        ),
    )
    with pytest.raises(InputError, match="for keys and values at host CPU0"):
        place(request(tiny, batch=32, prefill=6000), "sound")


def test_weights_come_sooner_over_several_links():
    with_them = place(request(PLATFORM, batch=2, prefill=64), "sound")
    without = place(
        request(replace(PLATFORM, devices=PLATFORM.devices[:2]), batch=2, prefill=64), "sound"
    )
    assert with_them.homes == {"keys_values": "npu", "weights": "both"}
    assert without.homes == {"keys_values": "npu", "weights": "host"}
    # All of prefill is loading. One link brings 12.6 GiB in 212 ms, three of them in a third.
    assert without.prefill > 12.5 / 59.6 * 1e12
    assert with_them.prefill < 0.75 * without.prefill
    assert with_them.lower_bound < without.lower_bound


def small_host(gib):
    devices = [replace(PLATFORM.devices[0], capacity_bytes=gib * GIB), *PLATFORM.devices[1:]]
    return replace(PLATFORM, devices=tuple(devices))


def sound_cases(platform, **size):
    case = request(platform, **size)
    return case, sound_problems(case.model, case.platform, case.workload, case.record)


@pytest.mark.parametrize("scheduler", ["HEFT", "all-NPU", "Bifocal", "RHLS"])
def test_weights_that_the_host_cannot_hold_are_in_memories(scheduler):
    result = place(request(small_host(4), batch=2, prefill=64, scheduler=scheduler), "sound")
    flat, (prefill, *_) = result.flat, result.kept
    assert result.homes["weights"] in ("memory", "both")
    classes = [flat.graph.classes[kind] for kind in flat.graph.weight_class]
    sizes = np.array([2 * work.weights for work in classes])
    stored = np.bincount(flat.store, sizes, minlength=len(PLATFORM.devices)).astype(int)
    assert stored.sum() == sizes.sum() > 4 * GIB >= stored[PLATFORM.host]
    # Memories hold what is stored there, all of the time, and keys and values are elsewhere.
    assert result.homes["keys_values"] == "npu"
    for kept in result.kept:
        assert [kept.log.used[index] for index in MEMORIES] == [stored[i] for i in MEMORIES]
    # Each weight is streamed from where it is stored, at the speed of that link.
    loads = [row for row in prefill.log.messages.tolist() if PURPOSES[row[0]] == "weights"]
    assert len(loads) >= len(flat.graph.weights)
    for _, operator, source, target, start, finish in loads:
        weight = flat.weight_of[operator]
        assert source == flat.store[weight]
        assert finish - start == PLATFORM.link(source, target).time(int(sizes[weight]))


@pytest.mark.parametrize("scheduler", ["HEFT", "Bifocal"])
def test_both_machines_load_from_the_same_stores(scheduler):
    # The GPU holds a third of the weights, so that they come again and again.
    platform = small_host(4)
    gpu = replace(platform.devices[1], capacity_bytes=4 * GIB)
    platform = replace(platform, devices=(platform.devices[0], gpu, *platform.devices[2:]))
    case, found = sound_cases(platform, batch=2, prefill=16, scheduler=scheduler)
    chosen = [each for each in found if each.homes["weights"] != "host"]
    assert {each.homes["weights"] for each in chosen} == {"memory", "both"}
    for each in chosen[:2]:
        fast = run_sound(each, make_scheduler(case))
        slow = run_sound(each, make_scheduler(case), plain=True)
        assert (fast.prefill, fast.token_ends) == (slow.prefill, slow.token_ends)
        assert fast.lower_bound <= fast.total
        assert (fast.loads == slow.loads).all()
        assert fast.loads.sum() > 2 * len(each.flat.graph.weights)
        for one, other in zip(fast.kept, slow.kept, strict=True):
            assert (one.log.messages == other.log.messages).all()


def test_a_load_from_elsewhere_is_a_fault():
    case, (*_, problem) = sound_cases(small_host(4), batch=1, prefill=16, decode=0)

    def lie(work, log, plan):
        settings = problem.flat, problem.platform, memory_limits(PLATFORM), work.timing.layouts
        Invariants(*settings).check(log, work.costs, work.devices)
        weights = log.messages[:, 0] == PURPOSES.index("weights")
        row = log.messages[weights & (log.messages[:, 2] == MEMORIES[0])][:1].copy()
        row[0, 2] = MEMORIES[1]
        wrong = replace(log, messages=row)
        with pytest.raises(FaultError, match="loaded from where they are stored"):
            Invariants(*settings).check(wrong, work.costs, work.devices)
        told.append(work.phase)

    told = []
    run_sound(problem, make_scheduler(case), observer=lie)
    assert told == ["prefill"]


def test_weights_that_have_no_room_anywhere_are_refused():
    tiny = small_host(4)
    devices = [
        replace(d, capacity_bytes=3 * GIB) if d.type == "memory" else d for d in tiny.devices
    ]
    with pytest.raises(InputError) as raised:
        place(request(replace(tiny, devices=tuple(devices)), batch=1, prefill=64), "sound")
    assert "needs 12.307 GiB for weights; CPU0, MEM0, MEM1 have" in str(raised.value)
    assert "GiB missing; give them more memory" in str(raised.value)


def test_a_memory_is_refused_by_name():
    explanation = EXPLAINERS["sound"](request(PLATFORM, batch=1, prefill=64), "L3_O", None)
    refused = {each.device: each.refused for each in explanation.alternatives}
    assert refused["MEM0"] == "a memory computes nothing"
    assert explanation.device == "GPU0"


def test_imitation_runs_beside_a_memory():
    case = request(PLATFORM, batch=1, prefill=64, scheduler="Bifocal")
    result = place(case, "imitation")
    assert set(np_places(result)).isdisjoint(MEMORIES)


def np_places(result):
    return [int(each) for kept in result.kept for each in kept.log.place.tolist()]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"switch": 5}, "file: switch must be a table"),
        ({"switch": {"clock_mhz": 0.0, "source": "s"}}, "clock_mhz = 0.0 must be"),
        ({"switch": {"clock_mhz": 1.0}}, "file: switch: key 'source' is missing"),
        ({"switch": {"clock_mhz": 1.0, "source": "s", "cycles": 3}}, "unknown key 'cycles'"),
        (
            {"devices": [HOST, {"name": "M", "card": "cxl-memory", "peak_tflops": 1.0}]},
            "unknown key 'peak_tflops'",
        ),
    ],
)
def test_switches_and_memories_that_do_not_fit(wrong, message):
    with pytest.raises(InputError) as raised:
        platform_from_table("file", table(**wrong))
    assert message in str(raised.value)


def test_homes_have_one_graph_which_those_in_memories_leave_as_it_is(monkeypatch):
    made = []

    def build(*arguments, **named):
        made.append(build_graph(*arguments, **named))
        return made[-1]

    monkeypatch.setattr("fanweave.golden.dops.sound_problem.build_graph", build)
    case = request(PLATFORM, batch=1, prefill=8)
    found = sound_problems(case.model, case.platform, case.workload, case.record)
    (graph,) = made
    assert all(work.stored_at < 0 for work in graph.classes)
    for problem in found:
        at_host = problem.weights.place == "host"
        assert (problem.flat.graph is graph) == at_host
        placed = problem.flat.graph
        stores = {
            placed.classes[operator.class_index].store(PLATFORM.host)
            for operator in placed.operators
            if operator.weight >= 0
        }
        assert stores == set(problem.weights.devices)
    assert {problem.weights.place for problem in found} == {"host", "memory", "both"}
