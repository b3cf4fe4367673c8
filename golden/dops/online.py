"""Steps that come one at a time, and the best static plan in hindsight."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fanweave.golden.dops.costs.tables import StepCosts
from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.invariants import Invariants
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.place import Problem, make_machine, memory_limits
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.schedulers.base import EXECUTORS, Pass, Scheduler, allowed_devices
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.sound import SoundRules, fair
from fanweave.golden.dops.work import Phase, Step
from fanweave.golden.errors import InputError

__all__ = [
    "Hindsight",
    "Regret",
    "Served",
    "best_in_hindsight",
    "regret",
    "repeat_plans",
    "serve_steps",
    "step_costs",
]

_PHASES: tuple[Phase, ...] = ("prefill", "decode")


@dataclass(frozen=True, kw_only=True)
class Served:
    """A sequence that was run.

    Attributes
    ----------
    ends : tuple of int
        End of each step, picoseconds.
    plans : tuple of Plan
        What each step was run with.
    """

    ends: tuple[int, ...]
    plans: tuple[Plan, ...]

    @property
    def total(self) -> int:
        """End of the last step."""
        return self.ends[-1]


@dataclass(frozen=True, kw_only=True)
class Hindsight:
    """What was best in a sequence that is known.

    Attributes
    ----------
    schedulers : dict of str to int
        End with each static scheduler, which was told how many steps are to come; picoseconds.
    plans : dict of str to int
        End with one plan of prefill and one of decode in all steps, by the runs that had them.
    """

    schedulers: dict[str, int]
    plans: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Regret:
    """Time beyond that of the best in hindsight, as a share of it; negative if there is none.

    Attributes
    ----------
    scheduler : str
        The best static scheduler.
    over_schedulers : float
    plan : str
        The best static plan: that scheduler, or the plans that are repeated.
    over_plans : float
    """

    scheduler: str
    over_schedulers: float
    plan: str
    over_plans: float


class _Server:
    """A machine of mode `sound` that runs one step after the other.

    Parameters
    ----------
    case : Problem
    costs : dict of Step to StepCosts
    compiled, checked : bool
        Whether the machine is the compiled one, and whether every pass is checked.
    """

    def __init__(
        self,
        case: Problem,
        costs: Mapping[Step, StepCosts],
        *,
        compiled: bool,
        checked: bool = True,
    ) -> None:
        layouts = [int(Layout.LINEAR)] * len(case.flat.graph.weights)
        self.costs = costs
        self.machine = make_machine(case, layouts, compiled=compiled)
        self._checked = checked
        self._invariants = Invariants(
            case.flat, case.platform, memory_limits(case.platform), layouts
        )
        self._rules = SoundRules(case)
        self.seen = Counter[Phase]()
        self._ends: list[int] = []
        self._plans: list[Plan] = []

    def run(
        self,
        step: Step,
        devices: list[list[int]],
        place: Callable[[Pass], Plan],
        expected: int,
    ) -> None:
        """Run a step when the one before has ended."""
        machine, before = self.machine, self.seen[step.phase]
        self.seen[step.phase] += 1
        machine.wait(machine.makespan())
        machine.begin(self.costs[step])
        work = Pass(
            timing=machine,
            costs=self.costs[step],
            phase=step.phase,
            token=before,
            tokens=before + 1,
            devices=devices,
            expected=expected,
        )
        plan = place(work)
        if self._checked:
            self._invariants.check(machine.log(), work.costs, devices)
            self._rules.check(work, machine.log(), step)
        self._ends.append(machine.makespan())
        self._plans.append(plan)

    def served(self) -> Served:
        """All that was run."""
        return Served(ends=tuple(self._ends), plans=tuple(self._plans))


def step_costs(case: Problem, steps: Sequence[Step]) -> dict[Step, StepCosts]:
    """Costs of each step; those of a case's tables are written over."""
    found: dict[Step, StepCosts] = {}
    for step in steps:
        if step not in found:
            found[step] = StepCosts(*(table.copy() for table in case.tables.step(step)))
    return found


def serve_steps(
    case: Problem,
    steps: Sequence[Step],
    costs: Mapping[Step, StepCosts],
    scheduler: Scheduler,
    *,
    hindsight: bool = False,
) -> Served:
    """Place steps one after the other; weights stay where the step before has left them.

    A step begins when the one before has ended, and is checked as in mode `sound`. The scheduler
    sees a step and its costs when it comes. How many of its phase are left it is told in hindsight
    alone; else it takes it that as many will come as there were, this one included.

    Parameters
    ----------
    case : Problem
        Of mode `sound`, with room for all open sequences.
    steps : sequence of Step
    costs : mapping of Step to StepCosts
        See `step_costs`.
    scheduler : Scheduler
    hindsight : bool

    Raises
    ------
    InputError
        If an operator may run nowhere.
    ValueError
        If an operator finds no room.
    FaultError
        If a pass breaks a rule of the mode.
    """
    runner, quick = fair(scheduler, compiled=case.platform.topology != "star")
    runner.start(case.flat, case.platform)
    devices = {phase: _devices(case, runner.types, phase) for phase in _PHASES}
    whole = Counter(step.phase for step in steps)
    server = _Server(case, costs, compiled=quick)
    for step in steps:
        before = server.seen[step.phase]
        expected = whole[step.phase] - before if hindsight else before + 1
        server.run(step, devices[step.phase], runner.place, expected)
    return server.served()


def _devices(
    case: Problem, types: Callable[[Kind, Phase], tuple[str, ...]], phase: Phase
) -> list[list[int]]:
    return allowed_devices(case.flat, case.platform, lambda kind: types(kind, phase))


def repeat_plans(
    case: Problem,
    steps: Sequence[Step],
    costs: Mapping[Step, StepCosts],
    plans: Mapping[Phase, Plan],
    *,
    checked: bool = True,
) -> Served:
    """Run the same plan of each phase in all steps.

    Raises
    ------
    ValueError
        If an operator finds no room.
    """
    devices = _devices(case, lambda kind, phase: EXECUTORS, "prefill")
    server = _Server(case, costs, compiled=case.platform.topology != "star", checked=checked)

    def place(work: Pass) -> Plan:
        work.timing.replay(plans[work.phase])
        return plans[work.phase]

    for step in steps:
        server.run(step, devices, place, 1)
    return server.served()


def best_in_hindsight(
    case: Problem,
    steps: Sequence[Step],
    costs: Mapping[Step, StepCosts],
    others: Mapping[str, Served],
) -> Hindsight:
    """Run what is static over a sequence that is known.

    Each static scheduler runs the whole sequence and is told how many steps are to come. Then the
    plans that these and the other runs had last for prefill and for decode are repeated in all
    steps, in every combination.

    Raises
    ------
    InputError
        If no static scheduler can run the sequence.
    """
    runs = dict(others)
    schedulers: dict[str, int] = {}
    for name in STATIC:
        try:
            runs[name] = serve_steps(case, steps, costs, Static(name), hindsight=True)
        except (InputError, ValueError):
            continue  # it has no device for an operator, or one finds no room
        schedulers[name] = runs[name].total
    if not schedulers:
        raise InputError(
            f"no static scheduler can run {case.flat.graph.model.name} on {case.platform.name}"
        )
    # The plan of the last step of a phase, by the run that had it.
    last = {
        name: {step.phase: plan for step, plan in zip(steps, run.plans, strict=True)}
        for name, run in runs.items()
    }
    pairs: dict[str, dict[Phase, Plan]] = {
        f"{one} in prefill, {other} in decode": {**last[other], "prefill": last[one]["prefill"]}
        for one, other in itertools.product(last, repeat=2)
    }
    totals: dict[str, int] = {}
    for name, plans in pairs.items():
        try:
            totals[name] = repeat_plans(case, steps, costs, plans, checked=False).total
        except ValueError:
            continue  # no room for another shape
    if totals:
        # There are many, so the best alone is checked.
        repeat_plans(case, steps, costs, pairs[min(totals, key=totals.__getitem__)])
    return Hindsight(schedulers=schedulers, plans=totals)


def regret(case: Problem, steps: Sequence[Step], scheduler: Scheduler) -> Regret:
    """Run a sequence online, and compare with what was best in hindsight.

    Parameters
    ----------
    case, steps, scheduler
        As of `serve_steps`.
    """
    costs = step_costs(case, steps)
    served = serve_steps(case, steps, costs, scheduler)
    known = best_in_hindsight(case, steps, costs, {scheduler.name: served})
    everything = {**known.schedulers, **known.plans}
    best = min(known.schedulers, key=known.schedulers.__getitem__)
    plan = min(everything, key=everything.__getitem__)
    return Regret(
        scheduler=best,
        over_schedulers=served.total / everything[best] - 1,
        plan=plan,
        over_plans=served.total / everything[plan] - 1,
    )
