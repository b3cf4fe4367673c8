"""Where weights are stored: at the host, in memory expanders, or over both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanweave.golden.dops.graph import Graph
from fanweave.golden.dops.platforms import GIB, Platform
from fanweave.golden.dops.work import byte_count
from fanweave.golden.errors import InputError

__all__ = [
    "WEIGHT_PLACES",
    "WeightHome",
    "store_weights",
    "weight_home",
    "weight_places",
    "weights_at_host",
]

#: Names of the homes: all at the host, all in memories, or over host and memories.
WEIGHT_PLACES = ("host", "memory", "both")


@dataclass(frozen=True, kw_only=True)
class WeightHome:
    """Devices that store the weights.

    Attributes
    ----------
    place : str
        A name of `WEIGHT_PLACES`.
    devices : tuple of int
        Device that stores each weight of the graph.
    stored : tuple of int
        Bytes of weights that each memory stores; nothing is set aside at the host.
    """

    place: str
    devices: tuple[int, ...]
    stored: tuple[int, ...]


def weight_places(platform: Platform) -> tuple[str, ...]:
    """Names of the homes that a platform has, the host first."""
    return WEIGHT_PLACES if platform.indices("memory") else WEIGHT_PLACES[:1]


def weights_at_host(platform: Platform, graph: Graph) -> WeightHome:
    """The home that every platform has."""
    return WeightHome(
        place="host",
        devices=(platform.host,) * len(graph.weights),
        stored=(0,) * len(platform.devices),
    )


def weight_home(
    place: str, platform: Platform, graph: Graph, *, bits: int, room: Sequence[int]
) -> WeightHome:
    """Deal the weights to the devices of a home.

    In the order of the graph each goes to the device with room whose link to what computes would
    be free first, so that a layer's weights come over all links at once.

    Parameters
    ----------
    place : str
        A name of `weight_places`.
    platform, graph
    bits : int
        Bits of an element.
    room : sequence of int
        Bytes that each device has for weights. Of home ``host`` it does not count: the host's own
        room is checked with all that it holds.

    Raises
    ------
    InputError
        If the weights have no room there; says how much is missing.
    """
    if place == "host":
        return weights_at_host(platform, graph)
    memories = platform.indices("memory")
    stores = memories if place == "memory" else [platform.host, *memories]
    return _deal(place, platform, graph, stores, bits, room)


def _deal(
    place: str,
    platform: Platform,
    graph: Graph,
    stores: Sequence[int],
    bits: int,
    room: Sequence[int],
) -> WeightHome:
    readers = [i for i, device in enumerate(platform.devices) if device.type in ("npu", "pim")]
    links = {store: platform.link(store, (readers or [platform.host])[0]) for store in stores}
    sizes = [byte_count(graph.classes[kind].weights, bits) for kind in graph.weight_class]
    left = {store: room[store] for store in stores}
    busy = dict.fromkeys(stores, 0)
    devices: list[int] = []
    for size in sizes:
        ends = {
            store: busy[store] + (0 if link is None else link.time(size))
            for store, link in links.items()
            if left[store] >= size
        }
        if not ends:
            raise InputError(_missing(platform, graph, stores, sum(sizes), room))
        store = min(ends, key=lambda each: (ends[each], each))
        busy[store] = ends[store]
        left[store] -= size
        devices.append(store)
    stored = [0] * len(platform.devices)
    for store in stores:
        if store != platform.host:
            stored[store] = room[store] - left[store]
    return WeightHome(place=place, devices=tuple(devices), stored=tuple(stored))


def _missing(
    platform: Platform, graph: Graph, stores: Sequence[int], total: int, room: Sequence[int]
) -> str:
    free = sum(max(0, room[store]) for store in stores)
    names = ", ".join(platform.devices[store].name for store in stores)
    short = max(0, total - free)
    words = f"{short / GIB:.3f} GiB missing" if short else "no piece of them fits whole in the rest"
    return (
        f"model {graph.model.name} needs {total / GIB:.3f} GiB for weights; {names} have "
        f"{free / GIB:.3f} GiB beside their keys and values: {words}; give them more memory"
    )


def store_weights(graph: Graph, home: WeightHome, host: int) -> Graph:
    """Tell operators where their weights are stored: one class for each store of them.

    Parameters
    ----------
    graph : Graph
        Of which no weight is stored anywhere yet.
    home : WeightHome
    host : int
        The host's number, whose weights keep their class.

    Returns
    -------
    Graph
        With edges and names in common with `graph`; `graph` itself if all is at the host.
    """
    if all(store == host for store in home.devices):
        return graph
    classes, operators = list(graph.classes), list(graph.operators)
    weight_class = list(graph.weight_class)
    index = {work: number for number, work in enumerate(classes)}
    for number, operator in enumerate(operators):
        if operator.weight < 0 or home.devices[operator.weight] == host:
            continue
        work = replace(classes[operator.class_index], stored_at=home.devices[operator.weight])
        kind = index.setdefault(work, len(classes))
        if kind == len(classes):
            classes.append(work)
        operators[number] = replace(operator, class_index=kind)
        weight_class[operator.weight] = kind
    return replace(graph, classes=classes, operators=operators, weight_class=weight_class)
