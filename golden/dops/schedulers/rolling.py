"""Rolling-horizon local search: start from the best of several plans, improve window by window."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import COLLECTIVES, KV_WRITERS, Kind
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.affine import amortised
from fanweave.golden.dops.schedulers.base import EXECUTORS, Pass, Scheduler
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.schedulers.window_search import SearchState, plain_sweep
from fanweave.golden.dops.work import Phase
from fanweave.golden.errors import InputError

__all__ = ["Effort", "RollingHorizon"]

#: Operators whose device nobody chooses.
_PLACED = COLLECTIVES | KV_WRITERS | {Kind.EMBEDDING}


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is searched; the same for every graph.

    Attributes
    ----------
    window, stride, ahead : int
        Operators of a window, from one window to the next, and looked at behind a window.
    trials : int
        Changes that are tried in one pass over a graph, whatever its size.
    least : int
        Fewest trials of a window; large graphs get these alone.
    sweeps : int
        Passes over a graph, as far as trials last.
    small : int
        Passes over a graph of one window; divided by the windows, if that is more than `sweeps`.
    heat : int
        First threshold under which a worse plan is accepted, thousandths of a window's time.
    hotter : tuple of int
        How many times hotter the sweeps are that leave a valley; they take turns.
    drift : int
        Change of all work, in thousandths, from which a token is planned anew.
    """

    window: int = 32
    stride: int = 16
    ahead: int = 16
    trials: int = 6000
    least: int = 12
    sweeps: int = 6
    small: int = 24
    heat: int = 30
    hotter: tuple[int, ...] = (10, 3, 20)
    drift: int = 60


class RollingHorizon(Scheduler):
    """Our own scheduler.

    The first plan is the best of HEFT, of HEFT on single devices and of the static lists under
    the costs of the pass. Then a
    window rolls over the plan: devices and order of its operators are changed at random, the
    machine runs window and horizon, and threshold accepting decides; the longest way behind and
    the work that is left on each device stand for the rest. In decode a load counts with its
    share of the tokens that are to come. No exact solver is inside.

    Parameters
    ----------
    effort : Effort
    statics : bool
        Whether static plans are among the first ones.
    offline : bool
        Whether whole runs are rehearsed, of itself and of the static schedulers; if one of these
        ends first, the run is left to it.
    seed : int
        Of the changes.

    Attributes
    ----------
    fallback : str or None
        The static scheduler that the run was left to.
    origins : list of (str, bool)
        The first plan of each pass that was planned, and whether search improved on all of them.
    """

    name = "RHLS"

    def __init__(
        self,
        effort: Effort | None = None,
        *,
        statics: bool = True,
        offline: bool = True,
        seed: int = 1,
    ) -> None:
        self.effort, self.statics, self.seed = effort or Effort(), statics, seed
        self.offline = offline
        self.fallback: str | None = None
        self.origins: list[tuple[str, bool]] = []

    def types(self, kind: Kind, phase: Phase) -> tuple[str, ...]:
        """Every executor."""
        return EXECUTORS

    def rehearse(self, total: Callable[[Scheduler], int]) -> Scheduler:
        """Leave the run to a static scheduler if that would end it first."""
        self.fallback = None
        alone = RollingHorizon(self.effort, statics=self.statics, offline=False, seed=self.seed)
        if not self.offline:
            return alone
        least = total(alone)
        for name in STATIC:
            try:
                end = total(Static(name))
            except ValueError:
                continue  # it has no device for an operator
            if end < least:
                least, self.fallback = end, name
        return Static(self.fallback) if self.fallback else alone

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Forget earlier plans; find each operator's like in the layer before."""
        self._plan: Plan | None = None
        self._work_then, self._uses_then = 0, 0
        self._settled = False
        self._twin = _twins(flat)
        self.origins = []
        self._lists: dict[tuple[str, Phase], list[list[int]]] = {}
        self._alike: dict[Phase, tuple[list[tuple[Kind, tuple[int, ...]]], list[int]]] = {}

    def place(self, work: Pass) -> Plan:
        """Plan a pass, or repeat the last plan where nothing has changed."""
        if work.phase == "decode" and not self._changed(work):
            assert self._plan is not None
            work.timing.replay(self._plan)
            return self._plan
        machine, effort = work.timing, self.effort
        begin = machine.snapshot()
        machine.costs = costs = amortised(work)
        starts = self._first_plans(work, costs, begin)
        best_name, best_end, best = starts[0]
        windows = max(1, -(-len(work.devices) // effort.stride) - 1)
        trials = max(effort.least, effort.trials // windows)
        most = max(effort.sweeps, effort.small // windows)
        sweeps = max(1, min(most, effort.trials // (windows * effort.least)))
        state = SearchState(self.seed)
        improved, last = False, best
        for number in range(sweeps):
            machine.restore(begin)
            # A hot sweep leaves a valley, the next one settles where it has come to.
            hot, turn = number % 2, number // 2 + 1
            first = last
            if hot:
                # Other first plans get a turn, before the best one has all that is left.
                other = turn < len(starts) and 2 * turn < sweeps - 1
                first = starts[turn][2] if other else best
            heat = effort.heat * (effort.hotter[turn % len(effort.hotter)] if hot else 1)
            settings = (effort.window, effort.stride, effort.ahead, trials, heat)
            found = self._sweep(work, first, self._twin, settings, state)
            if found is None:
                continue
            last = found
            if machine.makespan() < best_end:
                best, best_end, improved = found, machine.makespan(), True
        self.origins.append((best_name, improved))
        machine.restore(begin)
        machine.costs = work.costs
        machine.replay(best)
        if work.phase == "decode":
            self._settled = self._plan is not None
            self._plan, self._work_then, self._uses_then = best, _total_work(work), work.uses
        return best

    def _changed(self, work: Pass) -> bool:
        """Whether a token needs a plan of its own.

        The first two do, later ones where work is another, or a load has twice as many uses.
        """
        if self._plan is None or not self._settled or work.uses >= 2 * self._uses_then:
            return True
        change = abs(_total_work(work) - self._work_then)
        return 1000 * change > self.effort.drift * self._work_then

    def _first_plans(
        self, work: Pass, costs: StepCosts, begin: object
    ) -> list[tuple[str, int, Plan]]:
        """HEFT, HEFT on each device alone as far as it may, and the static lists; best first."""
        machine = work.timing
        plans: list[tuple[str, int, Plan]] = []
        for name, devices in self._choices(work):
            if not devices:
                continue
            machine.restore(begin)
            trial = replace(work, costs=costs, devices=devices)
            try:
                plan = self._list_plan(name, trial)
            except ValueError:
                continue  # an operator that no longer fits into memory
            if all(plan != other for _, _, other in plans):
                plans.append((name, machine.makespan(), plan))
        if not plans:
            raise InputError("no plan fits into the memories of the devices; give them more")
        return sorted(plans, key=lambda item: item[1])

    def _choices(self, work: Pass) -> Iterator[tuple[str, list[list[int]]]]:
        """Names of first plans, with the devices that they may use; static lists come first."""
        for name in STATIC if self.statics else ():
            yield name, self._static_lists(work, name)
        yield "HEFT", work.devices
        platform = work.timing.platform
        for device in (d for kind in EXECUTORS for d in platform.indices(kind)):
            alone = [device]
            yield (
                f"on {platform.devices[device].name}",
                [alone if device in allowed else allowed for allowed in work.devices],
            )

    def _static_lists(self, work: Pass, name: str) -> list[list[int]]:
        """Devices of each operator on a static list; nothing if one has none."""
        key = (name, work.phase)
        if key not in self._lists:
            if work.phase not in self._alike:
                self._alike[work.phase] = _alike(work)
            kinds, group_of = self._alike[work.phase]
            platform, static = work.timing.platform, Static(name)
            chosen = []
            for kind, devices in kinds:
                types = static.types(kind, work.phase)
                fits = [d for d in devices if platform.devices[d].type in types]
                chosen.append(list(devices) if kind in _PLACED else fits)
            whole = all(chosen)
            self._lists[key] = [chosen[group] for group in group_of] if whole else []
        return self._lists[key]

    # What the compiled counterpart does otherwise

    def _list_plan(self, name: str, work: Pass) -> Plan:
        scheduler = Static(name) if name in STATIC else Heft()
        return scheduler.place(work)

    def _sweep(
        self,
        work: Pass,
        plan: Plan,
        twin: np.ndarray,
        settings: tuple[int, int, int, int, int],
        state: SearchState,
    ) -> Plan | None:
        order, devices = list(plan.order), list(plan.devices)
        if not plain_sweep(work, order, devices, twin.tolist(), settings, state):
            return None
        return Plan(tuple(order), tuple(devices))


def _twins(flat: FlatGraph) -> np.ndarray:
    """The operator of the same name in the layer before, -1 if there is none."""
    index: dict[tuple[int, str], int] = {}
    twins = np.full(len(flat.graph.operators), -1, np.int64)
    for place, operator in enumerate(flat.graph.operators):
        name = operator.name.split("_", 1)[1]
        index[operator.layer, name] = place
        twins[place] = index.get((operator.layer - 1, name), -1)
    return twins


def _alike(work: Pass) -> tuple[list[tuple[Kind, tuple[int, ...]]], list[int]]:
    """Kinds of operators with the devices that they may run on, and the group of each operator."""
    groups: dict[tuple[Kind, tuple[int, ...]], int] = {}
    operators = work.timing.flat.graph.operators
    group_of = [
        groups.setdefault((operator.kind, tuple(devices)), len(groups))
        for operator, devices in zip(operators, work.devices, strict=True)
    ]
    return list(groups), group_of


def _total_work(work: Pass) -> int:
    return int(work.costs.compute[0].sum() + work.costs.kv_move.clip(max=FOREVER >> 20).sum())
