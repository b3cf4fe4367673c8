"""What sound mode does otherwise, and its problems: graph, costs, homes of keys and values."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fanweave.golden.dops.costs.device import DeviceCosts
from fanweave.golden.dops.costs.physical import Physical
from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.flat import flatten
from fanweave.golden.dops.graph import Graph, Sharding, build_graph, default_sharding
from fanweave.golden.dops.kv import KvHome, home_by_capacity
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.place import Problem, check_capacity, host_history, memory_limits
from fanweave.golden.dops.platforms import Device, Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.weight_home import store_weights, weight_home, weight_places
from fanweave.golden.dops.work import byte_count, element_bits
from fanweave.golden.errors import InputError

__all__ = ["SoundOptions", "kv_homes", "sound_problems"]

#: Share of a transfer of weights that is hidden behind writing and using them: they stream.
_STREAMED = 1.0


@dataclass(frozen=True, kw_only=True)
class SoundOptions:
    """What sound mode does otherwise than the published rules, each of it on its own.

    Attributes
    ----------
    physical : bool
        Costs within all peaks, instead of the record's.
    ends : bool
        Embedding and language head.
    free_kv : bool
        Keys and values, and weights, at the cheapest home, and attention on any device.
    in_order : bool
        A token begins when the one before has ended.
    links : bool
        The platform's own links, instead of the record's.
    fair : bool
        Earliest finish with affinity for the baselines.
    experts : bool
        All experts have weights, and a batch reads those that its tokens take.
    ring_links, prefetch, pinned : bool
        See `fanweave.golden.dops.rules.MachineRules`.
    """

    physical: bool = True
    ends: bool = True
    free_kv: bool = True
    in_order: bool = True
    links: bool = True
    fair: bool = True
    experts: bool = True
    ring_links: bool = True
    prefetch: bool = True
    pinned: bool = True


def kv_homes(
    platform: Platform, model: ModelCard, sharding: Sharding, *, batch: int, tokens: int, bits: int
) -> Iterator[KvHome]:
    """Homes of all keys and values that fit: the PIMs, the NPUs, the memories, the host.

    The pieces are dealt to the devices of a type in order, as evenly as possible, and the memory
    for `tokens` tokens of every sequence is set aside from the start.
    """
    limits = memory_limits(platform)
    piece = byte_count(model.kv_elements // sharding.attention * batch * tokens, bits)
    for kind in ("pim", "npu", "memory"):
        indices = platform.indices(kind)
        if not indices:
            continue
        each, more = divmod(sharding.attention, len(indices))
        devices = [d for i, d in enumerate(indices) for _ in range(each + (i < more))]
        reserved = tuple(piece * devices.count(d) for d in range(len(limits)))
        if all(size <= limit for size, limit in zip(reserved, limits, strict=True)):
            yield KvHome(place=kind, devices=tuple(devices), reserved=reserved)
    nothing = (0,) * len(limits)
    at_host = (platform.host,) * sharding.attention
    yield KvHome(place="host", devices=at_host, reserved=nothing)


def _models(platform: Platform, bits: int) -> list[Physical]:
    """One cost model a device; those of one type with the same numbers share one."""
    made: dict[Device, Physical] = {}
    result = []
    for device in platform.devices:
        same = next((d for d in made if _alike(d, device)), device)
        result.append(made.setdefault(same, Physical(same, bits)))
    return result


def _alike(one: Device, other: Device) -> bool:
    return {**vars(one), "name": ""} == {**vars(other), "name": ""}


@dataclass(frozen=True, kw_only=True)
class _Common:
    """What the problems of all homes have in common.

    Attributes
    ----------
    model, platform, workload, record, bits, options
    graph : Graph
        With all weights at the host.
    costs : list of DeviceCosts
        Of each device.
    table : int
        Bytes of the embedding at the host that no weight of the graph has.
    """

    model: ModelCard
    platform: Platform
    workload: Workload
    record: Record
    bits: int
    options: SoundOptions
    graph: Graph
    costs: Sequence[DeviceCosts]
    table: int


def _common(
    model: ModelCard,
    platform: Platform,
    workload: Workload,
    record: Record,
    *,
    bits: int,
    sharding: Sharding,
    options: SoundOptions,
) -> _Common:
    graph = build_graph(
        model,
        sharding,
        topology=platform.topology,
        ends=options.ends,
        all_experts=options.experts,
    )
    # A tied table is the head's weight, which the graph has.
    table = 0 if model.tied or not options.ends else model.hidden * model.vocabulary
    physical = options.physical
    return _Common(
        model=model,
        platform=platform,
        workload=workload,
        record=record,
        bits=bits,
        options=options,
        graph=graph,
        costs=_models(platform, bits) if physical else record.cost_models(platform, bits),
        table=byte_count(table, bits),
    )


def _problem(common: _Common, home: KvHome, place: str) -> Problem:
    """With keys and values at one home, and weights at one of `weight_places`.

    Raises
    ------
    InputError
        If something does not fit into memory.
    """
    platform, options, bits = common.platform, common.options, common.bits
    stored = weight_home(place, platform, common.graph, bits=bits, room=_room(common, home))
    graph = store_weights(common.graph, stored, platform.host)
    flat = flatten(graph, platform, home, attention_anywhere=options.free_kv)
    record = common.record
    tables = CostTables(
        flat,
        platform,
        common.costs,
        bits=bits,
        load_compute=_STREAMED if options.physical else record.load_compute,
        load_place=_STREAMED if options.physical else record.load_place,
    )
    case = Problem(
        platform=platform,
        record=record,
        workload=common.workload,
        bits=bits,
        home=home,
        flat=flat,
        tables=tables,
        rules=MachineRules(
            ring_links=options.ring_links, prefetch=options.prefetch, pinned=options.pinned
        ),
        weights=stored,
    )
    check_capacity(case, common.model, table=common.table)
    return case


def _room(common: _Common, home: KvHome) -> list[int]:
    """Bytes that each device has for storing weights."""
    platform = common.platform
    room = [
        limit - taken for limit, taken in zip(memory_limits(platform), home.reserved, strict=True)
    ]
    history = host_history(common.model, common.workload, home, common.bits)
    room[platform.host] = platform.devices[platform.host].capacity_bytes - common.table - history
    return room


def sound_problems(
    model: ModelCard,
    platform: Platform,
    workload: Workload,
    record: Record,
    *,
    elements: str = "fp16",
    sharding: Sharding | None = None,
    options: SoundOptions | None = None,
) -> list[Problem]:
    """One problem a home of keys and values, and of weights, at which everything fits.

    Parameters
    ----------
    model, platform, workload, record
        Of the record only Bifocal's parameters and the period of planning count.
    elements : str
    sharding : Sharding, optional
        One piece a PIM if not given, or as many as the model can be cut into.
    options : SoundOptions, optional
        All of them if not given.

    Raises
    ------
    InputError
        If the model cannot be cut so, or fits with no home; says what is missing at the last.
    """
    bits, options = element_bits(elements), options or SoundOptions()
    if not options.links:
        platform = record.platform(platform)
    if sharding is None:
        sharding = default_sharding(model, len(platform.indices("pim")))
    sharding.check(model)
    tokens = workload.prefill + workload.decode
    size = {"batch": workload.batch, "tokens": tokens, "bits": bits}
    homes: Iterable[KvHome] = [home_by_capacity(platform, model, sharding, **size)]
    if options.free_kv:
        homes = kv_homes(platform, model, sharding, **size)
    common = _common(
        model, platform, workload, record, bits=bits, sharding=sharding, options=options
    )
    found: list[Problem] = []
    last: InputError | None = None
    places = weight_places(platform) if options.free_kv else ("host",)
    for home, place in itertools.product(homes, places):
        try:
            found.append(_problem(common, home, place))
        except InputError as error:
            last = error
    if not found and last is not None:
        raise last
    return found
