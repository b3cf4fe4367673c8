"""Ways through a fabric: from a host over islands to a memory."""

from collections import deque
from dataclasses import dataclass

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import HOSTS, Direction, Graph, Link, Movement, PlaceKind

__all__ = ["Hop", "Network", "switch_config"]


@dataclass(frozen=True, kw_only=True)
class Hop:
    """An island on a way.

    Attributes
    ----------
    island : str
    entry, exit : int
        Ports, in the direction of requests.
    """

    island: str
    entry: int
    exit: int


def switch_config(graph: Graph, island: str) -> SwitchConfig:
    """Parameters of an island's switch.

    Raises
    ------
    InputError
        If there are none of this name.
    """
    name = graph.places[island].switch
    if name not in PRESETS:
        raise InputError(
            f"{graph.name}: island {island!r}: switch {name!r} is not known; choose one of "
            f"{', '.join(PRESETS)}"
        )
    return PRESETS[name]


class Network:
    """Links of a graph, and the shortest ways over them.

    Parameters
    ----------
    graph : Graph
        Its links must be right, see `check_graph`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._entries: dict[str, list[tuple[str, int]]] = {}
        self._exits: dict[str, list[Link]] = {}
        for link in graph.links:
            kind = graph.places[link.place].kind
            if kind in HOSTS:
                self._entries.setdefault(link.place, []).append((link.island, link.port))
            else:
                self._exits.setdefault(link.island, []).append(link)
        self._ways: dict[tuple[str, str], tuple[Hop, ...] | None] = {}

    def way(self, host: str, memory: str) -> tuple[Hop, ...] | None:
        """The islands from a host to a memory; None if there is no way.

        Of ways of the same length the one whose links stand first in the graph.
        """
        key = host, memory
        if key not in self._ways:
            self._ways[key] = self._search(host, memory)
        return self._ways[key]

    def _search(self, host: str, memory: str) -> tuple[Hop, ...] | None:
        waiting: deque[tuple[str, int, tuple[Hop, ...]]] = deque(
            (island, port, ()) for island, port in self._entries.get(host, ())
        )
        seen = set()
        while waiting:
            island, entry, before = waiting.popleft()
            if (island, entry) in seen:
                continue
            seen.add((island, entry))
            for link in self._exits.get(island, ()):
                way = (*before, Hop(island=island, entry=entry, exit=link.port))
                if link.place == memory:
                    return way
                if self.graph.places[link.place].kind is PlaceKind.ISLAND:
                    waiting.append((link.place, link.place_port, way))
        return None

    def of(self, movement: Movement) -> tuple[Hop, ...]:
        """The islands of a movement; none of one through a network interface."""
        if movement.direction is Direction.SEND:
            return ()
        home = self.graph.objects[movement.object].home
        return self.way(movement.host, home) or ()

    def exit_of(self, island: str, memory: str) -> int | None:
        """Port by which requests leave an island for a memory; None if it cannot be reached."""
        seen, waiting = set(), deque([(island, -1)])
        while waiting:
            at, first = waiting.popleft()
            for link in self._exits.get(at, ()):
                port = link.port if first < 0 else first
                if link.place == memory:
                    return port
                if link.place not in seen and self.graph.places[link.place].kind is (
                    PlaceKind.ISLAND
                ):
                    seen.add(link.place)
                    waiting.append((link.place, port))
        return None
