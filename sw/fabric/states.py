"""State across devices: who owns a map, who reads a copy of it, and how old that may be.

A state has one owner, a schema, and one rule: every so often its values are copied to each reader.
What would need more is refused, by the movement that needs it.
"""

from collections.abc import Mapping

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import setting
from fanweave.golden.fabric.graph import (
    Direction,
    GoalKind,
    Graph,
    Movement,
    Phase,
    PlaceKind,
)
from fanweave.sw.fabric.dpu import PRICES_AN_ISLAND, host_numbers, sends
from fanweave.sw.fabric.unit import State, Unit
from fanweave.sw.policies.library import SETTINGS

__all__ = ["LEAST_PERIOD_NS", "find_states"]

#: Copies are not made more often; a host does it, over PCIe.
LEAST_PERIOD_NS = 1_000
_DEFAULT_PERIOD_NS = 10_000
_PHASE = "struct phase { __u64 began_ns, spent_ns, epoch; __u32 active, reserved; }"


def find_states(graph: Graph, units: Mapping[str, Unit]) -> list[State]:
    """All states that a graph's units share.

    Raises
    ------
    InputError
        If one needs two owners, or copies that are younger than can be had; the message names the
        movement.
    """
    states = []
    for name, unit in units.items():
        if unit.place.kind is PlaceKind.DPU and "deadline_queue" in unit.programs[0].steps:
            states += _phases_for_dpu(graph, units, name)
            states += _prices_for_dpu(graph, units, name)
        elif unit.place.kind is PlaceKind.ISLAND:
            states += _epoch_for_island(graph, units, name)
    return states


def _phases_for_dpu(graph: Graph, units: Mapping[str, Unit], dpu: str) -> list[State]:
    found = []
    for host, number in host_numbers(graph).items():
        movements = [movement for movement in sends(graph, dpu) if movement.producer == host]
        if movements and host in units:
            found.append(
                State(
                    name="phases",
                    owner=host,
                    key="__u32",
                    value=_PHASE,
                    reader=dpu,
                    copy="phases",
                    first=number * len(Phase),
                    most=len(Phase),
                    period_ns=_period(graph, "phases", host, dpu, movements),
                    movements=tuple(movement.name for movement in movements),
                )
            )
    return found


def _prices_for_dpu(graph: Graph, units: Mapping[str, Unit], dpu: str) -> list[State]:
    found = []
    for index, island in enumerate(graph.of_kind(PlaceKind.ISLAND)):
        unit = units.get(island.name)
        if unit is None or not any("load_tokens" in p.steps for p in unit.programs):
            continue
        behind = {link.place for link in graph.links if link.island == island.name}
        movements = [m for m in sends(graph, dpu) if graph.objects[m.object].home in behind]
        if movements:
            found.append(
                State(
                    name="prices",
                    owner=island.name,
                    key="__u32",
                    value="__u32",
                    reader=dpu,
                    copy="island_prices",
                    first=index * PRICES_AN_ISLAND,
                    most=PRICES_AN_ISLAND,
                    period_ns=_period(graph, "prices", island.name, dpu, movements),
                    movements=tuple(movement.name for movement in movements),
                )
            )
    return found


def _epoch_for_island(graph: Graph, units: Mapping[str, Unit], island: str) -> list[State]:
    """Counts of hot pages begin anew with an attention phase of the GPU that reads them."""
    here = {link.place for link in graph.links if link.island == island}
    near = (goal for goal in graph.goals if goal.kind is GoalKind.KEEP_HOT_NEAR)
    goal = next((goal for goal in near if goal.near in here), None)
    steps = {step for program in units[island].programs for step in program.steps}
    policy = next((step for step in sorted(steps) if step.startswith("hot_pages")), "")
    if goal is None or not policy or not setting(goal, "by_phase"):
        return []
    readers = [
        movement
        for movement in graph.movements.values()
        if movement.object in goal.objects
        and movement.direction is Direction.READ
        and movement.phase is Phase.ATTENTION
    ]
    where = f"{graph.name}: goal {goal.kind}, by_phase"
    if not readers:
        raise InputError(
            f"{where}: nobody reads {', '.join(goal.objects)} in an attention phase; leave it out"
        )
    first = readers[0]
    for movement in readers[1:]:
        if movement.consumer != first.consumer:
            raise InputError(
                f"{where}: movements {first.name!r} to {first.consumer!r} and {movement.name!r} to "
                f"{movement.consumer!r} have phases of their own: the epoch of {island!r} would "
                "have two owners; leave by_phase out, or let one device read them"
            )
    if first.consumer not in units or Phase.ATTENTION not in graph.places[first.consumer].kernels:
        raise InputError(
            f"{where}: {first.consumer!r}, which {first.name!r} goes to, does not say when its "
            "attention phase begins; it must be a GPU with kernels.attention"
        )
    return [
        State(
            name="phases",
            owner=first.consumer,
            key="__u32",
            value=_PHASE,
            reader=island,
            copy=f"{SETTINGS}:{policy}_settings.epoch",
            first=Phase.ATTENTION.number,
            period_ns=_period(graph, "phases", first.consumer, island, readers),
            movements=tuple(movement.name for movement in readers),
        )
    ]


def _period(graph: Graph, name: str, owner: str, reader: str, movements: list[Movement]) -> int:
    """A quarter of the shortest deadline, so that a copy is never older than that."""
    hurried = [movement for movement in movements if movement.deadline_ns]
    if not hurried:
        return _DEFAULT_PERIOD_NS
    first = min(hurried, key=lambda movement: movement.deadline_ns)
    if first.deadline_ns < 4 * LEAST_PERIOD_NS:
        raise InputError(
            f"{graph.name}: movement {first.name!r} ({first.producer} to {first.consumer}) has "
            f"deadline_ns = {first.deadline_ns}, and {reader!r} decides by {name!r} of {owner!r}, "
            f"whose copy is up to {LEAST_PERIOD_NS} ns old: that needs state that both see at "
            f"once; give it {4 * LEAST_PERIOD_NS} ns or more"
        )
    return min(first.deadline_ns // 4, _DEFAULT_PERIOD_NS)
