"""How far schedulers are from the exact optimum of small graphs, and how fast they are."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.dops.kernel.schedulers import compiled_twin
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.optimum.instances import Instance, generate
from fanweave.golden.dops.optimum.solve import Optimum, solve
from fanweave.golden.dops.place import Problem, imitate, make_machine, problem
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.published import PublishedCase, latin_square, published_cases
from fanweave.golden.dops.records import DEFAULT_RECORD, load_record
from fanweave.golden.dops.schedulers.base import Pass, Scheduler, allowed_devices
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.rolling import RollingHorizon
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.work import Step
from fanweave.golden.errors import InputError
from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["GapCase", "gap_rows", "measure", "rows", "run_rows", "speed_rows"]

_PROBLEMS, _QUICK_PROBLEMS = 200, 12
_EFFORT, _QUICK_EFFORT = 2.0, 0.5
_LAYERS = 3125  # of 32 operators: 100,000
_MEAN_GOAL, _MAX_GOAL, _PROVED_GOAL = 0.02, 0.05, 0.9
#: Scheduler -> operators a second that it should place.
_SPEED_GOALS = {"HEFT": 100_000, "Bifocal": 20_000, "RHLS": 20_000}


@dataclass(frozen=True, kw_only=True)
class GapCase:
    """One problem with its optimum.

    Attributes
    ----------
    instance : Instance
    optimum : Optimum
    ends : dict of str to int
        Makespan of each scheduler, picoseconds.
    origin : str
        First plan from which the scheduler under test went.
    improved : bool
        Whether its search found a better one.
    """

    instance: Instance
    optimum: Optimum
    ends: dict[str, int]
    origin: str
    improved: bool


def rows(quick: bool, seed: int) -> list[BenchRow]:
    """Gaps to the optimum on drawn problems, share of static plans, and speed.

    Parameters
    ----------
    quick : bool
        Few problems with little effort each, and a smaller graph for the speed.
    seed : int
        Of the problems.
    """
    count, effort = (_QUICK_PROBLEMS, _QUICK_EFFORT) if quick else (_PROBLEMS, _EFFORT)
    cases = [measure(instance, effort) for instance in generate(count, seed)]
    runs = published_cases()[:1] if quick else published_cases()[:3]
    workloads = latin_square()[:1] if quick else latin_square()[::8]
    return (
        gap_rows(cases)
        + run_rows(runs, workloads)
        + speed_rows(_LAYERS // 100 if quick else _LAYERS)
    )


def measure(instance: Instance, effort: float) -> GapCase:
    """Run the schedulers on a problem and solve it, with so much effort at most."""
    ours = RollingHorizon()
    found, plan, twin = _run(instance, ours)
    assert isinstance(twin, RollingHorizon)
    ends = {
        "RHLS": found,
        "RHLS without static plans": _run(instance, RollingHorizon(statics=False))[0],
        "HEFT": _run(instance, Heft())[0],
    }
    ((origin, improved),) = twin.origins
    return GapCase(
        instance=instance,
        optimum=solve(instance, plan, effort=effort),
        ends=ends,
        origin=origin,
        improved=improved,
    )


def _run(instance: Instance, scheduler: Scheduler) -> tuple[int, Plan, Scheduler]:
    twin = compiled_twin(scheduler)
    assert twin is not None
    twin.start(instance.flat, instance.platform)
    work = instance.work(twin)
    plan = twin.place(work)
    return work.timing.makespan(), plan, twin


def gap_rows(cases: Sequence[GapCase]) -> list[BenchRow]:
    """Gaps on the problems that are proved, for all and by kind; the rest against the bound."""
    proved = [case for case in cases if case.optimum.proved]
    result = [
        _share("problems proved", "proved_share", [c.optimum.proved for c in cases], _PROVED_GOAL),
        _share(
            "RHLS, a static plan won",
            "fallback_share",
            [not c.improved and c.origin in STATIC for c in cases],
            None,
        ),
    ]
    for name in ("RHLS", "RHLS without static plans", "HEFT"):
        goals = (_MEAN_GOAL, None, _MAX_GOAL) if name == "RHLS" else (None, None, None)
        result += _gaps(f"{name}, proved", name, proved, goals)
    for phase in ("prefill", "decode"):
        for warm in (False, True):
            chosen = [c for c in proved if c.instance.phase == phase and c.instance.warm == warm]
            label = f"RHLS, proved, {phase} {'warm' if warm else 'cold'}"
            result += _gaps(label, "RHLS", chosen, (None, None, None))
    open_ones = [c for c in cases if not c.optimum.proved and c.optimum.bound]
    values = [c.ends["RHLS"] / c.optimum.bound - 1 for c in open_ones]
    if values:
        result.append(
            _row("RHLS over the bound, not proved", "bound_gap_mean", float(np.mean(values)))
        )
    return result


def _gaps(
    label: str, name: str, cases: Sequence[GapCase], goals: tuple[float | None, ...]
) -> list[BenchRow]:
    if not cases:
        return []
    gaps = [case.ends[name] / case.optimum.makespan - 1 for case in cases]
    case = f"{label}, {len(gaps)} problems"
    values = (float(np.mean(gaps)), float(np.percentile(gaps, 95)), max(gaps))
    words = ("mean", "p95", "max")
    return [
        _row(f"{case}, {word}", "gap_to_optimum", value, goal)
        for word, value, goal in zip(words, values, goals, strict=True)
    ]


def _share(case: str, metric: str, flags: Sequence[bool], goal: float | None) -> BenchRow:
    return _row(f"{case}, of {len(flags)}", metric, sum(flags) / len(flags), goal)


def _row(case: str, metric: str, value: float, goal: float | None = None) -> BenchRow:
    return BenchRow(case=case, metric=metric, value=value, unit="1", goal=goal, origin="model")


def run_rows(cases: Sequence[PublishedCase], workloads: Sequence[Workload]) -> list[BenchRow]:
    """Whole runs of published cases: how often one is left to a static scheduler, and without."""
    left, ratios, gains = [], [], []
    for case in cases:
        for workload in workloads:
            setting = problem(
                load_model(case.model),
                load_platform(case.platform),
                workload,
                load_record(DEFAULT_RECORD),
                elements=case.elements,
            )
            alone = imitate(setting, RollingHorizon(offline=False), sampled=True).total
            ends = {name: _total(setting, name) for name in STATIC}
            best = min(end for end in ends.values() if end)
            left.append(best < alone)
            ratios.append(alone / best)
            gains.append(ends["PD"] / min(alone, best))
    label = f"RHLS, {len(left)} whole runs"
    return [
        _share("RHLS, whole runs left to a static scheduler", "fallback_share", left, None),
        _row(f"{label}, without that, over the best static, mean", "time_ratio", _mean(ratios)),
        _row(f"{label}, without that, over the best static, max", "time_ratio", max(ratios)),
        _row(f"{label}, geometric mean", "speedup_over_pd", float(np.exp(np.log(gains).mean()))),
    ]


def _total(setting: Problem, name: str) -> int:
    """End of a static run, 0 if an operator has no device."""
    try:
        return imitate(setting, Static(name), sampled=True).total
    except InputError:
        return 0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def speed_rows(layers: int) -> list[BenchRow]:
    """Operators a second of one core in prefill of a model of so many layers, in two pieces."""
    base = load_platform("hp32")
    devices = [replace(d, capacity_bytes=d.capacity_bytes * layers) for d in base.devices]
    model = replace(load_model("llama-2-7b"), layers=layers)
    work = Workload(batch=4, prefill=512, decode=1)
    case = problem(model, replace(base, devices=tuple(devices)), work, load_record("log"))
    costs = case.tables.step(Step("prefill", work.batch, work.prefill))
    layouts = [int(Layout.LINEAR)] * len(case.flat.graph.weights)
    result = []
    for scheduler in (Heft(), Bifocal(), RollingHorizon()):
        twin = compiled_twin(scheduler)
        assert twin is not None
        seconds = 0.0
        for _ in range(2):  # the first run compiles
            twin.start(case.flat, case.platform)
            machine = make_machine(case, layouts, compiled=True)
            machine.begin(costs)
            types = twin.types
            allowed = allowed_devices(case.flat, case.platform, lambda k: types(k, "prefill"))  # noqa: B023
            pass_ = Pass(
                timing=machine, costs=costs, phase="prefill", token=0, tokens=1, devices=allowed
            )
            # Of the core, so that what else a machine does does not count.
            begin = time.process_time()
            twin.place(pass_)
            seconds = time.process_time() - begin
        count = len(case.flat.graph.operators)
        result.append(
            BenchRow(
                case=f"{scheduler.name}, {count:,} operators",
                metric="operators_per_second",
                value=count / seconds,
                unit="1/s",
                goal=_SPEED_GOALS[scheduler.name],
                origin="measured",
            )
        )
    return result
