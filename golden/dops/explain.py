"""Why an operator is where it is: what each device offered when it was placed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NoReturn, cast

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import KV_WRITERS
from fanweave.golden.dops.kernel.schedulers import CompiledBifocal, compiled_twin
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.place import Problem, make_machine, spills_everything
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.affine import Affine
from fanweave.golden.dops.schedulers.base import Machine, Pass, Scheduler
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.simulate import run
from fanweave.golden.dops.tables import nearest
from fanweave.golden.errors import InputError

__all__ = ["Alternative", "Explanation", "explain", "explain_pass"]


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """What a device offered, in picoseconds.

    Attributes
    ----------
    device : str
    refused : str
        Why the operator may not run there, or nothing.
    free : int
        When the device is free.
    finish : int or None
        When the operator would finish there; None if it cannot.
    resident : bool or None
        Whether its weights are there; None if it has none.
    terms : dict of str to float
        Terms of the scheduler's score, if it has one.
    """

    device: str
    refused: str = ""
    free: int = 0
    finish: int | None = None
    resident: bool | None = None
    terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision.

    Attributes
    ----------
    operator, device : str
    phase, token
        The pass in which it was made.
    place : int
        How many operators of the pass were placed before.
    alternatives : tuple of Alternative
        All devices of the platform, in order.
    """

    operator: str
    device: str
    phase: str
    token: int
    place: int
    alternatives: tuple[Alternative, ...]


class _DecidedError(Exception):
    """Ends the run as soon as the operator has been placed."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__(explanation.operator)
        self.explanation = explanation


class _ScoredBifocal(Bifocal):
    """Bifocal that tells the terms of a score."""

    def terms(self, operator: int, device: int, finish: int) -> dict[str, float]:
        """Parts of the score in picoseconds, and their sum.

        The two shares are of absolute times, 1 - gamma and gamma of them.
        """
        chain = self._chain(operator)
        ahead, _ = self._look_ahead(chain, device, finish)
        gamma = self.parameters.gamma
        parts = {
            "finish_share": (1000 - gamma) * finish,
            "lookahead_share": gamma * ahead,
            "weight_bias": self._weight_bias(operator, device),
            "token_bias": self._token_bias(operator, device),
        }
        parts["score"] = sum(parts.values())
        return {name: value / 1000 for name, value in parts.items()}

    def continue_from(self, twin: CompiledBifocal) -> None:
        """Take over coins and memories of the compiled scheduler."""
        self._coins, self._hints, self._types = twin.state()


class _Tap:
    """A machine that looks at all devices before one operator is committed."""

    def __init__(self, machine: Machine, work: Pass, operator: int, scheduler: Scheduler) -> None:
        self._machine, self._work = machine, work
        self._operator, self._scheduler = operator, scheduler
        self._placed = 0
        # A search commits many plans on trial; the last one is what it repeats.
        self._decides = not isinstance(scheduler, RollingHorizon)

    def replay(self, plan: Plan) -> None:
        """Commit a plan that is decided."""
        self._decides, self._placed = True, 0
        for operator in plan.order:
            self.commit(operator, plan.devices[operator])

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine, name)

    @property
    def costs(self) -> StepCosts:
        """Those of the machine, which a scheduler may change while it plans."""
        return self._machine.costs

    @costs.setter
    def costs(self, costs: StepCosts) -> None:
        self._machine.costs = costs

    def commit(self, operator: int, device: int) -> tuple[int, int]:
        """Commit, or end the run with the explanation."""
        if operator != self._operator or not self._decides:
            self._placed += 1
            return self._machine.commit(operator, device)
        flat, platform = self._machine.flat, self._machine.platform
        raise _DecidedError(
            Explanation(
                operator=flat.graph.operators[operator].name,
                device=platform.devices[device].name,
                phase=self._work.phase,
                token=self._work.token,
                place=self._placed,
                alternatives=tuple(self._offer(d) for d in range(len(platform.devices))),
            )
        )

    def _offer(self, device: int) -> Alternative:
        machine, operator = self._machine, self._operator
        flat, platform = machine.flat, machine.platform
        name = platform.devices[device].name
        if device not in self._work.devices[operator]:
            return Alternative(
                device=name, refused=_refusal(flat, platform, self._scheduler, operator, device)
            )
        finish = machine.probe(operator, device)
        weight = int(flat.weight_of[operator])
        terms: dict[str, float] = {}
        if isinstance(self._scheduler, _ScoredBifocal) and finish < FOREVER:
            terms = self._scheduler.terms(operator, device, finish)
        return Alternative(
            device=name,
            free=machine.available[device],
            finish=finish if finish < FOREVER else None,
            resident=machine.resident(weight, device) if weight >= 0 else None,
            terms=terms,
        )


def _refusal(
    flat: FlatGraph, platform: Platform, scheduler: Scheduler, operator: int, device: int
) -> str:
    """Why an operator may not run on a device."""
    if flat.collective[operator]:
        return "a collective belongs to the links"
    kind, home = flat.graph.operators[operator].kind, int(flat.home[operator])
    if kind in KV_WRITERS:
        return f"its keys and values live on {platform.devices[home].name}"
    if not flat.legal[operator, device]:
        if not platform.devices[device].computes:
            return "a memory computes nothing"
        if platform.devices[device].type == "cpu":
            return "the host computes only where there is no NPU"
        return f"of the PIMs, only {platform.devices[home].name} has its keys and values"
    return f"{scheduler.name} does not run it on type {platform.devices[device].type} here"


class _Explaining(Scheduler):
    """Places with one scheduler, and with its plain twin in the pass that is explained."""

    def __init__(
        self, fast: Scheduler, plain: Scheduler, operator: int, phase: str, token: int
    ) -> None:
        self.name = plain.name
        self.types = fast.types  # type: ignore[method-assign]
        self._fast, self._plain, self._operator = fast, plain, operator
        self._pass = (phase, token)

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Start both."""
        self._fast.start(flat, platform)
        self._plain.start(flat, platform)

    def place(self, work: Pass) -> Plan:
        """Place, or end the run with the explanation."""
        if (work.phase, work.token) == self._pass:
            _decide(self._fast, self._plain, work, self._operator)
        return self._fast.place(work)


def _decide(fast: Scheduler, plain: Scheduler, work: Pass, operator: int) -> NoReturn:
    """Place a pass up to the operator, with the plain scheduler; end with the explanation."""
    if isinstance(plain, _ScoredBifocal) and isinstance(fast, CompiledBifocal):
        plain.continue_from(fast)
    decides = plain.inner if isinstance(plain, Affine) else plain
    tap = _Tap(work.timing, work, operator, decides)
    plain.place(replace(work, timing=cast(Machine, tap)))
    raise AssertionError("every operator is placed")


def _scored(plain: Scheduler) -> Scheduler:
    """The scheduler, but Bifocal one that tells its terms."""
    if isinstance(plain, Affine) and isinstance(plain.inner, Bifocal):
        return Affine(_ScoredBifocal(plain.inner.parameters, seed=plain.inner.seed), plain.rule)
    if isinstance(plain, Bifocal):
        return _ScoredBifocal(plain.parameters, seed=plain.seed)
    return plain


def _number(flat: FlatGraph, operator: str) -> int:
    names = [each.name for each in flat.graph.operators]
    if operator not in names:
        raise InputError(
            f"operator {operator!r} is not known{nearest(operator, names)}; "
            f"names are such as {names[0]} and {names[-1]}"
        )
    return names.index(operator)


def explain_pass(fast: Scheduler, plain: Scheduler, work: Pass, operator: str) -> Explanation:
    """Look at all devices when an operator of one pass is placed.

    Parameters
    ----------
    fast, plain : Scheduler
        The one that has placed the passes before, and its plain twin, which decides here.
    work : Pass
        The machine has begun it; it is not fit to go on afterwards.
    operator : str
        Its name, such as ``L3_QK_s0``.

    Raises
    ------
    InputError
        If there is no such operator.
    """
    flat, platform = work.timing.flat, work.timing.platform
    number = _number(flat, operator)
    plain = _scored(plain)
    plain.start(flat, platform)
    try:
        _decide(fast, plain, work, number)
    except _DecidedError as decided:
        return decided.explanation


def _own(scheduler: Scheduler) -> tuple[Scheduler | None, Scheduler]:
    return compiled_twin(scheduler), scheduler


def explain(
    case: Problem,
    scheduler: Scheduler,
    operator: str,
    *,
    token: int | None = None,
    layouts: list[int] | None = None,
    twins: Callable[[Scheduler], tuple[Scheduler | None, Scheduler]] | None = None,
    in_order: bool = False,
) -> Explanation:
    """Run up to the moment in which an operator is placed, and look at all devices.

    Parameters
    ----------
    case : Problem
    scheduler : Scheduler
    operator : str
        Its name, such as ``L3_QK_s0``.
    token : int, optional
        Of decode; a token that repeats a plan is explained by the one that made it. Prefill if
        not given.
    layouts : list of int, optional
        `Layout` of each weight; linear if not given.
    twins : callable, optional
        Gives the compiled scheduler, or None, and the plain one that stand for a scheduler; its
        own if not given.
    in_order : bool
        As of `fanweave.golden.dops.place.execute`.

    Raises
    ------
    InputError
        If there is no such operator or token.
    """
    number = _number(case.flat, operator)
    phase = "prefill" if token is None else "decode"
    if token is not None:
        if not 0 <= token < case.workload.decode:
            raise InputError(
                f"token {token} is not decoded; tokens are 0 to {case.workload.decode - 1}"
            )
        refresh = case.record.refresh
        if token > 1:
            token = token // refresh * refresh if refresh else 1
    fast, plain = (twins or _own)(scheduler)
    if case.platform.topology == "star":
        fast = None
    plain = _scored(plain)
    layouts = layouts or [int(Layout.LINEAR)] * len(case.flat.graph.weights)
    try:
        run(
            case.tables,
            make_machine(case, layouts, compiled=fast is not None),
            _Explaining(fast or plain, plain, number, phase, token or 0),
            case.workload,
            refresh=case.record.refresh,
            spill=not in_order and spills_everything(case.platform),
            watch=lambda work, log, plan: None,
            in_order=in_order,
        )
    except _DecidedError as decided:
        return decided.explanation
    raise AssertionError("every operator is placed")
