"""Compiles a graph: one object for each device that has something to do."""

from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.check import check_graph
from fanweave.golden.fabric.graph import Graph, PlaceKind
from fanweave.golden.fabric.routes import Network
from fanweave.sw.fabric.build import Built, build_unit
from fanweave.sw.fabric.dpu import plan_dpu
from fanweave.sw.fabric.gpu import plan_gpu
from fanweave.sw.fabric.island import plan_island
from fanweave.sw.fabric.states import find_states
from fanweave.sw.fabric.unit import State, Unit

__all__ = ["Compilation", "compile_graph", "plan_graph"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Compilation:
    """What a graph became.

    Attributes
    ----------
    graph : Graph
    built : mapping of str to Built
        By device.
    states : tuple of State
        What devices share.
    """

    graph: Graph
    built: Mapping[str, Built]
    states: tuple[State, ...]


def plan_graph(graph: Graph) -> tuple[dict[str, Unit], list[State]]:
    """What each device is to run, and what they share; nothing is compiled yet.

    Raises
    ------
    InputError
        If the graph cannot be, or a goal cannot be met.
    """
    check_graph(graph)
    network = Network(graph)
    units: dict[str, Unit] = {}
    for place in graph.places.values():
        unit = None
        if place.kind is PlaceKind.ISLAND:
            unit = plan_island(graph, network, place.name)
        elif place.kind is PlaceKind.DPU:
            unit = plan_dpu(graph, network, place)
        elif place.kind is PlaceKind.GPU:
            unit = plan_gpu(graph, place)
        if unit is not None:
            units[place.name] = unit
    return units, find_states(graph, units)


def compile_graph(graph: Graph) -> Compilation:
    """Compile a graph.

    Raises
    ------
    InputError
        If the graph cannot be, a goal cannot be met, or a program takes more than its device
        allows.
    """
    units, states = plan_graph(graph)
    if not units:
        raise InputError(
            f"{graph.name}: no goal needs a program at any device; add goals, such as "
            'kind = "isolate_tenants"'
        )
    built = {name: build_unit(unit) for name, unit in units.items()}
    return Compilation(graph=graph, built=built, states=tuple(states))
