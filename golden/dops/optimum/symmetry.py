"""Operators of a problem that can change roles, so that only one of their orders is searched.

A role change is a permutation of the operators that leaves the graph and all costs alone. A plan
in which operators have changed roles ends when the plan itself does. Two producers of one
operator that are alike in all else send to it in the order of its inputs; there the plan in which
the first of them goes first is never worse, since both messages are of one length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.optimum.instances import Instance
from fanweave.golden.dops.plan import Plan

__all__ = ["RoleChange", "in_order", "role_changes"]


@dataclass(frozen=True)
class RoleChange:
    """A permutation that never makes a plan worse in which `first` comes after `second`.

    Attributes
    ----------
    first, second : int
        The operator that may be asked to come first, and the one whose role it takes.
    roles : tuple of int
        The operator whose place and device each operator takes.
    """

    first: int
    second: int
    roles: tuple[int, ...]


def role_changes(instance: Instance) -> list[RoleChange]:
    """All that is known; every `first` may be asked to come before its `second` at once.

    Operators are sorted from the last to the first. `first` is always the first operator in
    that order that the permutation moves, so each change of a plan that breaks a rule makes the
    list of places smaller in the lexicographic sense, and a plan that obeys all rules is reached.
    """
    search = _Search(instance)
    found = []
    for rank, first in enumerate(search.ranked):
        for second in search.ranked[rank + 1 :]:
            if search.colours[first] != search.colours[second]:
                continue
            for meeting in (None, *search.meetings(first, second)):
                roles = search.complete(rank, first, second, meeting)
                if roles is not None:
                    found.append(RoleChange(first, second, roles))
                    break
    return found


def in_order(plan: Plan, changes: Sequence[RoleChange]) -> Plan:
    """A plan like a given one in which every `first` comes before its `second`."""
    order, devices = list(plan.order), list(plan.devices)
    place = {operator: index for index, operator in enumerate(order)}
    while True:
        broken = next((c for c in changes if place[c.first] > place[c.second]), None)
        if broken is None:
            return Plan(tuple(order), tuple(devices))
        place = {operator: place[role] for operator, role in enumerate(broken.roles)}
        devices = [devices[role] for role in broken.roles]
        order = sorted(place, key=place.__getitem__)


class _Search:
    """Looks for permutations by backtracking."""

    def __init__(self, instance: Instance) -> None:
        self._flat = instance.flat
        self._graph = graph = instance.flat.graph
        self.colours = [_colour(instance, o) for o in range(len(graph.operators))]
        height = [0] * len(graph.operators)
        for operator in reversed(graph.order):
            for consumer in graph.successors[operator]:
                height[operator] = max(height[operator], height[consumer] + 1)
        rank = {operator: index for index, operator in enumerate(graph.order)}
        self.ranked = sorted(rank, key=lambda o: (height[o], rank[o]))

    def meetings(self, first: int, second: int) -> Iterator[int]:
        """Operators to which both send, one directly after the other."""
        for consumer in self._graph.successors[first]:
            producers = self._graph.predecessors[consumer]
            if self._flat.collective[first] or self._flat.collective[consumer]:
                continue
            if second in producers and producers.index(second) == producers.index(first) + 1:
                yield consumer

    def complete(
        self, rank: int, first: int, second: int, meeting: int | None
    ) -> tuple[int, ...] | None:
        """A permutation with `first` in the role of `second` and those ranked before unmoved."""
        roles = {operator: operator for operator in self.ranked[:rank]}
        roles[first] = second
        if meeting is not None:
            roles[second] = first
        used = set(roles.values())
        swap = (meeting, first, second)

        def fill(index: int) -> bool:
            if index == len(self.ranked):
                return True
            operator = self.ranked[index]
            choices = [roles[operator]] if operator in roles else self.ranked[rank:]
            for role in choices:
                given = operator in roles
                if (not given and role in used) or not self._fits(operator, role, roles, swap):
                    continue
                if given:
                    return fill(index + 1)
                roles[operator] = role
                used.add(role)
                if fill(index + 1):
                    return True
                del roles[operator]
                used.discard(role)
            return False

        if not fill(0):
            return None
        result = tuple(roles[o] for o in range(len(self.ranked)))
        return (
            result if all(self._sends_alike(o, result, swap) for o in range(len(result))) else None
        )

    def _fits(
        self,
        operator: int,
        role: int,
        roles: dict[int, int],
        swap: tuple[int | None, int, int],
    ) -> bool:
        """Whether costs are alike, and so are the consumers, which have their roles already."""
        if self.colours[operator] != self.colours[role]:
            return False
        graph = self._graph
        consumers = sorted(roles.get(c, -1) for c in graph.successors[operator])
        if consumers != sorted(graph.successors[role]):
            return False
        for consumer in graph.successors[operator]:
            if self._flat.collective[consumer] or consumer == swap[0]:
                continue
            place = graph.predecessors[consumer].index(operator)
            if graph.predecessors[roles[consumer]][place] != role:
                return False
        return True

    def _sends_alike(
        self, consumer: int, roles: Sequence[int], swap: tuple[int | None, int, int]
    ) -> bool:
        """Whether an operator's inputs, in their order, become those of its role."""
        graph = self._graph
        inputs = [roles[p] for p in graph.predecessors[consumer]]
        wanted = graph.predecessors[roles[consumer]]
        if self._flat.collective[consumer]:
            return sorted(inputs) == sorted(wanted)
        if consumer == swap[0]:
            other = {swap[1]: swap[2], swap[2]: swap[1]}
            wanted = [other.get(p, p) for p in wanted]
        return inputs == list(wanted)


def _colour(instance: Instance, operator: int) -> tuple[object, ...]:
    """All that times and memory depend on, but for the graph."""
    flat, costs = instance.flat, instance.costs
    kind, weight = flat.class_of[operator], int(flat.weight_of[operator])
    tables = (
        costs.compute[0, kind],
        costs.link[0, kind],
        costs.cold[0, kind],
        costs.read[kind],
        costs.move[kind],
        costs.kv_read[kind],
        costs.kv_move[kind],
        costs.ring[kind],
    )
    sizes = (costs.weight[kind], costs.held[kind], costs.kv_bytes[kind])
    flags = (flat.collective, flat.reduce, flat.scatter, flat.reader, flat.writer)
    homed = flat.writer[operator] or (flat.reader[operator] and costs.kv_bytes[kind])
    return (
        b"".join(np.ascontiguousarray(table).tobytes() for table in tables),
        tuple(int(size) for size in sizes),
        tuple(bool(flag[operator]) for flag in flags),
        int(flat.home[operator]) if homed else -1,
        tuple(instance.devices[operator]),
        weight >= 0,
        tuple(d for w, d in instance.resident if w == weight) if weight >= 0 else (),
        len(flat.graph.predecessors[operator]),
    )
