"""What is asked of a switch island."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Goal, Graph, MovedObject, Movement
from fanweave.golden.fabric.routes import Network

__all__ = ["IslandFlow", "IslandPlan", "flows_of"]


@dataclass(frozen=True, kw_only=True)
class IslandFlow:
    """A movement that passes an island.

    Attributes
    ----------
    movement : Movement
    item : MovedObject
    entry, exit : int
        Ports of the island.
    """

    movement: Movement
    item: MovedObject
    entry: int
    exit: int


@dataclass(kw_only=True)
class IslandPlan:
    """What an island has to do.

    Attributes
    ----------
    graph, network
    island : str
    flows : list of IslandFlow
    steps : dict of str to Goal
        Policies in use -> the goal that asks for it.
    objects : dict of str to set of str
        Policies -> objects whose requests they see, of those that do not see all.
    """

    graph: Graph
    network: Network
    island: str
    flows: list[IslandFlow]
    steps: dict[str, Goal] = field(default_factory=dict)
    objects: dict[str, set[str]] = field(default_factory=dict)

    def use(self, policy: str, goal: Goal, objects: Iterable[str]) -> None:
        """Note that a goal asks for a policy; one goal at most may."""
        if policy in self.steps:
            raise InputError(
                f"{self.graph.name}: island {self.island!r} has two goals that need {policy}; "
                f"put all their objects into one goal {goal.kind}"
            )
        self.steps[policy] = goal
        self.objects[policy] = set(objects)

    @property
    def names(self) -> set[str]:
        """Objects that pass."""
        return {flow.item.name for flow in self.flows}

    def port_to(self, memory: str) -> int | None:
        """The port towards a memory, directly or over other islands."""
        return self.network.exit_of(self.island, memory)


def flows_of(graph: Graph, network: Network, island: str) -> list[IslandFlow]:
    """Movements that pass an island, in the order of the graph."""
    return [
        IslandFlow(
            movement=movement,
            item=graph.objects[movement.object],
            entry=hop.entry,
            exit=hop.exit,
        )
        for movement in graph.movements.values()
        for hop in network.of(movement)
        if hop.island == island
    ]
