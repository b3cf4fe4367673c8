"""Solves small problems exactly, and holds every solution against the timing model."""

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from fanweave.golden.dops.optimum.instances import Instance
from fanweave.golden.dops.optimum.model import PlacementModel
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
        Its end, and a time that no plan can beat that neither drops weights nor spills;
        picoseconds, 0 if nothing is known.
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


def solve(instance: Instance, known: Plan, *, seconds: float, seed: int = 1) -> Optimum:
    """Search the best plan of an instance with one worker, from a plan that is known.

    Raises
    ------
    FaultError
        If the timing model does not confirm the solution to the picosecond.
    """
    makespan = int(replay(instance, known)[1].max())
    placement = PlacementModel(instance, makespan)
    _hint(placement, known)
    solver = _solver(seconds, seed)
    status = solver.solve(placement.model)
    bound = round(solver.best_objective_bound)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        if status == cp_model.INFEASIBLE:
            # Only plans that drop weights or spill are that good; the program knows none of them.
            bound = 0
        return Optimum(plan=known, makespan=makespan, bound=max(0, bound), proved=False)
    plan = _plan(placement, solver)
    found = int(replay(instance, plan)[1].max())
    claimed = round(solver.objective_value)
    if found > claimed or (status == cp_model.OPTIMAL and found != claimed):
        raise FaultError(
            f"{instance.name}: the solver ends at {claimed} ps, the timing model at {found} ps"
        )
    best = plan if found <= makespan else known
    return Optimum(
        plan=best,
        makespan=min(found, makespan),
        bound=bound,
        proved=status == cp_model.OPTIMAL,
    )


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
    solver = _solver(60.0, 1)
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    times = [
        np.array([solver.value(v) for v in variables], np.int64)
        for variables in (placement.start, placement.end)
    ]
    return times[0], times[1]


def _solver(seconds: float, seed: int) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    return solver


def _hint(placement: PlacementModel, known: Plan) -> None:
    for place, operator in enumerate(known.order):
        placement.model.add_hint(placement.position[operator], place)
        if not placement.instance.flat.collective[operator]:
            for device, here in placement.on[operator].items():
                placement.model.add_hint(here, device == known.devices[operator])


def _plan(placement: PlacementModel, solver: cp_model.CpSolver) -> Plan:
    positions = [solver.value(position) for position in placement.position]
    order = sorted(range(len(positions)), key=positions.__getitem__)
    devices = [
        next((d for d, here in on.items() if solver.value(here)), placement.instance.platform.host)
        for on in placement.on
    ]
    return Plan(tuple(order), tuple(devices))
