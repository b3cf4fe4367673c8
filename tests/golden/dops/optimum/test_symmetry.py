from dataclasses import replace
from random import Random

import pytest

from fanweave.golden.dops.optimum.instances import generate
from fanweave.golden.dops.optimum.model import memory_can_bind
from fanweave.golden.dops.optimum.solve import replay
from fanweave.golden.dops.optimum.symmetry import in_order, role_changes
from fanweave.golden.dops.plan import Plan

PROBLEMS = [p for p in generate(48, 5) if not memory_can_bind(p)][:24]


def random_plan(instance, random):
    graph = instance.flat.graph
    order, waiting = [], set(range(len(graph.operators)))
    while waiting:
        ready = [o for o in sorted(waiting) if waiting.isdisjoint(graph.predecessors[o])]
        order.append(random.choice(ready))
        waiting.remove(order[-1])
    return Plan(tuple(order), tuple(random.choice(on) for on in instance.devices))


@pytest.mark.parametrize("instance", PROBLEMS, ids=lambda i: i.name)
def test_a_plan_with_changed_roles_is_in_order_and_never_worse(instance):
    changes = role_changes(instance)
    random = Random(1)
    for _ in range(60):
        plan = random_plan(instance, random)
        other = in_order(plan, changes)
        place = {operator: index for index, operator in enumerate(other.order)}
        assert all(place[c.first] < place[c.second] for c in changes)
        assert replay(instance, other)[1].max() <= replay(instance, plan)[1].max()


def test_most_problems_have_roles_to_change():
    assert sum(bool(role_changes(p)) for p in PROBLEMS) > len(PROBLEMS) // 2


def test_roles_are_not_changed_where_a_weight_is_there_already():
    instance = next(p for p in PROBLEMS if not p.warm and role_changes(p))
    flat = instance.flat
    change = next(c for c in role_changes(instance) if flat.weight_of[c.first] >= 0)
    device = instance.devices[change.first][0]
    warm = replace(instance, resident=((int(flat.weight_of[change.first]), device),))
    pairs = {(c.first, c.second) for c in role_changes(warm)}
    assert (change.first, change.second) not in pairs
