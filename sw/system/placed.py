"""Traffic of a placement's movement graph: each movement's first lines, phase by phase."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanweave.golden.cxl.timed.config import (
    DeviceTiming,
    HostPort,
    IslandLink,
    MemoryPort,
    SystemConfig,
)
from fanweave.golden.fabric.graph import HOSTS, Direction, Graph, Link, ObjectKind, Phase, PlaceKind
from fanweave.golden.fabric.scenario import Policies
from fanweave.golden.fabric.tasks import TaskPlan
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.sw.fabric.build import Built
from fanweave.sw.system.setups import Prepared, island_writes

__all__ = ["IDLE", "OFF", "Sample", "prepare_placed", "sampled_lines"]

#: Names of settings without programs: all traffic, and one request alone.
OFF, IDLE = "off", "idle"
_PHASES = (Phase.ATTENTION, Phase.FFN, Phase.OTHER)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """How much of a graph's movements is sent, and what stands around.

    Attributes
    ----------
    messages : int
        Lines of all movements together, about.
    least : int
        Lines of a movement at least, if it has so many.
    outstanding : int
        Requests that a host has open at most.
    memory : DeviceTiming
        Of all memories.
    link : int
        Cycles between two islands, in each direction.
    """

    messages: int = 4096
    least: int = 64
    outstanding: int = 64
    memory: DeviceTiming = field(default_factory=DeviceTiming)
    link: int = 20


def sampled_lines(graph: Graph, sample: Sample) -> dict[str, int]:
    """Lines of each movement: as many as its share of all bytes gives it."""
    whole = {name: -(-each.size // LINE_BYTES) for name, each in graph.movements.items()}
    share = min(1.0, sample.messages / max(sum(whole.values()), 1))
    return {
        name: min(lines, max(sample.least, round(lines * share))) for name, lines in whole.items()
    }


def prepare_placed(graph: Graph, built: Mapping[str, Built], sample: Sample, name: str) -> Prepared:
    """A graph's traffic, ready to run.

    Parameters
    ----------
    graph : Graph
    built : mapping of str to Built
        What the graph was compiled into, of which islands take theirs; empty for none.
    sample : Sample
    name : str
        Of the setting; `IDLE` sends the first line of the first movement and nothing else.

    Raises
    ------
    InputError
        If the switches have too few ranges or virtual ports.
    """
    islands = tuple(place.name for place in graph.of_kind(PlaceKind.ISLAND))
    kinds = {place.name: place.kind for place in graph.places.values()}
    hosts = {link.place: link for link in graph.links if kinds[link.place] in HOSTS}
    memories = {
        link.place: (link.island, link.port)
        for link in graph.links
        if kinds[link.place] is PlaceKind.MEMORY
    }
    lines = sampled_lines(graph, sample)
    if name == IDLE:
        lines = {movement: int(at == 0) for at, movement in enumerate(lines)}
    policies = Policies(goals=tuple(graph.goals))
    return Prepared(
        name=name,
        graph=graph,
        plan=_tasks(graph, list(hosts), lines),
        around=_around(graph, sample, list(hosts.values()), memories),
        writes=tuple(
            island_writes(graph, island, built.get(island), policies) for island in islands
        ),
        built={island: built[island] for island in islands if island in built},
        islands=islands,
        memories=memories,
    )


def _around(
    graph: Graph, sample: Sample, hosts: list[Link], memories: Mapping[str, tuple[str, int]]
) -> SystemConfig:
    """Hosts, memories and links between islands, by the numbers of islands."""
    islands = [place.name for place in graph.of_kind(PlaceKind.ISLAND)]
    return SystemConfig(
        islands=len(islands),
        hosts=tuple(
            HostPort(
                island=islands.index(link.island), port=link.port, outstanding=sample.outstanding
            )
            for link in hosts
        ),
        memories=tuple(
            MemoryPort(island=islands.index(island), port=port, timing=sample.memory)
            for island, port in memories.values()
        ),
        links=tuple(
            IslandLink(
                island=islands.index(link.island),
                port=link.port,
                to_island=islands.index(link.place),
                to_port=link.place_port,
                latency=sample.link,
            )
            for link in graph.links
            if link.place in islands
        ),
    )


def _tasks(graph: Graph, hosts: list[str], lines: Mapping[str, int]) -> TaskPlan:
    """Two tasks a host and phase: what it computes with, then the weights that it streams.

    A phase begins when two other hosts have ended the one before. Within it, a host's own weights
    do not take the places of its other requests, those of other hosts do.
    """
    plan = TaskPlan()
    ends: dict[str, int] = {}  # behind an object's lines that are planned already
    parts = [(phase, streams) for phase in _PHASES for streams in (False, True)]
    for number, host in enumerate(hosts):
        plan.spans[host] = (number * len(parts), (number + 1) * len(parts))
        others = [other * len(parts) for other in range(len(hosts)) if other != number]
        for at, (phase, streams) in enumerate(parts):
            after = [other + at - 1 for other in others] if at and not streams else []
            first = len(plan.flows)
            for movement in graph.movements.values():
                item, size = graph.objects[movement.object], lines[movement.name]
                if (movement.host, movement.phase) != (host, phase) or not size:
                    continue
                if (item.kind is ObjectKind.WEIGHTS) is not streams:
                    continue
                begin = ends.get(item.name, item.first)
                ends[item.name] = begin + size * LINE_BYTES
                kind = int(movement.direction is Direction.WRITE)
                plan.flows.append([begin // LINE_BYTES, size, 1, kind, 0, 0])
                plan.movements.append(movement.name)
            plan.tasks.append([*(*after, -1, -1)[:2], 0, first, len(plan.flows) - first, 0, -1])
    return plan
