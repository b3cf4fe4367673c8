import itertools
from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.flat import flatten
from fanweave.golden.dops.graph import Sharding, build_graph
from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.kv import KvHome
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.optimum.instances import LARGEST, generate, piece
from fanweave.golden.dops.optimum.model import PlacementModel, may_spill, memory_can_bind
from fanweave.golden.dops.optimum.solve import exact_times, replay, solve
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Cpop, Heft, Peft
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import FaultError, InputError

PROBLEMS = generate(20, 5)


def names(instance):
    return instance.name


def heuristic_plans(instance):
    """Plans of all schedulers that may place the problem."""
    for scheduler in (Heft(), Cpop(), Peft(), Bifocal(), *(Static(name) for name in STATIC)):
        scheduler.start(instance.flat, instance.platform)
        try:
            work = instance.work(scheduler, plain=True)
        except InputError:
            continue  # a static list without a device for an operator
        yield scheduler.name, scheduler.place(work)


def keeps_everything(instance, plan):
    """Whether the machine drops no weight and spills nothing."""
    machine = instance.machine(plain=True)
    machine.replay(plan)
    spilled = machine.log().messages[:, 0] == 5
    loaded = {w for w, _ in machine.loads}
    there = {w for memory in machine.memories for w in memory._sizes}
    before = {w for w, _ in instance.resident}
    return not spilled.any() and loaded | before == there


def test_the_generator_repeats_itself_and_covers_all_four_kinds():
    first, again, other = generate(40, 3), generate(40, 3), generate(40, 4)
    assert [i.name for i in first] == [i.name for i in again] != [i.name for i in other]
    for a, b in zip(first, again, strict=True):
        assert a.resident == b.resident
        assert all(np.array_equal(x, y) for x, y in zip(a.costs, b.costs, strict=True))
    assert {(i.phase, i.warm) for i in first} >= {
        ("prefill", False),
        ("decode", False),
        ("prefill", True),
        ("decode", True),
    }
    assert all(8 <= len(i.flat.graph.operators) <= LARGEST for i in first)
    assert any(i.flat.collective.any() for i in first)
    assert any(memory_can_bind(i) for i in first)
    assert any(i.costs.kv_bytes.any() for i in first)


def test_a_piece_may_not_cut_a_collective():
    graph = build_graph(load_model("llama-2-7b"), Sharding(attention=2, feed_forward=1))
    reduce = next(i for i, o in enumerate(graph.order) if graph.operators[o].kind == "AllReduce")
    with pytest.raises(InputError, match="the piece cuts L0_AllReduce_O from what it sums"):
        piece(graph, reduce - 1, 8)


@pytest.mark.parametrize("instance", PROBLEMS, ids=names)
def test_the_solver_times_every_heuristic_plan_as_the_timing_model_does(instance):
    timed = 0
    for name, plan in heuristic_plans(instance):
        exact = exact_times(instance, plan)
        if exact is None:
            assert not keeps_everything(instance, plan), name
            continue
        start, finish = replay(instance, plan)
        assert exact[0].tolist() == start.tolist(), name
        assert exact[1].tolist() == finish.tolist(), name
        timed += 1
    assert timed or memory_can_bind(instance)


@pytest.mark.parametrize("instance", [p for p in PROBLEMS if "smollm" in p.name][:4], ids=names)
def test_a_proved_optimum_is_replayed_and_beaten_by_nobody(instance):
    plans = [plan for _, plan in heuristic_plans(instance)]
    known = plans[0]
    best = solve(instance, known, effort=4.0)
    assert best.proved
    assert best.bound == best.makespan == replay(instance, best.plan)[1].max()
    for plan in plans:
        if keeps_everything(instance, plan):
            assert replay(instance, plan)[1].max() >= best.makespan
    exact = exact_times(instance, best.plan)
    assert exact is not None
    assert [t.tolist() for t in exact] == [t.tolist() for t in replay(instance, best.plan)]


def test_the_smallest_problems_agree_with_all_plans_tried_one_by_one():
    """Every order and every device of a piece of six operators."""
    instance = generate(1, 11)[0]
    graph = piece(instance.flat.graph, 0, 6)
    small = shrink(instance, graph)
    ends = [replay(small, plan)[1].max() for plan in all_plans(small)]
    first = next(iter(all_plans(small)))
    assert len(ends) > 100
    assert solve(small, first, effort=4.0).makespan == min(ends)


def shrink(instance, graph):
    """The same problem with another graph, cold, keys and values at the host."""
    host = (instance.platform.host,) * graph.sharding.attention
    home = KvHome(place="host", devices=host, reserved=(0,) * len(instance.platform.devices))
    flat = flatten(graph, instance.platform, home)
    models = load_record("log").cost_models(instance.platform, 16)
    tables = CostTables(flat, instance.platform, models, bits=16, load_compute=0.5, load_place=0.0)
    costs = tables.step(Step(instance.phase, 4, 256))
    return replace(instance, flat=flat, costs=costs, resident=())


def all_plans(instance):
    graph, devices = instance.flat.graph, instance.devices

    def orders(done):
        if len(done) == len(graph.operators):
            yield tuple(done)
        for operator in range(len(graph.operators)):
            if operator not in done and all(p in done for p in graph.predecessors[operator]):
                yield from orders([*done, operator])

    for order in orders([]):
        for chosen in itertools.product(*devices):
            yield Plan(order, chosen)


def test_a_claim_that_the_timing_model_does_not_confirm_is_a_fault(monkeypatch):
    """Links that the program forgets make it too fast."""
    instance = next(p for p in PROBLEMS if not p.warm and not memory_can_bind(p))
    build = PlacementModel._serve

    def forget(self, queue):
        if queue not in self._uses.links.values():
            build(self, queue)

    monkeypatch.setattr(PlacementModel, "_serve", forget)
    _, known = next(heuristic_plans(instance))
    with pytest.raises(FaultError, match="the timing model at"):
        solve(instance, known, effort=4.0)


def tight(instance, graph):
    """Small, warm on one device that has no room for what must be loaded there."""
    small = shrink(instance, graph)
    sizes = small.costs.weight[graph.weight_class].tolist()
    held = int(small.costs.held[small.flat.class_of].sum())
    device = small.platform.indices("npu")[0]
    limits = list(small.limits)
    limits[device] = held + sum(sizes) - 1
    resident = tuple((weight, device) for weight in range(len(sizes) - 1))
    return replace(small, limits=tuple(limits), resident=resident)


def test_where_memory_is_short_plans_that_drop_weights_count_as_well():
    instance = next(i for i in generate(40, 11) if i.flat.graph.weights)
    small = tight(instance, piece(instance.flat.graph, 0, 5))
    assert memory_can_bind(small)
    assert not may_spill(small)
    plans = list(all_plans(small))
    assert any(not keeps_everything(small, plan) for plan in plans)
    ends = [int(replay(small, plan)[1].max()) for plan in plans]
    best = solve(small, plans[0], effort=4.0)
    assert best.makespan == min(ends)
    assert best.bound <= min(ends)
    assert best.proved == (best.bound == min(ends))


@pytest.mark.parametrize("instance", PROBLEMS, ids=names)
def test_no_plan_is_better_than_the_bound(instance):
    plans = [plan for _, plan in heuristic_plans(instance)]
    ends = [int(replay(instance, plan)[1].max()) for plan in plans]
    best = solve(instance, plans[ends.index(min(ends))], effort=0.2)
    assert 0 < best.bound <= best.makespan <= min(ends)


@pytest.mark.parametrize(("seed", "number"), [(12, 16), (2026, 37)])
def test_the_solver_sees_the_plan_that_is_known(seed, number):
    """Parts of the presolve called these infeasible."""
    instance = generate(number + 1, seed)[number]
    twin = compiled_twin(RollingHorizon())
    twin.start(instance.flat, instance.platform)
    best = solve(instance, twin.place(instance.work(twin)), effort=1.0)
    assert 0 < best.bound <= best.makespan


@pytest.mark.parametrize(("seed", "number"), [(2026, 58)])
def test_work_between_forks_and_joins_proves_what_whole_work_does_not(seed, number, monkeypatch):
    instance = generate(number + 1, seed)[number]
    twin = compiled_twin(RollingHorizon())
    twin.start(instance.flat, instance.platform)
    known = twin.place(instance.work(twin))
    assert solve(instance, known, effort=1.0).proved
    monkeypatch.setattr(PlacementModel, "_balance_between", lambda self, device: None)
    assert not solve(instance, known, effort=1.0).proved
