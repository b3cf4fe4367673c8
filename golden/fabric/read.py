"""Reads semantic movement graphs from TOML."""

import enum
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, TypeVar

from fanweave.golden.dops.tables import (
    check_keys,
    find_toml,
    names,
    read_toml,
    shipped_names,
    text,
    whole,
)
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.check import check_graph
from fanweave.golden.fabric.goals import SETTINGS
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

__all__ = ["graph_from_table", "graph_names", "load_graph"]

_SHIPPED = resources.files(__package__).joinpath("graphs")
_SECTIONS = ("places", "links", "objects", "movements", "goals")
_Part = TypeVar("_Part")


def graph_names() -> list[str]:
    """Names of the graphs that come with the package."""
    return shipped_names(_SHIPPED)


def load_graph(name: str) -> Graph:
    """Find a graph by its name, or read a TOML file; it is checked.

    Raises
    ------
    InputError
        If there is none, it is not of the expected form, or `check_graph` refuses it.
    """
    path = find_toml("graph", name, _SHIPPED)
    return graph_from_table(path.name, read_toml(path))


def graph_from_table(where: str, table: Mapping[str, Any]) -> Graph:
    """Build a graph of its tables, and check it.

    Raises
    ------
    InputError
        The message names the table, the key and what was expected.
    """
    check_keys(
        where, table, required=("name", "places", "links", "objects", "movements"),
        optional=("goals",),
    )  # fmt: skip
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for section in _SECTIONS:
        found = table.get(section, [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise InputError(f"{where}: {section} must be tables, [[{section}]]")
        parts[section] = found

    def made(section: str, build: Callable[[str, Mapping[str, Any]], _Part]) -> tuple[_Part, ...]:
        return tuple(build(where, item) for item in parts[section])

    places = made("places", _place)
    kinds = {place.name: place.kind for place in places}
    graph = Graph.of(
        name=text(where, "name", table["name"]),
        places=places,
        links=made("links", _link),
        objects=made("objects", _object),
        movements=tuple(_movement(where, item, kinds) for item in parts["movements"]),
        goals=made("goals", _goal),
    )
    check_graph(graph)
    return graph


def _named(where: str, what: str, table: Mapping[str, Any]) -> tuple[str, str]:
    """A part's name, and how messages call it."""
    name = text(where, f"{what}.name", table.get("name"))
    return name, f"{where}: {what} {name!r}"


def _words(kind: type[enum.StrEnum]) -> list[str]:
    return [member.value for member in kind]


def _place(where: str, table: Mapping[str, Any]) -> Place:
    name, here = _named(where, "place", table)
    kind = PlaceKind(text(here, "kind", table.get("kind"), one_of=_words(PlaceKind)))
    extra = {
        PlaceKind.GPU: ("kernels",),
        PlaceKind.DPU: ("gbit_s", "latency_ns"),
        PlaceKind.ISLAND: ("switch", "engine"),
    }.get(kind, ())
    check_keys(here, table, required=("name", "kind"), optional=("tenant", "instructions", *extra))
    given: dict[str, Any] = {}
    for key in ("tenant", "switch", "engine"):
        if key in table:
            given[key] = text(here, key, table[key])
    for key in ("instructions", "gbit_s", "latency_ns"):
        if key in table:
            given[key] = whole(here, key, table[key], least=1)
    if "kernels" in table:
        given["kernels"] = _kernels(here, table["kernels"])
    return Place(name=name, kind=kind, **given)


def _kernels(where: str, table: Any) -> dict[Phase, str]:
    if not isinstance(table, dict):
        raise InputError(f"{where}: kernels = {table!r} must be a table: phase = name")
    check_keys(f"{where}: kernels", table, required=(), optional=_words(Phase))
    return {Phase(phase): text(where, f"kernels.{phase}", name) for phase, name in table.items()}


def _link(where: str, table: Mapping[str, Any]) -> Link:
    here = f"{where}: links"
    check_keys(here, table, required=("island", "port", "place"), optional=("place_port",))
    port = whole(here, "place_port", table["place_port"]) if "place_port" in table else -1
    return Link(
        island=text(here, "island", table["island"]),
        port=whole(here, "port", table["port"]),
        place=text(here, "place", table["place"]),
        place_port=port,
    )


def _object(where: str, table: Mapping[str, Any]) -> MovedObject:
    name, here = _named(where, "object", table)
    check_keys(
        here, table, required=("name", "kind", "home", "first", "size"),
        optional=("tenant", "layer", "copies"),
    )  # fmt: skip
    return MovedObject(
        name=name,
        kind=ObjectKind(text(here, "kind", table["kind"], one_of=_words(ObjectKind))),
        home=text(here, "home", table["home"]),
        first=whole(here, "first", table["first"]),
        size=whole(here, "size", table["size"], least=1),
        tenant=text(here, "tenant", table["tenant"]) if "tenant" in table else "",
        layer=whole(here, "layer", table["layer"]) if "layer" in table else -1,
        copies=names(here, "copies", table.get("copies", [])),
    )


def _movement(where: str, table: Mapping[str, Any], kinds: Mapping[str, PlaceKind]) -> Movement:
    name, here = _named(where, "movement", table)
    check_keys(
        here, table, required=("name", "object", "producer", "consumer", "size"),
        optional=(
            "phase", "reuse", "via", "direction", "deadline_ns", "after", "priority", "sharing",
        ),
    )  # fmt: skip
    producer = text(here, "producer", table["producer"])
    consumer = text(here, "consumer", table["consumer"])
    via = text(here, "via", table["via"]) if "via" in table else ""
    if "direction" in table:
        direction = Direction(text(here, "direction", table["direction"], one_of=_words(Direction)))
    elif via:
        direction = Direction.SEND
    else:
        reads = kinds.get(producer) is PlaceKind.MEMORY
        direction = Direction.READ if reads else Direction.WRITE
    phase = text(here, "phase", table.get("phase", Phase.OTHER.value), one_of=_words(Phase))
    sharing = table.get("sharing", Sharing.PRIVATE.value)
    priority = whole(here, "priority", table.get("priority", 0))
    if priority > 7:
        raise InputError(f"{here}: priority = {priority} must be from 0 to 7")
    return Movement(
        name=name,
        object=text(here, "object", table["object"]),
        producer=producer,
        consumer=consumer,
        size=whole(here, "size", table["size"], least=1),
        direction=direction,
        phase=Phase(phase),
        reuse=whole(here, "reuse", table.get("reuse", 1), least=1),
        via=via,
        deadline_ns=whole(here, "deadline_ns", table.get("deadline_ns", 0)),
        after=names(here, "after", table.get("after", [])),
        priority=priority,
        sharing=Sharing(text(here, "sharing", sharing, one_of=_words(Sharing))),
    )


def _goal(where: str, table: Mapping[str, Any]) -> Goal:
    kind = GoalKind(text(f"{where}: goals", "kind", table.get("kind"), one_of=_words(GoalKind)))
    here = f"{where}: goal {kind}"
    settings = SETTINGS[kind]
    near = ("near",) if kind is GoalKind.KEEP_HOT_NEAR else ()
    check_keys(here, table, required=("kind", *near), optional=("objects", *settings))
    return Goal(
        kind=kind,
        objects=names(here, "objects", table.get("objects", [])),
        settings={
            key: settings[key].read(here, key, table[key]) for key in settings if key in table
        },
        near=text(here, "near", table["near"]) if near else "",
    )
