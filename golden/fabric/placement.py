"""A movement graph of a placement, as ``fanweave place --json FILE --operators`` writes it.

Each device becomes a place that sends requests, with a memory of its own; the host becomes a memory
with the weights. Of the prefill, messages of one kind between two devices become one movement.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.dops.graph import Kind, Sharding, build_graph
from fanweave.golden.dops.models import ModelCard, load_model
from fanweave.golden.dops.work import byte_count, element_bits
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.check import check_graph
from fanweave.golden.fabric.graph import (
    Direction,
    Goal,
    GoalKind,
    Graph,
    Link,
    MovedObject,
    Movement,
    ObjectKind,
    Phase,
    Place,
    PlaceKind,
    Sharing,
)
from fanweave.golden.isa.cxl_switch import PAGE_BYTES

__all__ = ["graph_of_placement", "load_placement"]

_NEEDED = ("model", "elements", "pieces", "batch", "prefill_tokens", "devices", "passes")
_ATTENTION = frozenset(
    {Kind.Q, Kind.K, Kind.V, Kind.K_WRITE, Kind.V_WRITE, Kind.QK, Kind.SOFTMAX, Kind.SV, Kind.O}
)
_FFN = frozenset({Kind.W1, Kind.W3, Kind.SWIGLU, Kind.W2, Kind.ROUTER})
#: Purposes of messages that carry weights, stored keys and values, and outputs.
_WEIGHTS, _HISTORY = "weights", "history"
_KINDS = {PlaceKind.NPU: re.compile("npu", re.I), PlaceKind.GPU: re.compile("gpu", re.I)}
_HOST = re.compile("cpu", re.I)
#: Hosts that the largest switch takes, with its last port for the other island; memories are
#: behind the ports from the first of them on, and the other island behind the last.
_SWITCH = "wide"
_HOSTS = PRESETS[_SWITCH].upstream
_LAST_PORT = PRESETS[_SWITCH].ports - 1
_ISLANDS = 2
#: The switch of few devices, which have fewer hosts and memories than it has ports.
_SMALL = "default"
_BASE = 0x10_0000_0000


@dataclass(frozen=True)
class _Flow:
    """Messages of one kind between two devices."""

    kind: ObjectKind
    phase: Phase
    source: str
    target: str
    is_read: bool


def load_placement(path: Path) -> Graph:
    """Derive a graph from a file.

    Raises
    ------
    InputError
        If it cannot be read, is no such document, or has more devices than a switch has ports.
    """
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from None
    return graph_of_placement(document, str(path))


def graph_of_placement(document: Any, where: str, model: ModelCard | None = None) -> Graph:
    """Derive a graph from a document, and of the model that it names unless one is given.

    See `load_placement`.
    """
    if not isinstance(document, dict):
        raise InputError(f"{where}: expected the JSON of `fanweave place --json`")
    for key in _NEEDED:
        if key not in document:
            mend = " with --operators" if key == "passes" else ""
            raise InputError(
                f"{where}: {key!r} is missing; write it with `fanweave place --json FILE`{mend}"
            )
    try:
        return _derive(document, where, model)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"{where}: it is not what `fanweave place --json FILE --operators` writes: "
            f"{type(error).__name__} {error}"
        ) from None


def _derive(document: Mapping[str, Any], where: str, model: ModelCard | None) -> Graph:
    names = [row["device"] for row in document["devices"]]
    host = next((name for name in names if _HOST.match(name)), None)
    if host is None:
        raise InputError(f"{where}: no device is called CPU..., which the weights would lie at")
    devices = [name for name in names if name != host]
    most = _ISLANDS * (_HOSTS - 1)
    if len(devices) > most:
        raise InputError(
            f"{where}: {len(devices)} devices besides {host}; {_ISLANDS} islands with switches "
            f"{_SWITCH!r} have ports for {most}: take a platform with fewer"
        )
    sizes = _flow_sizes(document, host, model or load_model(document["model"]))
    objects = _objects(sizes, [*devices, host])
    return _graph(document, host, devices, sizes, objects)


def _flow_sizes(document: Mapping[str, Any], host: str, model: ModelCard) -> dict[_Flow, int]:
    """Bytes of all flows of the prefill."""
    bits = element_bits(document["elements"])
    pieces = Sharding(**document["pieces"])
    graph = build_graph(model, pieces)
    kinds = {operator.name: operator.kind for operator in graph.operators}
    weights = {
        name: byte_count(graph.classes[number].weights, bits)
        for name, number in zip(graph.weights, graph.weight_class, strict=True)
    }
    tokens = document["batch"] * document["prefill_tokens"]
    prefill = next(each for each in document["passes"] if each["phase"] == "prefill")
    sizes: Counter[_Flow] = Counter()
    for row in prefill["messages"]:
        kind = kinds.get(row["operator"], Kind.ALLREDUCE)
        flow = _flow(row, kind, host)
        if flow is None:
            continue
        is_weights = flow.kind is ObjectKind.WEIGHTS
        size = weights.get(row["operator"], 0) if is_weights else _output(model, pieces, kind)
        sizes[flow] += size if is_weights else byte_count(size * tokens, bits)
    return {flow: size for flow, size in sizes.items() if size}


def _output(model: ModelCard, pieces: Sharding, kind: Kind) -> int:
    """Elements of an operator's output, a token."""
    if kind in (Kind.K, Kind.V, Kind.K_WRITE, Kind.V_WRITE):
        return model.kv_heads // pieces.attention * model.head_size
    if kind in _ATTENTION - {Kind.O}:
        return model.heads // pieces.attention * model.head_size
    if kind in (Kind.W1, Kind.W3, Kind.SWIGLU):
        return model.intermediate // pieces.feed_forward
    return model.hidden


def _flow(row: Mapping[str, Any], kind: Kind, host: str) -> _Flow | None:
    phase = Phase.ATTENTION if kind in _ATTENTION else Phase.FFN if kind in _FFN else Phase.OTHER
    source, target = row["source"], row["target"]
    if row["purpose"] == _WEIGHTS:
        return _Flow(ObjectKind.WEIGHTS, phase, source, target, True)
    if row["purpose"] == _HISTORY:
        return _Flow(ObjectKind.KV, Phase.ATTENTION, source, target, True)
    what = ObjectKind.KV if kind in (Kind.K, Kind.V) else ObjectKind.ACTIVATIONS
    if source == host:
        return _Flow(what, phase, source, target, True)
    return _Flow(what, phase, source, target, False)


def _name_of(flow: _Flow) -> str:
    if flow.kind is ObjectKind.WEIGHTS:
        kept = "" if _HOST.match(flow.source) else f"_{flow.source}"
        return f"weights_{flow.phase}{kept}".lower()
    kept = "from" if flow.is_read else "to"
    return f"{flow.kind}_{flow.phase}_{flow.source}_{kept}_{flow.target}".lower()


def _memory(device: str) -> str:
    return f"{device}_memory".lower()


def _objects(sizes: Mapping[_Flow, int], memories: list[str]) -> dict[str, MovedObject]:
    """One behind the other: by memory, those of an island together, so that few ranges do.

    Weights are last, and before them what else is at the host, which is one range with them.
    """
    totals: dict[str, int] = {}
    flows: dict[str, _Flow] = {}
    for flow, size in sizes.items():
        name = _name_of(flow)
        # Devices that read weights read different pieces of them.
        totals[name] = totals.get(name, 0) + size
        flows[name] = flow

    def place(name: str) -> tuple[bool, int, str]:
        flow = flows[name]
        home = flow.source if flow.is_read else flow.target
        return flow.kind is ObjectKind.WEIGHTS, memories.index(home), name

    first, made = _BASE, {}
    for name in sorted(flows, key=place):
        flow = flows[name]
        size = -(-totals[name] // PAGE_BYTES) * PAGE_BYTES
        home = flow.source if flow.is_read else flow.target
        made[name] = MovedObject(
            name=name,
            kind=flow.kind,
            home=_memory(home),
            first=first,
            size=size,
        )
        first += size
    return made


def _graph(
    document: Mapping[str, Any],
    host: str,
    devices: list[str],
    sizes: Mapping[_Flow, int],
    objects: Mapping[str, MovedObject],
) -> Graph:
    islands = _islands(devices)
    switch = _SMALL if len(devices) <= PRESETS[_SMALL].upstream else _SWITCH
    places = [
        *(Place(name=name.lower(), kind=_place_kind(name)) for name in devices),
        *(Place(name=name, kind=PlaceKind.ISLAND, switch=switch) for name in islands),
        *(Place(name=_memory(name), kind=PlaceKind.MEMORY) for name in (host, *devices)),
    ]
    links = _links(host, islands, PRESETS[switch].upstream)
    movements = [
        Movement(
            name=f"{_name_of(flow)}_{flow.target}".lower() if _shared(flow) else _name_of(flow),
            object=_name_of(flow),
            producer=_memory(flow.source) if flow.is_read else flow.source.lower(),
            consumer=flow.target.lower() if flow.is_read else _memory(flow.target),
            size=size,
            direction=Direction.READ if flow.is_read else Direction.WRITE,
            phase=flow.phase,
            priority=0 if flow.kind is ObjectKind.WEIGHTS else 4,
            sharing=Sharing.READ_ONLY if _shared(flow) else Sharing.PRIVATE,
        )
        for flow, size in sizes.items()
    ]
    weights = tuple(n for n, item in objects.items() if item.kind is ObjectKind.WEIGHTS)
    others = tuple(name for name in objects if name not in weights)
    goals = [Goal(kind=GoalKind.BALANCE_DUPLEX)]
    if others:
        goals.append(Goal(kind=GoalKind.BOUND_TAIL_LATENCY, objects=others))
    if weights:
        goals.append(Goal(kind=GoalKind.PREFETCH_STREAMS, objects=weights))
    graph = Graph.of(
        name=f"{document['model']} on {document.get('platform', 'a platform')}",
        places=tuple(places),
        links=tuple(links),
        objects=tuple(objects.values()),
        movements=tuple(movements),
        goals=tuple(goals),
    )
    check_graph(graph)
    return graph


def _islands(devices: list[str]) -> dict[str, list[str]]:
    """Islands and their devices: one, or two that lead to each other."""
    if len(devices) <= _HOSTS:
        return {"island0": devices}
    half = -(-len(devices) // _ISLANDS)
    return {"island0": devices[:half], "island1": devices[half:]}


def _links(host: str, islands: Mapping[str, list[str]], first_memory: int) -> list[Link]:
    links = []
    for number, (island, devices) in enumerate(islands.items()):
        # The host's memory is at the first one.
        memories = [*devices, host] if number == 0 else devices
        for port, name in enumerate(devices):
            links.append(Link(island=island, port=port, place=name.lower()))
        for port, name in enumerate(memories, start=first_memory):
            links.append(Link(island=island, port=port, place=_memory(name)))
        for other in islands:
            if other != island:
                links.append(
                    Link(island=island, port=_LAST_PORT, place=other, place_port=_HOSTS - 1)
                )
    return links


def _shared(flow: _Flow) -> bool:
    return flow.kind is ObjectKind.WEIGHTS


def _place_kind(device: str) -> PlaceKind:
    """Devices that compute at a memory are as Ventaglio clusters are."""
    return next((kind for kind, like in _KINDS.items() if like.match(device)), PlaceKind.VENTAGLIO)
