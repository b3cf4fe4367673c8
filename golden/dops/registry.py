"""Names of modes and schedulers, for everything that lets a user choose one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fanweave.golden.dops.arbiter import ArbiterParameters, arbitrate
from fanweave.golden.dops.explain import Explanation, explain
from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.memory_trace import MemoryTrace
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.place import Observer, Problem, imitate, problem
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.records import Record
from fanweave.golden.dops.schedule import Schedule
from fanweave.golden.dops.schedulers.base import Scheduler
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Cpop, Heft, Peft
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import explain_sound, place_sound
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.dops.tables import check_keys, nearest
from fanweave.golden.errors import InputError

__all__ = [
    "ACCOUNTS",
    "EXPLAINERS",
    "LAYOUT_NAMES",
    "MODES",
    "SCHEDULERS",
    "Request",
    "make_scheduler",
    "mode_name",
    "mode_names",
    "place",
    "problem_of",
    "scheduler_name",
    "scheduler_names",
]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for.

    Attributes
    ----------
    model, platform, workload, record
    scheduler : str
        A name of `scheduler_names`, in its own spelling.
    elements : str
        Element format; see `fanweave.golden.dops.work.ELEMENT_BITS`.
    sharding : Sharding or None
        None leaves it to the mode.
    parameters : mapping of str to int
        What is not as in the record, for Bifocal.
    seed : int
        Of the coins that decide ties.
    sampled : bool
        Run some tokens of decode and interpolate the others, where the mode can.
    layouts : str
        A name of `LAYOUT_NAMES`: how weights are stored at the host, in mode imitation.
    """

    model: ModelCard
    platform: Platform
    workload: Workload
    record: Record
    scheduler: str
    elements: str = "fp16"
    sharding: Sharding | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    sampled: bool = False
    layouts: str = "linear"


def _bifocal(request: Request) -> Scheduler:
    known = request.record.bifocal
    check_keys("Bifocal", request.parameters, required=(), optional=tuple(vars(known)))
    changed: dict[str, Any] = dict(request.parameters)
    return Bifocal(replace(known, **changed), seed=request.seed)


#: Name -> what makes the scheduler of a request.
SCHEDULERS: dict[str, Callable[[Request], Scheduler]] = {
    **{name: lambda request: Static(request.scheduler) for name in STATIC},
    "HEFT": lambda request: Heft(),
    "CPOP": lambda request: Cpop(),
    "PEFT": lambda request: Peft(),
    "Bifocal": _bifocal,
    "RHLS": lambda request: RollingHorizon(),
}


def problem_of(request: Request) -> Problem:
    """Graph and costs of a request in imitation."""
    return problem(
        request.model,
        request.platform,
        request.workload,
        request.record,
        elements=request.elements,
        sharding=request.sharding,
    )


#: Searches over blocks of layers -> where they begin: with linear weights, as published, or with
#: the best single layout.
_SEARCHES = {"searched": False, "searched-dominant": True}

#: How weights may be stored: one layout for all, or what a search finds for each block.
LAYOUT_NAMES = (*(layout.name.lower() for layout in Layout), *_SEARCHES)


def _layouts(request: Request, case: Problem) -> list[int]:
    """`Layout` of each weight.

    Raises
    ------
    InputError
        If there is no such name, or nothing to search.
    """
    name = request.layouts
    if name in _SEARCHES:
        settings = ArbiterParameters(dominant=_SEARCHES[name])
        found = arbitrate(case, lambda: make_scheduler(request), settings, sampled=request.sampled)
        return list(found.layouts)
    if name not in LAYOUT_NAMES:
        raise InputError(
            f"layouts {name!r} are not known{nearest(name, LAYOUT_NAMES)}; "
            f"use one of {', '.join(LAYOUT_NAMES)}"
        )
    return [int(Layout[name.upper()])] * len(case.flat.graph.weights)


def _imitation(request: Request, observer: Observer | None) -> Schedule:
    case = problem_of(request)
    return imitate(
        case,
        make_scheduler(request),
        layouts=_layouts(request, case),
        observer=observer,
        sampled=request.sampled,
    )


def _sound_cases(request: Request) -> list[Problem]:
    return sound_problems(
        request.model,
        request.platform,
        request.workload,
        request.record,
        elements=request.elements,
        sharding=request.sharding,
    )


def _sound(request: Request, observer: Observer | None) -> Schedule:
    if request.layouts != "linear":
        raise InputError(
            f"layouts {request.layouts!r}: mode sound knows no costs of conversions; "
            "use --mode imitation"
        )
    return place_sound(
        _sound_cases(request),
        lambda: make_scheduler(request),
        observer=observer,
        sampled=request.sampled,
    )[1]


#: Name -> the mode; called with a request and an observer or None.
MODES: dict[str, Callable[[Request, Observer | None], Schedule]] = {
    "imitation": _imitation,
    "sound": _sound,
}


#: Mode -> maker of the observer that accounts for memory a second time.
ACCOUNTS: dict[str, Callable[[], MemoryTrace]] = {
    "imitation": MemoryTrace,
    "sound": MemoryTrace,
}


def _explain_imitation(request: Request, operator: str, token: int | None) -> Explanation:
    case = problem_of(request)
    layouts = _layouts(request, case)
    return explain(case, make_scheduler(request), operator, token=token, layouts=layouts)


def _explain_sound(request: Request, operator: str, token: int | None) -> Explanation:
    case, _ = place_sound(
        _sound_cases(request), lambda: make_scheduler(request), sampled=request.sampled
    )
    return explain_sound(case, make_scheduler(request), operator, token=token)


#: Mode -> what explains where an operator is; called with a request, the operator's name, and a
#: token of decode or None for prefill.
EXPLAINERS: dict[str, Callable[[Request, str, int | None], Explanation]] = {
    "imitation": _explain_imitation,
    "sound": _explain_sound,
}


def _find(what: str, name: str, known: Mapping[str, Callable[..., object]]) -> str:
    for candidate in known:
        if candidate.lower() == name.lower():
            return candidate
    raise InputError(
        f"{what} {name!r} is not known{nearest(name, known)}; use one of {', '.join(known)}"
    )


def scheduler_names() -> list[str]:
    """Names of the schedulers."""
    return list(SCHEDULERS)


def mode_name(name: str) -> str:
    """A mode's own spelling of its name.

    Raises
    ------
    InputError
        If there is none.
    """
    return _find("mode", name, MODES)


def mode_names() -> list[str]:
    """Names of the modes, the default first."""
    return list(MODES)


def scheduler_name(name: str) -> str:
    """A scheduler's own spelling of its name, which may be given in any case.

    Raises
    ------
    InputError
        If there is none.
    """
    return _find("scheduler", name, SCHEDULERS)


def make_scheduler(request: Request) -> Scheduler:
    """Build the scheduler of a request.

    Raises
    ------
    InputError
        If there is none of its name, or it does not have such parameters.
    """
    name = scheduler_name(request.scheduler)
    if request.parameters and name != "Bifocal":
        raise InputError(f"scheduler {name} has no parameters; Bifocal alone has")
    return SCHEDULERS[name](replace(request, scheduler=name))


def place(request: Request, mode: str, observer: Observer | None = None) -> Schedule:
    """Place and time a request in a mode, with all invariants of that mode checked.

    Parameters
    ----------
    request : Request
    mode : str
        A name of `mode_names`.
    observer : callable, optional
        Told of every pass, after it: the pass, its log, the plan.

    Raises
    ------
    InputError
        If the request does not fit.
    FaultError
        If the schedule breaks a rule of the mode.
    """
    return MODES[mode_name(mode)](request, observer)
