"""What must hold of a semantic movement graph before anything is made of it."""

from collections.abc import Iterator

from fanweave.golden.dops.tables import nearest
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import (
    HOSTS,
    Direction,
    Graph,
    MovedObject,
    Movement,
    Place,
    PlaceKind,
    Sharing,
)
from fanweave.golden.fabric.routes import Network, switch_config
from fanweave.golden.isa.cxl_switch import PAGE_BYTES

__all__ = ["check_graph", "deadlines", "in_order"]

_ADDRESS_BITS = 52


def check_graph(graph: Graph) -> None:
    """Refuse a graph that cannot be.

    Raises
    ------
    InputError
        For the first part that does not fit; the message names it and says what to do.
    """
    _check_links(graph)
    _check_objects(graph)
    network = Network(graph)
    for movement in graph.movements.values():
        _check_movement(graph, network, movement)
    _check_sharing(graph)
    deadlines(graph)
    for goal in graph.goals:
        where = f"{graph.name}: goal {goal.kind}"
        for name in goal.objects:
            graph.object(name, where)
        if goal.near and graph.place(goal.near, where).kind is not PlaceKind.MEMORY:
            raise InputError(f"{where}: near = {goal.near!r} must be a memory")


def _check_links(graph: Graph) -> None:
    taken: dict[tuple[str, int], str] = {}
    for link in graph.links:
        where = f"{graph.name}: link of {link.island!r}, port {link.port}"
        place = graph.place(link.place, where)
        if graph.place(link.island, where).kind is not PlaceKind.ISLAND:
            raise InputError(f"{where}: {link.island!r} is no island; links begin at islands")
        config = switch_config(graph, link.island)
        low, high = (0, config.upstream) if place.kind in HOSTS else (config.upstream, config.ports)
        ends = [(link.island, link.port, low, high, place)]
        if place.kind is PlaceKind.ISLAND:
            other = switch_config(graph, link.place)
            ends.append((link.place, link.place_port, 0, other.upstream, graph.places[link.island]))
        elif link.place_port >= 0:
            raise InputError(f"{where}: place_port is for links to islands; leave it out")
        for island, port, least, end, behind in ends:
            if not least <= port < end:
                raise InputError(
                    f"{graph.name}: port {port} of island {island!r} cannot lead to "
                    f"{behind.kind} {behind.name!r}; ports {least} to {end - 1} can"
                )
            if (island, port) in taken:
                raise InputError(
                    f"{graph.name}: port {port} of island {island!r} leads to "
                    f"{taken[island, port]!r} and to {behind.name!r}; give each its own port"
                )
            taken[island, port] = behind.name


def _check_objects(graph: Graph) -> None:
    for item in graph.objects.values():
        where = f"{graph.name}: object {item.name!r}"
        for memory in (item.home, *item.copies):
            if graph.place(memory, where).kind is not PlaceKind.MEMORY:
                raise InputError(f"{where}: {memory!r} is no memory; objects lie in memories")
        if item.home in item.copies:
            raise InputError(f"{where}: home {item.home!r} is among its copies; take it out")
        if item.first % PAGE_BYTES or item.size % PAGE_BYTES:
            raise InputError(
                f"{where}: first = {item.first:#x} and size = {item.size:#x} must be multiples of "
                f"{PAGE_BYTES:#x}"
            )
        if item.end > 1 << _ADDRESS_BITS:
            raise InputError(
                f"{where}: it ends at {item.end:#x}; addresses have {_ADDRESS_BITS} bits"
            )
    ordered = sorted(graph.objects.values(), key=lambda item: item.first)
    for place, item in enumerate(ordered):
        for other in ordered[place + 1 :]:
            if other.first >= item.end:
                break
            if _share_addresses(item, other):
                raise InputError(
                    f"{graph.name}: objects {item.name!r} ({item.first:#x} to {item.end:#x}) and "
                    f"{other.name!r} ({other.first:#x} to {other.end:#x}) overlap; begin "
                    f"{other.name!r} at {item.end:#x} or later, or give them different tenants"
                )


def _share_addresses(one: MovedObject, other: MovedObject) -> bool:
    """Tenants have addresses of their own; what belongs to none is at its address for all."""
    return not one.tenant or not other.tenant or one.tenant == other.tenant


def _check_movement(graph: Graph, network: Network, movement: Movement) -> None:
    where = f"{graph.name}: movement {movement.name!r}"
    item = graph.object(movement.object, where)
    producer = graph.place(movement.producer, where)
    consumer = graph.place(movement.consumer, where)
    for name in movement.after:
        if name not in graph.movements:
            raise InputError(
                f"{where}: after = {name!r} is no movement{nearest(name, graph.movements)}"
            )
    _check_ends(where, movement, producer, consumer, item)
    if movement.size > item.size:
        raise InputError(
            f"{where}: size = {movement.size}; object {item.name!r} has {item.size} bytes"
        )
    for place in (producer, consumer):
        if place.tenant and place.tenant != item.tenant:
            raise InputError(
                f"{where}: {place.kind} {place.name!r} is tenant {place.tenant!r}'s alone; object "
                f"{item.name!r} is {item.tenant or 'nobody'}'s"
            )
    if movement.direction is Direction.SEND:
        if graph.place(movement.via, where).kind is not PlaceKind.DPU:
            raise InputError(f"{where}: via = {movement.via!r} must be a DPU")
    elif network.way(movement.host, item.home) is None:
        raise InputError(
            f"{where}: no links lead from {movement.host!r} to {item.home!r}; add those that are "
            "missing"
        )


def _check_ends(
    where: str, movement: Movement, producer: Place, consumer: Place, item: MovedObject
) -> None:
    host, memory = {
        Direction.READ: (consumer, producer),
        Direction.WRITE: (producer, consumer),
        Direction.SEND: (producer, consumer),
    }[movement.direction]
    if movement.via and movement.direction is not Direction.SEND:
        raise InputError(f"{where}: via is for movements of direction send; leave it out")
    if movement.direction is Direction.SEND:
        if not movement.via:
            raise InputError(f"{where}: via is missing; name the DPU that sends it")
        if producer.kind not in HOSTS or consumer.kind not in HOSTS:
            raise InputError(f"{where}: a send goes from a device to a device")
        return
    if host.kind not in HOSTS or memory.kind is not PlaceKind.MEMORY:
        raise InputError(
            f"{where}: a {movement.direction} has a device and a memory; it has {producer.kind} "
            f"{producer.name!r} and {consumer.kind} {consumer.name!r}"
        )
    if memory.name != item.home:
        raise InputError(
            f"{where}: object {item.name!r} lies in {item.home!r} and not in {memory.name!r}; "
            "make it a copy there, or move it"
        )


def _check_sharing(graph: Graph) -> None:
    """Memory that several hosts use and one writes has no order but the one that `after` gives."""
    before = _ancestors(graph)
    movements = [m for m in graph.movements.values() if m.direction is not Direction.SEND]
    for place, movement in enumerate(movements):
        for other in movements[place + 1 :]:
            if other.object != movement.object or other.host == movement.host:
                continue
            pair = f"movements {movement.name!r} and {other.name!r} of object {movement.object!r}"
            if Sharing.PRIVATE in (movement.sharing, other.sharing):
                raise InputError(
                    f"{graph.name}: {pair} have different hosts, and sharing = 'private'; say "
                    "'read_only' or 'handover' of both"
                )
            writes = Direction.WRITE in (movement.direction, other.direction)
            ordered = movement.name in before[other.name] or other.name in before[movement.name]
            if writes and not ordered:
                raise InputError(
                    f"{graph.name}: {pair} have different hosts, one writes, and neither comes "
                    "after the other: that needs state that all hosts agree on at all times; "
                    "order them with after"
                )


def _ancestors(graph: Graph) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for movement in in_order(graph):
        found[movement.name] = set(movement.after).union(*(found[n] for n in movement.after))
    return found


def in_order(graph: Graph) -> Iterator[Movement]:
    """Movements behind all that they come after.

    Raises
    ------
    InputError
        If that is not possible; the message names the movements in the circle.
    """
    done: set[str] = set()
    for start in graph.movements:
        stack = [(start, iter(graph.movements[start].after))]
        path = [start]
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in done), None)
            if following is None:
                stack.pop()
                path.pop()
                if name not in done:
                    done.add(name)
                    yield graph.movements[name]
            elif following in path:
                circle = [*path[path.index(following) :], following]
                raise InputError(
                    f"{graph.name}: deadlines go round in a circle: "
                    f"{' after '.join(map(repr, circle))}; take one out of an after"
                )
            else:
                stack.append((following, iter(graph.movements[following].after)))
                path.append(following)


def deadlines(graph: Graph) -> dict[str, int]:
    """When each movement must have ended, in ns from the beginning of its phase; 0 for never.

    Raises
    ------
    InputError
        If movements wait for each other.
    """
    found: dict[str, int] = {}
    for movement in in_order(graph):
        start = max((found[name] for name in movement.after), default=0)
        found[movement.name] = start + movement.deadline_ns if movement.deadline_ns else 0
    return found
