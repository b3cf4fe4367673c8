"""The loop itself: rounds of placing, compiling and measuring, and why each changed what it did."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.registry import Request, scheduler_name
from fanweave.golden.loop.changes import CostChange, Move, changed_costs, moves
from fanweave.golden.loop.costs import FAMILIES, Cost, Costs, family_of, start_costs
from fanweave.golden.loop.description import Loop
from fanweave.golden.loop.links import with_links
from fanweave.golden.loop.rounds import Converged, Round, converge
from fanweave.golden.loop.start import begin_with
from fanweave.sim.loop.kernels import KernelFigure, measure_kernels
from fanweave.sim.loop.placing import Placement, offers, place
from fanweave.sim.loop.products import check_elements, densities
from fanweave.sim.loop.switching import SwitchFigures, measure_switch
from fanweave.sim.loop.table import MeasuredTable
from fanweave.sw.traces.library import open_trace

__all__ = [
    "LoopOutcome",
    "LoopRound",
    "Reason",
    "RoundChange",
    "RoundResult",
    "best_round",
    "run_loop",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundResult:
    """What came of a round.

    Attributes
    ----------
    placement : Placement
    kernels : tuple of KernelFigure
    switch : SwitchFigures or None
        None if nothing moves.
    measured, found : int
        Measurements of this round, and those that an earlier one or another run had made.
    """

    placement: Placement
    kernels: tuple[KernelFigure, ...]
    switch: SwitchFigures | None
    measured: int
    found: int


LoopRound = Round[Costs, RoundResult]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why operators moved.

    Attributes
    ----------
    move : Move
    alone : tuple of str
        Families of costs whose change alone moves the first of them to the same device; empty if
        it takes several.
    before, after : mapping of str to int
        Device -> picoseconds by which it would have ended the first of them after the soonest
        one, with the costs of the round before and of this one; empty where it was not asked.
    """

    move: Move
    alone: tuple[str, ...]
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RoundChange:
    """What a round did otherwise than the one before.

    Attributes
    ----------
    number : int
        Of the round.
    costs : tuple of CostChange
        That it was placed with.
    reasons : tuple of Reason
        Of all operators that moved.
    """

    number: int
    costs: tuple[CostChange, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class LoopOutcome:
    """All of a loop.

    Attributes
    ----------
    loop : Loop
        With the densities that were used.
    start : str
        Where its costs began.
    converged : Converged
    changes : tuple of RoundChange
        One a round from the second on.
    left : tuple of CostChange
        Costs that the last round measured otherwise than it was placed with; empty at a fixpoint.
    """

    loop: Loop
    start: str
    converged: Converged[Costs, RoundResult]
    changes: tuple[RoundChange, ...]
    left: tuple[CostChange, ...]

    @property
    def moved(self) -> int:
        """Operators of all passes that moved, over all rounds."""
        return sum(len(reason.move.operators) for each in self.changes for reason in each.reasons)


class _Rounds:
    """What stays the same over all rounds, and one of them."""

    def __init__(self, loop: Loop, table: MeasuredTable, folder: Path) -> None:
        loop = replace(loop, scheduler=scheduler_name(loop.scheduler))
        self.trace = open_trace(loop.trace) if loop.trace else None
        if self.trace is not None:
            loop = replace(loop, density=densities(self.trace))
        self.loop, self.table, self.folder = loop, table, folder
        weights, activations = loop.density
        self.card = replace(
            load_model(loop.model), weight_density=weights, activation_density=activations
        )
        self.platform = load_platform(loop.platform)
        if any(device.skips_zeros for device in self.platform.devices):
            check_elements(loop, self.card, self.trace)
        self.request = Request(
            model=self.card,
            platform=self.platform,
            workload=loop.workload,
            record=load_record("log"),
            scheduler=loop.scheduler,
            elements=loop.elements,
        )

    def step(self, costs: Costs) -> tuple[Costs, RoundResult]:
        """Place, compile, measure."""
        measured, found = self.table.measured, self.table.found
        placement = place(self.request, costs)
        kernels = self._kernels(placement)
        after = dict(costs)
        for each in kernels:
            after[f"lanes_busy/{each.device}/{each.kind}/{each.phase}"] = Cost(
                value=each.lanes_busy,
                unit=FAMILIES["lanes_busy"],
                origin=each.origin,
                source=f"{each.source}, {each.rows} x {each.columns}, {each.tokens} tokens",
            )
        graph = placement.graph()
        switch = None
        if graph is not None:
            switch = measure_switch(graph, self.platform, self.loop, self.table)
            after = with_links(
                after, self.platform, switch.links, idle_ns=switch.idle_ns, origin=switch.origin
            )
        return after, RoundResult(
            placement=placement,
            kernels=kernels,
            switch=switch,
            measured=self.table.measured - measured,
            found=self.table.found - found,
        )

    def _kernels(self, placement: Placement) -> tuple[KernelFigure, ...]:
        found: list[KernelFigure] = []
        for device in self.platform.devices:
            if device.skips_zeros:
                found += measure_kernels(
                    self.loop, self.card, device, placement.sharding, self.trace,
                    table=self.table, folder=self.folder,
                )  # fmt: skip
        return tuple(found)

    def change(self, before: LoopRound, after: LoopRound, *, scored: int) -> RoundChange:
        """What a round changed, and why."""
        costs = changed_costs(before.before, after.before)
        old, new = before.result.placement, after.result.placement
        found = moves(old.places, new.places, new.kinds)
        families = list(dict.fromkeys(family_of(change.name) for change in costs))
        alone = {
            family: place(self.request, _only(family, before.before, after.before)).places
            for family in (families if found else [])
        }
        reasons = []
        for number, move in enumerate(found):
            first = move.operators[0]
            why = tuple(
                family for family, places in alone.items()
                if places[move.when][first] == move.target
            )  # fmt: skip
            offered = [
                offers(each, move.when, first) if number < scored else {} for each in (old, new)
            ]
            reasons.append(Reason(move=move, alone=why, before=offered[0], after=offered[1]))
        return RoundChange(number=after.number, costs=tuple(costs), reasons=tuple(reasons))


def _only(family: str, before: Costs, after: Costs) -> dict[str, Cost]:
    """Costs of before, with one family of after."""
    return {
        name: after[name] if family_of(name) == family else cost for name, cost in before.items()
    }


def run_loop(
    loop: Loop, *, start: str, table: MeasuredTable, folder: Path, scored: int = 3
) -> LoopOutcome:
    """Run a loop to its end.

    Parameters
    ----------
    loop : Loop
    start : str
        As of `fanweave.golden.loop.start.begin_with`.
    table : MeasuredTable
    folder : Path
        Where files of runs go.
    scored : int
        Moves of a round of which scores are looked up.

    Raises
    ------
    InputError
        If something is not known or does not fit.
    FaultError
        If RTL and golden differ, or a schedule breaks a rule.
    """
    rounds = _Rounds(loop, table, folder)
    costs: Costs = begin_with(start, start_costs(rounds.platform, density=rounds.loop.density[0]))
    converged = converge(costs, rounds.step, key=_values, most=loop.rounds)
    pairs: Iterable[tuple[LoopRound, LoopRound]] = zip(
        converged.rounds, converged.rounds[1:], strict=False
    )
    last = converged.rounds[-1]
    return LoopOutcome(
        loop=rounds.loop,
        start=start,
        converged=converged,
        changes=tuple(rounds.change(one, other, scored=scored) for one, other in pairs),
        left=tuple(changed_costs(last.before, last.after)),
    )


def _values(costs: Costs) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, cost.value) for name, cost in costs.items()))


def best_round(outcome: LoopOutcome) -> LoopRound:
    """The round that counts: the last one, or the quickest one of a cycle."""
    return min(outcome.converged.settled, key=lambda each: each.result.placement.schedule.total)
