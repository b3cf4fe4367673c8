"""Places and times a workload by rules that hold in a real machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fanweave.golden.dops.costs.physical import Physical, least_time
from fanweave.golden.dops.costs.tables import CostTables
from fanweave.golden.dops.flat import flatten
from fanweave.golden.dops.graph import Graph, Sharding, build_graph
from fanweave.golden.dops.invariants import CHECKED
from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.kv import KvHome
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.place import Observer, Problem, check_capacity, execute, memory_limits
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Device, Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.schedule import Schedule
from fanweave.golden.dops.schedulers.affine import Affine
from fanweave.golden.dops.schedulers.base import Pass, Scheduler
from fanweave.golden.dops.schedulers.lists import Cpop, Heft, Peft
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Step, byte_count, element_bits
from fanweave.golden.errors import FaultError, InputError

__all__ = [
    "CHECKED_IN_SOUND",
    "WAIVED_IN_SOUND",
    "SoundOptions",
    "fair",
    "kv_homes",
    "place_sound",
    "run_sound",
    "sound_problem",
    "sound_problems",
]

#: Share of a transfer of weights that is hidden behind writing and using them: they stream.
_STREAMED = 1.0

CHECKED_IN_SOUND = (
    *CHECKED,
    "decode follows prefill",
    "a token follows the one before",
    "nothing is above a peak",
)

#: What is not modelled, by name; `docs/dops/sound.md` says what it means.
WAIVED_IN_SOUND = (
    "collectives use links",
    "activations take memory where they are read",
    "the host's memory has a bandwidth",
)


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
        Keys and values at the cheapest home, and attention on any device.
    in_order : bool
        A token begins when the one before has ended.
    fair : bool
        Earliest finish with affinity for the baselines.
    """

    physical: bool = True
    ends: bool = True
    free_kv: bool = True
    in_order: bool = True
    fair: bool = True


def kv_homes(
    platform: Platform, model: ModelCard, sharding: Sharding, *, batch: int, tokens: int, bits: int
) -> Iterator[KvHome]:
    """Homes of all keys and values that fit: the PIMs, the NPUs, the host.

    The pieces are dealt to the devices of a type in order, as evenly as possible, and the memory
    for `tokens` tokens of every sequence is set aside from the start.
    """
    limits = memory_limits(platform)
    piece = byte_count(model.kv_elements // sharding.attention * batch * tokens, bits)
    for kind in ("pim", "npu"):
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


def sound_problem(
    model: ModelCard,
    platform: Platform,
    workload: Workload,
    record: Record,
    home: KvHome,
    *,
    bits: int,
    sharding: Sharding,
    options: SoundOptions,
) -> Problem:
    """Graph and costs with keys and values at one home.

    Raises
    ------
    InputError
        If something does not fit into memory.
    """
    graph: Graph = build_graph(model, sharding, topology=platform.topology, ends=options.ends)
    flat = flatten(graph, platform, home, attention_anywhere=options.free_kv)
    physical = options.physical
    tables = CostTables(
        flat,
        platform,
        _models(platform, bits) if physical else record.cost_models(platform, bits),
        bits=bits,
        load_compute=_STREAMED if physical else record.load_compute,
        load_place=_STREAMED if physical else record.load_place,
    )
    case = Problem(
        platform=platform,
        record=record,
        workload=workload,
        bits=bits,
        home=home,
        flat=flat,
        tables=tables,
    )
    # A tied table is the head's weight, which the graph has.
    table = 0 if model.tied or not options.ends else model.hidden * model.vocabulary
    check_capacity(case, model, table=byte_count(table, bits))
    return case


def sound_problems(
    model: ModelCard,
    platform: Platform,
    workload: Workload,
    record: Record,
    *,
    elements: str = "fp16",
    sharding: Sharding | None = None,
) -> list[Problem]:
    """One problem a home of keys and values at which everything fits.

    Parameters
    ----------
    model, platform, workload, record
        Of the record only Bifocal's parameters and the period of planning count.
    elements : str
    sharding : Sharding, optional
        As of `fanweave.golden.dops.place.problem`.

    Raises
    ------
    InputError
        If the model cannot be cut so, or fits with no home; says what is missing at the last.
    """
    bits = element_bits(elements)
    if sharding is None:
        pieces = max(1, len(platform.indices("pim")))
        sharding = Sharding(attention=pieces, feed_forward=pieces)
    sharding.check(model)
    tokens = workload.prefill + workload.decode
    homes = kv_homes(platform, model, sharding, batch=workload.batch, tokens=tokens, bits=bits)
    found: list[Problem] = []
    last: InputError | None = None
    for home in homes:
        try:
            case = sound_problem(
                model,
                platform,
                workload,
                record,
                home,
                bits=bits,
                sharding=sharding,
                options=SoundOptions(),
            )
        except InputError as error:
            last = error
        else:
            found.append(case)
    if not found and last is not None:
        raise last
    return found


def fair(scheduler: Scheduler, *, compiled: bool) -> tuple[Scheduler, bool]:
    """The scheduler that stands for one in this mode, and whether it is a compiled one.

    A static list becomes earliest finish on its devices; list schedulers count a load with its
    share of the coming uses. Bifocal and our own scheduler have that already.
    """
    inner = Heft() if isinstance(scheduler, Static) else scheduler
    twin = compiled_twin(inner) if compiled else None
    if isinstance(scheduler, Static | Heft | Cpop | Peft):
        return Affine(twin or inner, scheduler), twin is not None
    return twin or inner, twin is not None


class _SoundRules:
    """Checks of every pass what imitation waives: peaks, and the order of passes."""

    def __init__(self, case: Problem, observer: Observer | None) -> None:
        self.case, self.observer = case, observer
        self._end = 0

    def __call__(self, work: Pass, log: PassLog, plan: Plan) -> None:
        self._check_order(work, log)
        self._check_peaks(work, log)
        if self.observer is not None:
            self.observer(work, log, plan)

    def _check_order(self, work: Pass, log: PassLog) -> None:
        first = int(log.start.argmin())
        if log.start[first] < self._end:
            rule = "a token follows the one before" if work.token else "decode follows prefill"
            self._fail(rule, first, f"begins before the pass before it ends at {self._end} ps")
        self._end = int(log.finish.max())

    def _check_peaks(self, work: Pass, log: PassLog) -> None:
        case, flat = self.case, self.case.flat
        step = Step(work.phase, case.workload.batch, case.workload.prefill + work.token)
        least: dict[tuple[int, int], int] = {}
        took = (log.finish - log.start).tolist()
        rows = zip(flat.class_of.tolist(), log.place.tolist(), took, strict=True)
        for operator, (kind, place, time) in enumerate(rows):
            if (kind, place) not in least:
                device, sizes = case.platform.devices[place], flat.graph.classes[kind]
                least[kind, place] = least_time(device, sizes, step, case.bits)
            if time < least[kind, place]:
                self._fail(
                    "nothing is above a peak",
                    operator,
                    f"takes {time} ps on {case.platform.devices[place].name}, whose peaks allow "
                    f"{least[kind, place]} ps",
                )

    def _fail(self, rule: str, operator: int, what: str) -> None:
        name = self.case.flat.graph.operators[operator].name
        raise FaultError(f"schedule: rule '{rule}' is broken: {name} {what}")


def run_sound(
    case: Problem,
    scheduler: Scheduler,
    *,
    plain: bool = False,
    observer: Observer | None = None,
    sampled: bool = False,
) -> Schedule:
    """Run a scheduler on one problem from empty memories, and check what it did."""
    chosen = scheduler.rehearse(
        lambda other: run_sound(case, other, plain=plain, sampled=sampled).total
    )
    compiled = not plain and case.platform.topology != "star"
    runner, quick = fair(chosen, compiled=compiled)
    result = Schedule(
        flat=case.flat,
        platform=case.platform,
        scheduler=scheduler.name,
        mode="sound",
        record="",
        checked=CHECKED_IN_SOUND,
        waived=WAIVED_IN_SOUND,
    )
    execute(
        case,
        runner,
        result,
        compiled=quick,
        layouts=[int(Layout.LINEAR)] * len(case.flat.graph.weights),
        observer=_SoundRules(case, observer),
        sampled=sampled,
        in_order=True,
    )
    return result


def place_sound(
    cases: Sequence[Problem],
    scheduler: Callable[[], Scheduler],
    *,
    observer: Observer | None = None,
    plain: bool = False,
    sampled: bool = False,
) -> tuple[Problem, Schedule]:
    """Place with keys and values where the scheduler ends first.

    Parameters
    ----------
    cases : sequence of Problem
        One a home, not empty.
    scheduler : callable
        Makes the scheduler, a new one for every run.
    observer : callable, optional
        Told of every pass of the home that was chosen.
    plain : bool
        Use the plain machine.
    sampled : bool
        As of `fanweave.golden.dops.place.imitate`.

    Raises
    ------
    InputError
        If an operator may run nowhere, or does not fit with any home.
    FaultError
        If the schedule breaks a rule that this mode keeps.
    """
    best: tuple[int, Problem] | None = None
    failed: Exception | None = None
    for case in cases:
        try:
            total = run_sound(case, scheduler(), plain=plain, sampled=sampled).total
        except ValueError as error:  # an operator that finds no room beside this home
            failed = error
            continue
        if best is None or total < best[0]:
            best = total, case
    if isinstance(failed, InputError) and best is None:
        raise failed
    if best is None:
        raise InputError(f"nothing fits: {failed}; give the devices more memory") from failed
    case = best[1]
    result = run_sound(case, scheduler(), plain=plain, observer=observer, sampled=sampled)
    return case, result
