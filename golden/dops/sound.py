"""Places and times a workload by rules that hold in a real machine."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fanweave.golden.dops.costs.physical import least_time
from fanweave.golden.dops.explain import Explanation, explain
from fanweave.golden.dops.invariants import CHECKED
from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.place import Observer, Problem, execute
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedule import Schedule
from fanweave.golden.dops.schedulers.affine import Affine
from fanweave.golden.dops.schedulers.base import Pass, Scheduler
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Cpop, Heft, Peft
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.sound_problem import SoundOptions
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import FaultError, InputError

__all__ = [
    "CHECKED_IN_SOUND",
    "WAIVED_IN_SOUND",
    "SoundRules",
    "explain_sound",
    "fair",
    "place_sound",
    "run_sound",
]

CHECKED_IN_SOUND = (
    *CHECKED,
    "decode follows prefill",
    "a token follows the one before",
    "nothing is above a peak",
    "collectives use links",
)

#: What is not modelled, by name; `docs/dops/sound.md` says what it means.
WAIVED_IN_SOUND = (
    "activations take memory where they are read",
    "the host's memory has a bandwidth",
)


def fair(scheduler: Scheduler, *, compiled: bool) -> tuple[Scheduler, bool]:
    """The scheduler that stands for one in this mode, and whether it is a compiled one.

    A static list becomes earliest finish on its devices; list schedulers count a load with its
    share of the coming uses. So does Bifocal: its token term takes a share of a load off its
    score, which is too much where a load is hidden and the finish has nothing of it. Our own
    scheduler counts so already.
    """
    inner = Heft() if isinstance(scheduler, Static) else scheduler
    if isinstance(scheduler, Bifocal):
        inner = Bifocal(replace(scheduler.parameters, amortise=0), seed=scheduler.seed)
    twin = compiled_twin(inner) if compiled else None
    if isinstance(scheduler, Static | Heft | Cpop | Peft | Bifocal):
        return Affine(twin or inner, scheduler), twin is not None
    return twin or inner, twin is not None


class SoundRules:
    """Checks of every pass what imitation waives: peaks, and the order of passes.

    Parameters
    ----------
    case : Problem
    observer : callable, optional
        Told of every pass of the case's workload, after the checks.
    """

    def __init__(self, case: Problem, observer: Observer | None = None) -> None:
        self.case, self.observer = case, observer
        self._end = 0

    def __call__(self, work: Pass, log: PassLog, plan: Plan) -> None:
        size = self.case.workload
        self.check(work, log, Step(work.phase, size.batch, size.prefill + work.token))
        if self.observer is not None:
            self.observer(work, log, plan)

    def check(self, work: Pass, log: PassLog, step: Step) -> None:
        """Check a pass of a step of any shape; FaultError if it breaks a rule."""
        self._check_order(work, log)
        self._check_peaks(log, step)
        self._check_rings(log)

    def _check_order(self, work: Pass, log: PassLog) -> None:
        first = int(log.start.argmin())
        if log.start[first] < self._end:
            rule = "a token follows the one before" if work.token else "decode follows prefill"
            self._fail(rule, first, f"begins before the pass before it ends at {self._end} ps")
        self._end = int(log.finish.max())

    def _check_peaks(self, log: PassLog, step: Step) -> None:
        case, flat = self.case, self.case.flat
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

    def _check_rings(self, log: PassLog) -> None:
        """Every device of a ring of two or more sends to its neighbour as long as the ring goes."""
        rings = log.messages[log.messages[:, 0] == PURPOSES.index("ring")]
        sent = np.bincount(rings[:, 1], minlength=len(log.place))
        ends = log.copies.tolist()
        flat = self.case.flat
        for operator in np.flatnonzero(flat.collective & ~flat.reduce & ~flat.scatter).tolist():
            parts = ends[operator].bit_count()
            if sent[operator] != (parts if parts > 1 else 0):
                self._fail(
                    "collectives use links",
                    operator,
                    f"joins {parts} devices and sends {sent[operator]} messages",
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
    options: SoundOptions | None = None,
) -> Schedule:
    """Run a scheduler on one problem from empty memories, and check what it did."""
    options = options or SoundOptions()
    chosen = scheduler.rehearse(
        lambda other: run_sound(case, other, plain=plain, sampled=sampled, options=options).total
    )
    compiled = not plain and case.platform.topology != "star"
    if options.fair:
        runner, quick = fair(chosen, compiled=compiled)
    else:
        twin = compiled_twin(chosen) if compiled else None
        runner, quick = twin or chosen, twin is not None
    whole = options == SoundOptions()
    result = Schedule(
        flat=case.flat,
        platform=case.platform,
        scheduler=scheduler.name,
        mode="sound",
        homes=case.homes,
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
        observer=SoundRules(case, observer) if whole else observer,
        sampled=sampled,
        in_order=options.in_order,
    )
    return result


def place_sound(
    cases: Sequence[Problem],
    scheduler: Callable[[], Scheduler],
    *,
    observer: Observer | None = None,
    plain: bool = False,
    sampled: bool = False,
    options: SoundOptions | None = None,
) -> tuple[Problem, Schedule]:
    """Place with keys and values, and weights, where the scheduler ends first.

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
    options : SoundOptions, optional
        Those of the cases; the rules of the mode are checked with all of them alone.

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
            total = run_sound(
                case, scheduler(), plain=plain, sampled=sampled, options=options
            ).total
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
    result = run_sound(
        case, scheduler(), plain=plain, observer=observer, sampled=sampled, options=options
    )
    return case, result


def explain_sound(
    case: Problem, scheduler: Scheduler, operator: str, *, token: int | None = None
) -> Explanation:
    """Look at all devices when an operator is placed; the scheduler's stand-in decides.

    Finishes are those that it plans with: a load counts with its share of the coming uses.

    Parameters
    ----------
    case : Problem
        With the home of keys and values that was chosen.
    scheduler, operator, token
        As of `fanweave.golden.dops.explain.explain`.

    Raises
    ------
    InputError
        If there is no such operator or token.
    """

    def twins(chosen: Scheduler) -> tuple[Scheduler | None, Scheduler]:
        fast, quick = fair(chosen, compiled=True)
        return (fast if quick else None), fair(chosen, compiled=False)[0]

    return explain(case, scheduler, operator, token=token, twins=twins, in_order=True)
