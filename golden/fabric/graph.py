"""What a semantic movement graph is made of.

Places are joined by links of switch islands; objects lie in memories; movements carry objects from
a producer to a consumer and say what they mean; goals say what is wanted of them.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from fanweave.golden.dops.tables import nearest
from fanweave.golden.errors import InputError

__all__ = [
    "HOSTS",
    "Direction",
    "Goal",
    "GoalKind",
    "Graph",
    "Link",
    "MovedObject",
    "Movement",
    "ObjectKind",
    "Phase",
    "Place",
    "PlaceKind",
    "Sharing",
]


class PlaceKind(enum.StrEnum):
    """What a place is."""

    GPU = "gpu"
    NPU = "npu"
    DPU = "dpu"
    VENTAGLIO = "ventaglio"
    ISLAND = "island"
    MEMORY = "memory"


#: Places that send requests into a switch.
HOSTS = frozenset({PlaceKind.GPU, PlaceKind.NPU, PlaceKind.DPU, PlaceKind.VENTAGLIO})


class ObjectKind(enum.StrEnum):
    """What an object holds."""

    WEIGHTS = "weights"
    KV = "kv"
    ACTIVATIONS = "activations"


class Phase(enum.StrEnum):
    """Part of a layer that a movement belongs to; its number is its place here."""

    OTHER = "other"
    ATTENTION = "attention"
    FFN = "ffn"

    @property
    def number(self) -> int:
        """As programs see it."""
        return list(Phase).index(self)


class Direction(enum.StrEnum):
    """What a movement is to its object."""

    READ = "read"  # out of its memory
    WRITE = "write"  # into it
    SEND = "send"  # through a network interface


class Sharing(enum.StrEnum):
    """Who else may move the object."""

    PRIVATE = "private"  # nobody
    READ_ONLY = "read_only"  # others, as long as nobody writes it
    HANDOVER = "handover"  # others, but only before or after this movement, by `after`


class GoalKind(enum.StrEnum):
    """What can be wanted."""

    STEER_OBJECTS = "steer_objects"
    KEEP_HOT_NEAR = "keep_hot_near"
    BALANCE_DUPLEX = "balance_duplex"
    BOUND_TAIL_LATENCY = "bound_tail_latency"
    ISOLATE_TENANTS = "isolate_tenants"
    PREFETCH_STREAMS = "prefetch_streams"
    SPREAD_READS = "spread_reads"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A device, a memory or a switch island.

    Attributes
    ----------
    name : str
    kind : PlaceKind
    tenant : str
        Who alone uses it; empty if all do.
    instructions : int
        Instructions that an event may take there; 0 if its kind decides.
    kernels : mapping of Phase to str
        Of a GPU: the kernel of each phase, by the name it is attached to.
    gbit_s, latency_ns : int
        Of a DPU's network interface.
    switch, engine : str
        Of an island: names of the configurations of its switch and of its policy engine.
    """

    name: str
    kind: PlaceKind
    tenant: str = ""
    instructions: int = 0
    kernels: Mapping[Phase, str] = field(default_factory=dict)
    gbit_s: int = 100
    latency_ns: int = 500
    switch: str = "default"
    engine: str = "default"


@dataclass(frozen=True, kw_only=True)
class Link:
    """A port of an island, and what is behind it.

    Attributes
    ----------
    island : str
    port : int
        Of the island, hosts first.
    place : str
        A host, a memory, or another island that takes requests from this one.
    place_port : int
        Port of the other island.
    """

    island: str
    port: int
    place: str
    place_port: int = -1


@dataclass(frozen=True, kw_only=True)
class MovedObject:
    """Data at an address.

    Attributes
    ----------
    name : str
    kind : ObjectKind
    home : str
        The memory that it lies in.
    first, size : int
        Address and bytes, in pages, for all hosts of its tenant.
    tenant : str
        Whose it is; empty if all share it.
    layer : int
        Of the model; -1 if it belongs to none.
    copies : tuple of str
        Memories with a copy.
    """

    name: str
    kind: ObjectKind
    home: str
    first: int
    size: int
    tenant: str = ""
    layer: int = -1
    copies: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """The address behind its last byte."""
        return self.first + self.size


@dataclass(frozen=True, kw_only=True)
class Movement:
    """An object that moves.

    Attributes
    ----------
    name : str
    object : str
    producer, consumer : str
        A memory and a host, or a host and a memory; two hosts of a `SEND`.
    size : int
        Bytes that move at a time.
    reuse : int
        How often the same bytes move in a phase.
    phase : Phase
    direction : Direction
    via : str
        The DPU of a `SEND`.
    deadline_ns : int
        Time from the end of `after`, or from the beginning of the phase; 0 for none.
    after : tuple of str
        Movements that must have ended.
    priority : int
        0 to 7, 7 the most urgent.
    sharing : Sharing
    """

    name: str
    object: str
    producer: str
    consumer: str
    size: int
    direction: Direction
    phase: Phase = Phase.OTHER
    reuse: int = 1
    via: str = ""
    deadline_ns: int = 0
    after: tuple[str, ...] = ()
    priority: int = 0
    sharing: Sharing = Sharing.PRIVATE

    @property
    def host(self) -> str:
        """Who asks for it: of a read the consumer, else the producer."""
        return self.consumer if self.direction is Direction.READ else self.producer


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is wanted.

    Attributes
    ----------
    kind : GoalKind
    objects : tuple of str
        Those that it is about.
    settings : mapping of str to int
        Numbers of its kind that differ from their defaults.
    near : str
        Of `KEEP_HOT_NEAR`: the memory.
    """

    kind: GoalKind
    objects: tuple[str, ...] = ()
    settings: Mapping[str, int] = field(default_factory=dict)
    near: str = ""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A semantic movement graph.

    Attributes
    ----------
    name : str
    places, objects, movements : mapping by name
    links : tuple of Link
    goals : tuple of Goal
    """

    name: str
    places: Mapping[str, Place]
    links: tuple[Link, ...]
    objects: Mapping[str, MovedObject]
    movements: Mapping[str, Movement]
    goals: tuple[Goal, ...]

    @classmethod
    def of(
        cls,
        *,
        name: str,
        places: tuple[Place, ...],
        links: tuple[Link, ...] = (),
        objects: tuple[MovedObject, ...] = (),
        movements: tuple[Movement, ...] = (),
        goals: tuple[Goal, ...] = (),
    ) -> "Graph":
        """Make a graph of its parts.

        Raises
        ------
        InputError
            If two parts have one name. What else must hold is `check_graph`'s question.
        """
        return cls(
            name=name,
            places=_by_name(name, "place", places),
            links=links,
            objects=_by_name(name, "object", objects),
            movements=_by_name(name, "movement", movements),
            goals=goals,
        )

    def of_kind(self, kind: PlaceKind) -> tuple[Place, ...]:
        """Places of a kind, in order."""
        return tuple(place for place in self.places.values() if place.kind is kind)

    def place(self, name: str, where: str) -> Place:
        """A place by its name.

        Raises
        ------
        InputError
            If there is none; the nearest name is suggested.
        """
        if name not in self.places:
            raise InputError(
                f"{where}: {name!r} is no place{nearest(name, self.places)}; places are "
                f"{', '.join(self.places)}"
            )
        return self.places[name]

    def object(self, name: str, where: str) -> MovedObject:
        """The same of an object."""
        if name not in self.objects:
            raise InputError(
                f"{where}: {name!r} is no object{nearest(name, self.objects)}; objects are "
                f"{', '.join(self.objects)}"
            )
        return self.objects[name]


_Part = TypeVar("_Part", Place, MovedObject, Movement)


def _by_name(graph: str, what: str, parts: tuple[_Part, ...]) -> dict[str, _Part]:
    named: dict[str, _Part] = {}
    for part in parts:
        if part.name in named:
            raise InputError(f"{graph}: {what} {part.name!r} is there twice; rename one")
        named[part.name] = part
    return named
