"""Graphs for tests, compiled once, and devices that run on golden."""

import functools

import pytest

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
from fanweave.golden.fabric.read import load_graph
from fanweave.golden.isa.cxl_event import Channel, Verdict, encode_event
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.fabric.compile import compile_graph

#: Ports of the island of the small graph, and where its objects lie.
GPU, NPU, NEAR, FAR = range(4)
KV, WEIGHTS = 0x10_0000, 0x20_0000


def _small_graph(*goals, reads_kv="gpu", island=None, gpu=None, **more):
    """One island with two hosts and two memories; keys and values are written and read."""
    parts = {
        "places": (
            Place(name="gpu", kind=PlaceKind.GPU, **(gpu or {})),
            Place(name="npu", kind=PlaceKind.NPU),
            Place(name="island", kind=PlaceKind.ISLAND, **(island or {})),
            Place(name="near", kind=PlaceKind.MEMORY),
            Place(name="far", kind=PlaceKind.MEMORY),
        ),
        "links": tuple(
            Link(island="island", port=port, place=name)
            for port, name in enumerate(("gpu", "npu", "near", "far"))
        ),
        "objects": (
            MovedObject(
                name="kv", kind=ObjectKind.KV, home="far", first=KV, size=0x4000, copies=("near",)
            ),
            MovedObject(
                name="weights",
                kind=ObjectKind.WEIGHTS,
                home="far",
                first=WEIGHTS,
                size=0x8000,
                copies=("near",),
            ),
        ),
        "movements": (
            Movement(
                name="write_kv",
                object="kv",
                producer="gpu",
                consumer="far",
                size=0x1000,
                direction=Direction.WRITE,
                phase=Phase.ATTENTION,
                sharing=Sharing.HANDOVER,
            ),
            Movement(
                name="read_kv",
                object="kv",
                producer="far",
                consumer=reads_kv,
                size=0x1000,
                direction=Direction.READ,
                phase=Phase.ATTENTION,
                after=("write_kv",),
                sharing=Sharing.HANDOVER,
            ),
            Movement(
                name="stream",
                object="weights",
                producer="far",
                consumer="npu",
                size=0x8000,
                direction=Direction.READ,
                phase=Phase.FFN,
            ),
        ),
    }
    parts.update(more)
    return Graph.of(name="small", goals=goals, **parts)


def _goal(kind, *objects, near="", **settings):
    """A goal, its kind by name."""
    return Goal(kind=GoalKind(kind), objects=objects, near=near, settings=settings)


class Device:
    """A compiled device on a golden machine that stays."""

    def __init__(self, built, engines=1):
        self.built = built
        self.machine = built.machine(engines)

    def run(self, program, context=b"", **more):
        """r0 of a program."""
        found = self.built.loaded.find_program(program).program
        outcome = self.machine.run(found, context, **more)
        assert outcome.fault is FaultCause.NONE
        return outcome.r0

    def message(self, program, channel, opcode, address, port, island, **fields):
        """The verdict on a message."""
        context = encode_event(
            channel=channel,
            direction=channel.direction,
            opcode=opcode,
            address=address,
            port=port,
            island=island,
            **fields,
        )
        return Verdict.decode(self.run(program, context))

    def read(self, program, address, port=GPU, island=FAR, **fields):
        """The verdict on a read."""
        return self.message(program, Channel.M2S_REQ, 1, address, port, island, **fields)

    def write(self, program, address, port=GPU, island=FAR, **fields):
        """The verdict on a write."""
        return self.message(program, Channel.M2S_RWD, 1, address, port, island, **fields)

    def data(self, address, port=FAR, island=GPU, **fields):
        """An answer with data."""
        return self.message("answers", Channel.S2M_DRS, 0, address, port, island, **fields)

    def map(self, name):
        """A map of the machine."""
        return self.machine.maps[self.built.loaded.number_of(name, "map")]

    def values(self, name):
        """What is in it, as Python sees it."""
        number = self.built.loaded.number_of(name, "map")
        return self.built.named.values({number: list(self.map(name).items())})[name]

    def put(self, name, entries):
        """What the host, or another device, puts into it."""
        ((_, made),) = self.built.named.contents({name: entries}).items()
        for (key, _), value in zip(made, entries.values(), strict=True):
            base = self.map(name).get(key) or b""
            assert self.map(name).update(key, self.built.named.value_of(name, value, base)) == 0


@pytest.fixture(scope="session")
def shipped():
    """The graph that comes with the package, compiled."""
    return compile_graph(load_graph("prefill_decode"))


@functools.cache
def _island_of(*goals):
    return compile_graph(_small_graph(*goals)).built["island"]


class _Hashable(Goal):
    """Settings in an order, so that goals can be the key of a cache."""

    def __hash__(self):
        return hash((self.kind, self.objects, self.near, tuple(sorted(self.settings.items()))))


@pytest.fixture
def small_graph():
    """A graph with one island and these goals: ``small_graph(goal(...), ...)``."""
    return _small_graph


@pytest.fixture
def goal():
    """A goal of a kind, about objects, with settings: ``goal("balance_duplex", window=2)``."""
    return _goal


@pytest.fixture
def device():
    """Start a built device: ``device(built)``."""
    return Device


@pytest.fixture
def island():
    """The island of the small graph with goals: ``island(goal(...), ...)``."""

    def start(*goals):
        kept = (
            _Hashable(kind=g.kind, objects=g.objects, near=g.near, settings=g.settings)
            for g in goals
        )
        return Device(_island_of(*kept))

    return start
