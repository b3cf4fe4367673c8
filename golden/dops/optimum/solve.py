"""Solves small problems exactly, and holds every solution against the timing model."""

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from fanweave.golden.dops.optimum.instances import Instance
from fanweave.golden.dops.optimum.model import PlacementModel, may_spill, memory_can_bind
from fanweave.golden.dops.optimum.symmetry import in_order, role_changes
from fanweave.golden.dops.plan import Plan
from fanweave.golden.errors import FaultError

__all__ = ["Optimum", "exact_times", "replay", "solve"]


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """Result of a search.

    Attributes
    ----------
    plan : Plan
        The best plan that was found.
    makespan, bound : int
        Its end, and a time that no plan can beat, picoseconds; 0 if nothing is known. Where an
        output could be spilled, plans that drop weights or spill are left out of that.
    proved : bool
        Whether both are equal.
    """

    plan: Plan
    makespan: int
    bound: int
    proved: bool


def replay(instance: Instance, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Start and finish of every operator when the timing model runs a plan.

    Raises
    ------
    FaultError
        If an operator of the plan cannot run.
    """
    machine = instance.machine(plain=True)
    try:
        machine.replay(plan)
    except ValueError as error:
        raise FaultError(f"{instance.name}: {error}") from error
    log = machine.log()
    return log.start, log.finish


def solve(instance: Instance, known: Plan, *, effort: float, seed: int = 1) -> Optimum:
    """Search the best plan of an instance with one worker, from a plan that is known.

    Where memory is short, plans that drop weights may be the best ones, and the program with
    memory does not know them. So it is solved without memory first: its least end is a bound of
    all plans, and often the timing model confirms the plan. If not, the program with memory
    looks for another one that ends there.

    Parameters
    ----------
    instance, known
    effort : float
        The solver's own measure of work, which does not depend on the machine; one is about
        three seconds on one core.
    seed : int

    Raises
    ------
    FaultError
        If the timing model does not confirm the solution to the picosecond.
    """
    best = _Best(instance, known)
    if not memory_can_bind(instance) or may_spill(instance):
        bound = best.search(effort, seed, memory=True)
    else:
        bound = best.search(effort / 2, seed, memory=False)
        if best.makespan > bound:
            best.search(effort / 2, seed, memory=True)
    proved = best.makespan == bound
    return Optimum(plan=best.plan, makespan=best.makespan, bound=max(0, bound), proved=proved)


class _Best:
    """The best plan so far."""

    def __init__(self, instance: Instance, known: Plan) -> None:
        self.instance, self.plan = instance, known
        self.makespan = int(replay(instance, known)[1].max())

    def search(self, effort: float, seed: int, *, memory: bool) -> int:
        """Look for a better plan; return a bound of the ends of those that the program knows."""
        instance = self.instance
        changes = role_changes(instance)
        placement = PlacementModel(instance, self.makespan + 1, memory=memory, changes=changes)
        hint = in_order(self.plan, changes)
        _hint(placement, hint, *replay(instance, hint))
        solver = _solver(effort, seed)
        status = solver.solve(placement.model)
        exact = memory or not memory_can_bind(instance)
        if status == cp_model.INFEASIBLE:
            # Only plans that the program does not know are that good. Where it knows all, the
            # solver is wrong about the plan that is known, and nothing is proved.
            return 0
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return round(solver.best_objective_bound)
        plan = _plan(placement, solver)
        found = int(replay(instance, plan)[1].max())
        claimed = round(solver.objective_value)
        if exact and (found > claimed or (status == cp_model.OPTIMAL and found != claimed)):
            raise FaultError(
                f"{instance.name}: the solver ends at {claimed} ps, the timing model at {found} ps"
            )
        if found < self.makespan:
            self.plan, self.makespan = plan, found
        return round(solver.best_objective_bound)


def exact_times(instance: Instance, plan: Plan) -> tuple[np.ndarray, np.ndarray] | None:
    """Start and finish of every operator when the solver times a plan; None if it has none.

    Order and devices are given, so the least sum of all times is the one schedule in which
    everything begins as early as it can.
    """
    horizon = 2 * int(replay(instance, plan)[1].max())
    placement = PlacementModel(instance, horizon)
    model = placement.model
    for place, operator in enumerate(plan.order):
        model.add(placement.position[operator] == place)
        if not instance.flat.collective[operator]:
            model.add(placement.on[operator][plan.devices[operator]] == 1)
    model.minimize(sum(placement.start) + sum(placement.end))
    solver = _solver(20.0, 1)
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    times = [
        np.array([solver.value(v) for v in variables], np.int64)
        for variables in (placement.start, placement.end)
    ]
    return times[0], times[1]


def _solver(effort: float, seed: int) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = effort
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    # These two parts of OR-Tools 9.15's presolve call problems infeasible whose known plan, put
    # in whole, they accept: of seeds 12 and 2026, numbers 16 and 37.
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.presolve_inclusion_work_limit = 0
    # The measure of work does not count all of it.
    solver.parameters.max_time_in_seconds = 300.0
    return solver


def _hint(placement: PlacementModel, known: Plan, start: np.ndarray, finish: np.ndarray) -> None:
    model = placement.model
    for place, operator in enumerate(known.order):
        model.add_hint(placement.position[operator], place)
        model.add_hint(placement.start[operator], int(start[operator]))
        model.add_hint(placement.end[operator], int(finish[operator]))
        if not placement.instance.flat.collective[operator]:
            for device, here in placement.on[operator].items():
                model.add_hint(here, device == known.devices[operator])


def _plan(placement: PlacementModel, solver: cp_model.CpSolver) -> Plan:
    positions = [solver.value(position) for position in placement.position]
    order = sorted(range(len(positions)), key=positions.__getitem__)
    devices = [
        next((d for d, here in on.items() if solver.value(here)), placement.instance.platform.host)
        for on in placement.on
    ]
    return Plan(tuple(order), tuple(devices))
