"""Small placement problems: pieces of real layers on random platforms, cold and warm."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from fanweave.golden.dops.costs.tables import CostTables, StepCosts
from fanweave.golden.dops.flat import FlatGraph, flatten
from fanweave.golden.dops.graph import COLLECTIVES, Graph, Sharding, build_graph
from fanweave.golden.dops.kernel.timing import CompiledTiming
from fanweave.golden.dops.kv import KvHome, home_by_capacity
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.models import load_model, model_names
from fanweave.golden.dops.platforms import GIB, Device, Link, Platform, Utilisation
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.base import (
    EXECUTORS,
    Machine,
    Pass,
    Scheduler,
    allowed_devices,
)
from fanweave.golden.dops.timing import Timing
from fanweave.golden.dops.work import Phase, Step, element_bits
from fanweave.golden.errors import InputError

__all__ = ["LARGEST", "Instance", "generate", "piece"]

#: Operators of the largest problem.
LARGEST = 26
_SMALLEST = 8
#: Operators before which a piece may begin: nothing runs beside them but what nobody waits for.
_HEADS = ("LN", "LN1", "LN2")


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One pass of a graph on a machine at rest.

    Attributes
    ----------
    name, phase : str
    flat, platform, costs
    limits, reserved : tuple of int
        Bytes of each device, and of them for keys and values.
    local_history : bool[d]
    resident : tuple of (int, int)
        Weights that are in memory, with the device, least recently used first.
    """

    name: str
    phase: Phase
    flat: FlatGraph
    platform: Platform
    costs: StepCosts
    limits: tuple[int, ...]
    reserved: tuple[int, ...]
    local_history: np.ndarray
    resident: tuple[tuple[int, int], ...]

    @property
    def devices(self) -> list[list[int]]:
        """Devices on which each operator may run."""
        return allowed_devices(self.flat, self.platform, lambda kind: EXECUTORS)

    @property
    def warm(self) -> bool:
        """Whether weights are in memory at the start."""
        return bool(self.resident)

    def machine(self, *, plain: bool = False) -> Machine:
        """A machine at the start of the pass."""
        layouts = [int(Layout.LINEAR)] * len(self.flat.graph.weights)
        machine: Machine
        if plain:
            memories = [
                DeviceMemory(*pair) for pair in zip(self.limits, self.reserved, strict=True)
            ]
            local = self.local_history.tolist()
            machine = Timing(
                self.flat, self.platform, memories, local_history=local, layouts=layouts
            )
        else:
            machine = CompiledTiming(
                self.flat,
                self.platform,
                self.limits,
                self.reserved,
                local_history=self.local_history,
                layouts=layouts,
            )
        machine.begin(self.costs)
        for weight, device in self.resident:
            machine.preload(weight, device)
        return machine

    def work(self, scheduler: Scheduler | None = None, *, plain: bool = False) -> Pass:
        """The pass as a scheduler gets it, with the devices that it allows itself."""
        devices = self.devices
        if scheduler is not None:
            types = scheduler.types
            devices = allowed_devices(self.flat, self.platform, lambda k: types(k, self.phase))
        return Pass(
            timing=self.machine(plain=plain),
            costs=self.costs,
            phase=self.phase,
            token=0,
            tokens=1 if self.phase == "decode" else 0,
            devices=devices,
        )


def piece(graph: Graph, first: int, count: int) -> Graph:
    """`count` operators of a graph in topological order; what they need from before is there.

    Raises
    ------
    InputError
        If the piece would cut a collective from what it sums.
    """
    chosen = graph.order[first : first + count]
    index = {operator: place for place, operator in enumerate(chosen)}
    result = Graph(model=graph.model, sharding=graph.sharding)
    for operator in chosen:
        source = graph.operators[operator]
        sizes = graph.classes[source.class_index]
        result.add(source.name, source.kind, sizes, layer=source.layer, shard=source.shard)
        for producer in graph.predecessors[operator]:
            if producer in index:
                result.connect(index[producer], index[operator])
            elif source.kind in COLLECTIVES:
                raise InputError(f"the piece cuts {source.name} from what it sums")
    result.sort()
    return result


def generate(count: int, seed: int) -> list[Instance]:
    """Draw problems: prefill and decode, cold and warm take turns.

    Parameters
    ----------
    count, seed : int
    """
    random = Random(seed)
    turns: Sequence[tuple[Phase, bool]] = (
        ("prefill", False),
        ("decode", False),
        ("prefill", True),
        ("decode", True),
    )
    return [_draw(random, index, *turns[index % len(turns)]) for index in range(count)]


def _draw(random: Random, index: int, phase: Phase, warm: bool) -> Instance:
    platform = _platform(random, index)
    graph = _graph(random)
    batch = random.choice((1, 2, 4, 8, 16, 32))
    context = random.choice((128, 256, 512, 1024, 2048, 4096))
    bits = element_bits(random.choice(("fp16", "fp16", "int8")))
    home = home_by_capacity(
        platform, graph.model, graph.sharding, batch=batch, tokens=context + 1, bits=bits
    )
    if random.random() < 0.15:
        pieces = graph.sharding.attention
        home = KvHome(
            place="host",
            devices=(platform.host,) * pieces,
            reserved=(0,) * len(platform.devices),
        )
    flat = flatten(graph, platform, home)
    tables = CostTables(
        flat,
        platform,
        load_record("log").cost_models(platform, bits),
        bits=bits,
        load_compute=random.choice((0.0, 0.5, 1.0)),
        load_place=random.choice((0.0, 0.5)),
    )
    costs = tables.step(Step(phase, batch, context))
    limits = _limits(random, flat, platform, costs, home.reserved)
    resident = _resident(random, flat, platform, costs, limits, home.reserved) if warm else ()
    return Instance(
        name=f"{index:03d} {graph.model.name} {phase} {'warm' if resident else 'cold'}, "
        f"{len(graph.operators)} operators, {batch} x {context}, {len(platform.devices) - 1} "
        "devices",
        phase=phase,
        flat=flat,
        platform=platform,
        costs=costs,
        limits=limits,
        reserved=home.reserved,
        local_history=tables.local_history,
        resident=resident,
    )


def _platform(random: Random, index: int) -> Platform:
    def device(name: str, kind: str, *, peak_tflops: float, bandwidth_gib: float) -> Device:
        peak_tflops, bandwidth_gib = (
            round(value * random.uniform(0.5, 2.0), 3) for value in (peak_tflops, bandwidth_gib)
        )
        low = random.uniform(0.3, 0.5)
        return Device(
            name=name,
            type=kind,
            capacity_bytes=random.choice((16, 32, 64)) * GIB,
            utilisation=Utilisation(
                low=low,
                high=random.uniform(low, 0.9),
                flops_low=5e7,
                flops_high=5e12,
                knee_flops=1e10 if kind == "npu" else 1.5e8,
                slope=3.0,
            ),
            line_bytes=32768 if kind == "pim" else 0,
            read_ns=5.0,
            write_ns=30.0,
            source="drawn",
            peak_tflops=peak_tflops,
            bandwidth_gib=bandwidth_gib,
        )

    host = Device(
        name="CPU0",
        type="cpu",
        peak_tflops=0.001,
        bandwidth_gib=32768.0,
        capacity_bytes=8192 * GIB,
        source="drawn",
    )
    devices = [host, device("NPU0", "npu", peak_tflops=280.0, bandwidth_gib=1200.0)]
    if random.random() < 0.15:
        devices.append(device("NPU1", "npu", peak_tflops=280.0, bandwidth_gib=1200.0))
    for pim in range(random.choice((1, 1, 2, 2, 2, 3))):
        devices.append(device(f"PIM{pim}", "pim", peak_tflops=16.0, bandwidth_gib=12000.0))
    bandwidth = random.choice((15.0, 30.0, 62.0, 120.0, 400.0))
    latency = random.choice((0.0, 0.0, 500.0, 2000.0))
    names = [item.name for item in devices]
    links = {
        (source, target): Link(
            bandwidth_gib=round(bandwidth * random.uniform(0.5, 2.0), 3), latency_ns=latency
        )
        for source in names
        for target in names
        if source != target and random.random() < 0.25
    }
    return Platform(
        name=f"drawn {index}",
        topology="fc",
        devices=tuple(devices),
        host=0,
        default_link=Link(bandwidth_gib=bandwidth, latency_ns=latency),
        links=links,
    )


def _graph(random: Random) -> Graph:
    """A piece of two layers of a model card, in one, two or four tensor-parallel parts."""
    model = replace(load_model(random.choice(model_names())), layers=2)
    options = []
    for attention in (1, 2):
        for feed_forward in (1, 2, 4):
            sharding = Sharding(attention=attention, feed_forward=feed_forward)
            try:
                sharding.check(model)
            except InputError:
                continue
            options.append(sharding)
    graph = build_graph(model, random.choice(options))
    heads = [
        place
        for place, operator in enumerate(graph.order)
        if graph.operators[operator].name.split("_")[1] in _HEADS
    ]
    first = random.choice([head for head in heads if len(graph.order) - head >= _SMALLEST])
    most = min(LARGEST, len(graph.order) - first)
    # Large pieces are the harder ones, so there are more of them.
    count = max(random.randint(_SMALLEST, most), random.randint(_SMALLEST, most))
    return piece(graph, first, count)


def _held(flat: FlatGraph, costs: StepCosts) -> int:
    kinds = flat.class_of[~flat.collective & ~flat.writer]
    return int(costs.held[kinds].sum())


def _limits(
    random: Random, flat: FlatGraph, platform: Platform, costs: StepCosts, reserved: Sequence[int]
) -> tuple[int, ...]:
    """Roomy devices; in some problems one that cannot hold all weights."""
    sizes = costs.weight[flat.graph.weight_class].tolist()
    held = _held(flat, costs)
    limits = [
        max(int(0.95 * device.capacity_bytes), own + held + sum(sizes))
        for device, own in zip(platform.devices, reserved, strict=True)
    ]
    if random.random() < 0.15 and sizes:
        tight = random.randrange(1, len(limits))
        share = random.uniform(0.0, 0.5)
        rest = sum(sizes) - max(sizes)
        limits[tight] = reserved[tight] + held + max(sizes) + int(share * rest)
    return tuple(limits)


def _resident(
    random: Random,
    flat: FlatGraph,
    platform: Platform,
    costs: StepCosts,
    limits: Sequence[int],
    reserved: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Weights in memory: as after prefill on an NPU, as dealt to the PIMs, or here and there."""
    npus, pims = platform.indices("npu"), platform.indices("pim")
    choices = random.choice((npus, pims, npus + pims))
    missing = random.choice((0.0, 0.0, 0.1, 0.3))
    room = [limit - own - _held(flat, costs) for limit, own in zip(limits, reserved, strict=True)]
    places = []
    for weight, kind in enumerate(flat.graph.weight_class):
        device = random.choice(choices)
        size = int(costs.weight[kind])
        if random.random() < missing or size > room[device]:
            continue
        room[device] -= size
        places.append((weight, device))
    random.shuffle(places)
    return tuple(places)
