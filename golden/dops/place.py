"""Places and times a workload of a model on a platform: the front of the package."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.dops.bounds import LowerBound
from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.energy import EnergyMeter
from fanweave.golden.dops.flat import FlatGraph, flatten
from fanweave.golden.dops.graph import Sharding, build_graph
from fanweave.golden.dops.invariants import CHECKED, WAIVED_IN_IMITATION, Invariants
from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.kernel.timing import CompiledTiming
from fanweave.golden.dops.kv import KvHome, home_by_capacity
from fanweave.golden.dops.layouts import Layout, host_bytes
from fanweave.golden.dops.memory import DeviceMemory
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import GIB, Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.rules import MachineRules
from fanweave.golden.dops.schedule import KeptPass, Schedule
from fanweave.golden.dops.schedulers.base import Machine, Pass, Scheduler
from fanweave.golden.dops.simulate import Workload, run, sample_tokens
from fanweave.golden.dops.timing import Timing
from fanweave.golden.dops.weight_home import WeightHome, weights_at_host
from fanweave.golden.dops.work import Step, byte_count, element_bits
from fanweave.golden.errors import InputError

__all__ = [
    "Observer",
    "Problem",
    "check_capacity",
    "execute",
    "host_history",
    "imitate",
    "make_machine",
    "memory_limits",
    "problem",
    "spills_everything",
]

#: Is told of every pass, after it was checked; the log is only valid then.
Observer = Callable[[Pass, PassLog, Plan], None]

#: Share of a device's memory that the published model uses.
_MEMORY_SHARE = 0.95


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that is fixed before a scheduler comes.

    Attributes
    ----------
    platform, record, workload
    bits : int
        Bits of an element.
    home : KvHome
    flat : FlatGraph
    tables : CostTables
    weights : WeightHome
    rules : MachineRules
    """

    platform: Platform
    record: Record
    workload: Workload
    bits: int
    home: KvHome
    flat: FlatGraph
    tables: CostTables
    weights: WeightHome
    rules: MachineRules = field(default_factory=MachineRules)

    @property
    def homes(self) -> dict[str, str]:
        """Kinds of devices where keys and values live, and where weights are stored."""
        return {"keys_values": self.home.place, "weights": self.weights.place}

    @property
    def reserved(self) -> list[int]:
        """Bytes of each device for keys and values, and for weights that a memory stores."""
        pairs = zip(self.home.reserved, self.weights.stored, strict=True)
        return [history + stored for history, stored in pairs]


def problem(
    model: ModelCard,
    platform: Platform,
    workload: Workload,
    record: Record,
    *,
    elements: str = "fp16",
    sharding: Sharding | None = None,
) -> Problem:
    """Build graph, costs and the home of keys and values.

    Parameters
    ----------
    model, platform, workload, record
    elements : str
        Element format of weights, activations, keys and values.
    sharding : Sharding, optional
        One piece a PIM if not given, as published; one piece without PIMs.

    Raises
    ------
    InputError
        If the model cannot be cut so, or something does not fit into memory.
    """
    bits = element_bits(elements)
    platform = record.platform(platform)
    if sharding is None:
        pieces = max(1, len(platform.indices("pim")))
        sharding = Sharding(attention=pieces, feed_forward=pieces)
    graph = build_graph(model, sharding, topology=platform.topology)
    home = home_by_capacity(
        platform,
        model,
        sharding,
        batch=workload.batch,
        tokens=workload.prefill + workload.decode,
        bits=bits,
    )
    flat = flatten(graph, platform, home)
    tables = CostTables(
        flat,
        platform,
        record.cost_models(platform, bits),
        bits=bits,
        load_compute=record.load_compute,
        load_place=record.load_place,
    )
    result = Problem(
        platform=platform,
        record=record,
        workload=workload,
        bits=bits,
        home=home,
        flat=flat,
        tables=tables,
        weights=weights_at_host(platform, graph),
    )
    check_capacity(result, model)
    return result


def check_capacity(
    case: Problem,
    model: ModelCard,
    *,
    table: int = 0,
    layouts: Sequence[int] | None = None,
) -> None:
    """Refuse what cannot be held: the host's weights there, the largest one on each device.

    Parameters
    ----------
    case, model
    table : int
        Bytes at the host beside the weights of the graph.
    layouts : sequence of int, optional
        `Layout` of each weight; linear if not given.

    Raises
    ------
    InputError
        Names what is missing, and where.
    """
    graph, devices = case.flat.graph, case.platform.devices
    sizes = [byte_count(work.weights, case.bits) for work in graph.classes]
    layouts = layouts or [int(Layout.LINEAR)] * len(graph.weights)
    stored = zip(graph.weight_class, layouts, case.flat.store.tolist(), strict=True)
    total = table + sum(
        host_bytes(sizes[kind], layout)
        for kind, layout, store in stored
        if store == case.platform.host
    )
    history = host_history(model, case.workload, case.home, case.bits)
    host = devices[case.platform.host]
    if total + history > host.capacity_bytes:
        raise InputError(
            f"model {model.name} needs {_gib(total)} for weights and {_gib(history)} for keys and "
            f"values at host {host.name}, which has {_gib(host.capacity_bytes)}: "
            f"{_gib(total + history - host.capacity_bytes)} missing"
        )
    for index, device in enumerate(devices):
        room = int(_MEMORY_SHARE * device.capacity_bytes) - case.home.reserved[index]
        if device.type not in ("cpu", "memory") and max(sizes) > room:
            raise InputError(
                f"model {model.name} has a piece of weights of {_gib(max(sizes))}; device "
                f"{device.name} has {_gib(max(0, room))} beside its keys and values: "
                f"{_gib(max(sizes) - room)} missing; cut the model into more pieces, or give the "
                "device more memory"
            )


def host_history(model: ModelCard, workload: Workload, home: KvHome, bits: int) -> int:
    """Bytes of keys and values at the host: all of them, or none."""
    if home.place != "host":
        return 0
    tokens = workload.batch * (workload.prefill + workload.decode)
    return byte_count(model.kv_elements * tokens, bits)


def memory_limits(platform: Platform) -> list[int]:
    """Bytes of each device that may be in use."""
    return [int(_MEMORY_SHARE * device.capacity_bytes) for device in platform.devices]


def _gib(size: int) -> str:
    return f"{size / GIB:.3f} GiB"


def make_machine(case: Problem, layouts: list[int], *, compiled: bool) -> Machine:
    """A machine with empty memories; the compiled one knows no star."""
    platform, flat = case.platform, case.flat
    limits = memory_limits(platform)
    if compiled:
        return CompiledTiming(
            flat,
            platform,
            limits,
            case.reserved,
            local_history=case.tables.local_history,
            layouts=layouts,
            rules=case.rules,
        )
    pinned = case.rules.pinned
    return Timing(
        flat,
        platform,
        [DeviceMemory(*pair, pinned=pinned) for pair in zip(limits, case.reserved, strict=True)],
        local_history=case.tables.local_history.tolist(),
        layouts=layouts,
        rules=case.rules,
    )


def spills_everything(platform: Platform) -> bool:
    """Whether a lone NPU sends every output of prefill to the host, to keep room for weights."""
    return len(platform.indices("npu")) == 1 and not platform.indices("pim")


def imitate(
    case: Problem,
    scheduler: Scheduler,
    *,
    layouts: list[int] | None = None,
    plain: bool = False,
    observer: Observer | None = None,
    sampled: bool = False,
) -> Schedule:
    """Run a scheduler by the published rules, from empty memories, and check what it did.

    Parameters
    ----------
    case : Problem
    scheduler : Scheduler
    layouts : list of int, optional
        `Layout` of each weight; linear if not given.
    plain : bool
        Use the plain machine even where there is a compiled one.
    observer : callable, optional
        Told of every pass, after it.
    sampled : bool
        Run a sample of the tokens and interpolate the times of the others. Busy times, messages
        and loads are then those of the passes that ran.

    Raises
    ------
    InputError
        If an operator may run nowhere, or the layouts do not fit at the host.
    FaultError
        If the schedule breaks a rule that this mode keeps.
    """
    if layouts is None:
        layouts = [int(Layout.LINEAR)] * len(case.flat.graph.weights)
    else:
        check_capacity(case, case.flat.graph.model, layouts=layouts)
    runner = scheduler.rehearse(
        lambda other: imitate(case, other, layouts=layouts, plain=plain, sampled=sampled).total
    )
    twin = None if plain or case.platform.topology == "star" else compiled_twin(runner)
    result = Schedule(
        flat=case.flat,
        platform=case.platform,
        scheduler=scheduler.name,
        mode="imitation",
        homes=case.homes,
        record=case.record.name,
        checked=CHECKED,
        waived=WAIVED_IN_IMITATION,
    )
    execute(
        case,
        twin or runner,
        result,
        compiled=twin is not None,
        layouts=layouts,
        observer=observer,
        sampled=sampled,
    )
    return result


def execute(
    case: Problem,
    scheduler: Scheduler,
    result: Schedule,
    *,
    compiled: bool,
    layouts: list[int],
    observer: Observer | None = None,
    sampled: bool = False,
    in_order: bool = False,
) -> None:
    """Run a scheduler from empty memories, check every pass, and fill a result in.

    Parameters
    ----------
    case : Problem
    scheduler : Scheduler
        The compiled one for the compiled machine.
    result : Schedule
        Of the case; its times are filled in.
    compiled : bool
    layouts : list of int
    observer : callable, optional
    sampled : bool
        As of `imitate`.
    in_order : bool
        Whether a pass begins when all of the one before has ended. Else nothing but the devices
        keeps passes apart, and a lone NPU spills, as published.
    """
    platform = case.platform
    machine = make_machine(case, layouts, compiled=compiled)
    result.busy = np.zeros(len(platform.devices), np.int64)
    meter = EnergyMeter(case.flat, platform, case.bits)
    watch = _Watch(case, result, layouts, observer, in_order, meter)
    refresh, count = case.record.refresh, case.workload.decode
    period = max(1, refresh)
    times = run(
        case.tables,
        machine,
        scheduler,
        case.workload,
        refresh=refresh,
        spill=not in_order and spills_everything(platform),
        watch=watch,
        tokens=sample_tokens(count, period) if sampled else None,
        in_order=in_order,
    )
    result.ran, result.layouts = len(times.ran), list(layouts)
    if sampled:
        times.interpolate(count, period)
    result.prefill, result.total, result.token_ends = times.prefill, times.total, times.tokens
    result.lower_bound, result.loads = watch.bound.total, machine.load_counts()
    result.energy = meter.report(
        result.total, tokens=count, output_tokens=count * case.workload.batch
    )


class _Watch:
    """Checks every pass and adds it to a result."""

    def __init__(
        self,
        case: Problem,
        result: Schedule,
        layouts: list[int],
        observer: Observer | None,
        in_order: bool,
        meter: EnergyMeter,
    ) -> None:
        self.workload, self.meter, rules = case.workload, meter, case.rules
        flat, platform = result.flat, result.platform
        self.result, self.observer = result, observer
        self.invariants = Invariants(flat, platform, memory_limits(platform), layouts)
        self.bound = LowerBound(flat, platform, layouts, in_order=in_order, prefetch=rules.prefetch)

    def __call__(self, work: Pass, log: PassLog, plan: Plan) -> None:
        self.invariants.check(log, work.costs, work.devices)
        self.bound.add(work.costs, cold=work.phase == "prefill")
        _account(self.result, log)
        if self.meter.knows:
            prefill = work.phase == "prefill"
            step = Step(work.phase, self.workload.batch, self.workload.prefill + work.token)
            self.meter.add(step, log, -1 if prefill else work.token)
        if work.phase == "prefill" or work.token in (0, work.tokens - 1):
            kept = KeptPass(phase=work.phase, token=work.token, log=log.copy())
            self.result.kept.append(kept)
        if self.observer is not None:
            self.observer(work, log, plan)


def _account(result: Schedule, log: PassLog) -> None:
    plain = ~result.flat.collective
    np.add.at(result.busy, log.place[plain], (log.finish - log.start)[plain])
    np.add.at(result.busy, log.reads[:, 1], log.reads[:, 3] - log.reads[:, 2])
    np.add.at(result.sent, log.messages[:, 0], log.messages[:, 5] - log.messages[:, 4])
