"""Rolling-horizon local search: start from the best of several plans, improve window by window."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER, StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import COLLECTIVES, KV_WRITERS, Kind
from fanweave.golden.dops.plan import Plan
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.schedulers.affine import amortised
from fanweave.golden.dops.schedulers.base import EXECUTORS, Machine, Pass, Scheduler
from fanweave.golden.dops.schedulers.lists import Heft
from fanweave.golden.dops.schedulers.static import STATIC, Static
from fanweave.golden.dops.work import Phase
from fanweave.golden.errors import InputError

__all__ = ["Effort", "RollingHorizon", "SearchState", "plain_sweep"]

_WORST = 1 << 62
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
    drift : int
        Growth of all work, in thousandths, from which a token is planned anew.
    """

    window: int = 32
    stride: int = 16
    ahead: int = 16
    trials: int = 6000
    least: int = 12
    sweeps: int = 6
    small: int = 24
    heat: int = 30
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
            except (InputError, ValueError):
                continue  # it has no device for an operator
            if end < least:
                least, self.fallback = end, name
        return Static(self.fallback) if self.fallback else alone

    def start(self, flat: FlatGraph, platform: Platform) -> None:
        """Forget earlier plans; find each operator's like in the layer before."""
        self._plan: Plan | None = None
        self._work_then = 0
        self._settled = False
        self._twin = _twins(flat)
        self.origins = []
        self._lists: dict[tuple[str, Phase], list[list[int]]] = {}

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
        improved = False
        for number in range(sweeps):
            machine.restore(begin)
            # After the best plan some others get a turn: they may lie in another valley.
            turn = 0 < number < min(len(starts), sweeps - 1)
            first = starts[number][2] if turn else best
            # Every other sweep is hotter: it leaves valleys, the next one settles.
            heat = effort.heat * (10 if number % 2 else 1)
            settings = (effort.window, effort.stride, effort.ahead, trials, heat)
            found = self._sweep(work, first, self._twin, settings, state)
            if found is not None and machine.makespan() < best_end:
                best, best_end, improved = found, machine.makespan(), True
        self.origins.append((best_name, improved))
        machine.restore(begin)
        machine.costs = work.costs
        machine.replay(best)
        if work.phase == "decode":
            self._settled = self._plan is not None
            self._plan, self._work_then = best, _total_work(work)
        return best

    def _changed(self, work: Pass) -> bool:
        """Whether a token needs a plan of its own: the first two do, and when work has grown."""
        if self._plan is None or not self._settled:
            return True
        grown = _total_work(work) - self._work_then
        return 1000 * grown > self.effort.drift * self._work_then

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
            trial = Pass(
                timing=machine,
                costs=costs,
                phase=work.phase,
                token=work.token,
                tokens=work.tokens,
                devices=devices,
            )
            try:
                plan = self._list_plan(name, trial)
            except ValueError:
                continue  # an operator that no longer fits into memory
            if all(plan != other for _, _, other in plans):
                plans.append((name, machine.makespan(), plan))
        if not plans:
            raise ValueError("no plan fits into memory")
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
        key = (name, work.phase)
        if key not in self._lists:
            self._lists[key] = self._allowed(work, Static(name))
        return self._lists[key]

    def _allowed(self, work: Pass, static: Static) -> list[list[int]]:
        """Devices of each operator on a static list; nothing if one has none."""
        platform = work.timing.platform
        known: dict[tuple[Kind, tuple[int, ...]], list[int]] = {}
        found = []
        for operator, devices in zip(work.timing.flat.graph.operators, work.devices, strict=True):
            key = (operator.kind, tuple(devices))
            if key not in known:
                types = static.types(operator.kind, work.phase)
                known[key] = [
                    d
                    for d in devices
                    if operator.kind in _PLACED or platform.devices[d].type in types
                ]
            found.append(known[key])
        return found if all(known.values()) else []

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
        state: "SearchState",
    ) -> Plan | None:
        order, devices = list(plan.order), list(plan.devices)
        if not plain_sweep(work, order, devices, twin.tolist(), settings, state):
            return None
        return Plan(tuple(order), tuple(devices))


class SearchState:
    """A 32-bit xorshift generator."""

    def __init__(self, seed: int) -> None:
        self.array = np.array([(seed * 2654435761 + 0x9E3779B9) & 0xFFFFFFFF or 1], np.int64)

    def draw(self, count: int) -> int:
        """Next number below `count`."""
        value = int(self.array[0])
        value ^= value << 13 & 0xFFFFFFFF
        value ^= value >> 17
        value ^= value << 5 & 0xFFFFFFFF
        self.array[0] = value
        return value % count


def _twins(flat: FlatGraph) -> np.ndarray:
    """The operator of the same name in the layer before, -1 if there is none."""
    index: dict[tuple[int, str], int] = {}
    twins = np.full(len(flat.graph.operators), -1, np.int64)
    for place, operator in enumerate(flat.graph.operators):
        name = operator.name.split("_", 1)[1]
        index[operator.layer, name] = place
        twins[place] = index.get((operator.layer - 1, name), -1)
    return twins


def _total_work(work: Pass) -> int:
    return int(work.costs.compute[0].sum() + work.costs.kv_move.clip(max=FOREVER >> 20).sum())


# The search, plain


class _Window:
    """A window of a plan on a machine that has run what is before it."""

    def __init__(
        self,
        work: Pass,
        order: list[int],
        devices: list[int],
        bounds: tuple[int, int, int],
        tails: list[int],
        rest: list[int],
    ) -> None:
        self.work, self.order, self.devices = work, order, devices
        self.begin, self.end, self.last = bounds
        self.tails, self.rest = tails, rest
        self.state = work.timing.snapshot()

    def price(self) -> int:
        """Run window and horizon and take it back."""
        machine, latest, total = self.work.timing, 0, 0
        try:
            for operator in self.order[self.begin : self.last]:
                _, finish = machine.commit(operator, self.devices[operator])
                latest = max(latest, finish + self.tails[operator])
                total += finish
            for device, free in enumerate(machine.available):
                latest = max(latest, free + self.rest[device])
        except ValueError:
            return _WORST
        finally:
            machine.restore(self.state)
        return 64 * latest + total // (self.last - self.begin)

    def copy(self) -> list[tuple[int, int]]:
        """Operators of the window with their devices."""
        return [(o, self.devices[o]) for o in self.order[self.begin : self.end]]

    def put(self, chosen: Sequence[tuple[int, int]]) -> None:
        """Take a copy back."""
        for place, (operator, device) in enumerate(chosen, self.begin):
            self.order[place] = operator
            self.devices[operator] = device

    def follow(self, twin: Sequence[int]) -> bool:
        """Take the devices of the layer before; whether anything changed."""
        changed = False
        for operator in self.order[self.begin : self.end]:
            if twin[operator] < 0 or self.work.timing.flat.collective[operator]:
                continue
            device = self.devices[twin[operator]]
            if device != self.devices[operator] and device in self.work.devices[operator]:
                self.devices[operator] = device
                changed = True
        return changed

    def shift(self, place: int, target: int) -> bool:
        """Move an operator as far as its neighbours in the graph let it."""
        order, graph = self.order, self.work.timing.flat.graph
        target = max(self.begin, min(self.end - 1, target))
        moved = False
        while place != target:
            step = 1 if place < target else -1
            first, second = sorted((place, place + step))
            if order[first] in graph.predecessors[order[second]]:
                break
            order[first], order[second] = order[second], order[first]
            place += step
            moved = True
        return moved

    def other(self, operator: int, state: SearchState) -> int:
        """Another device of an operator; the same if it has no other."""
        choices = self.work.devices[operator]
        if len(choices) < 2:
            return self.devices[operator]
        pick = state.draw(len(choices) - 1)
        return [d for d in choices if d != self.devices[operator]][pick]

    def move(self, state: SearchState) -> bool:
        """Change devices or order at random; whether anything changed."""
        flat, width = self.work.timing.flat, self.end - self.begin
        kind, place = state.draw(8), self.begin + state.draw(width)
        operator = self.order[place]
        changed = False
        if kind in (5, 6):
            changed = self.shift(place, self.begin + state.draw(width))
            if kind == 5:
                return changed
        if flat.collective[operator]:
            return changed
        device = self.other(operator, state)
        if device == self.devices[operator] and kind < 5:
            return changed
        changed = changed or device != self.devices[operator]
        self.devices[operator] = device
        if kind in (3, 4):
            self._pull_neighbour(operator, device, state)
        if kind == 7:
            changed |= self._pull_run(place, device, state)
        return changed

    def _pull_neighbour(self, operator: int, device: int, state: SearchState) -> None:
        graph = self.work.timing.flat.graph
        neighbours = graph.predecessors[operator] + graph.successors[operator]
        if not neighbours:
            return
        other = neighbours[state.draw(len(neighbours))]
        if other in self.order[self.begin : self.end]:
            self._pull(other, device)

    def _pull_run(self, place: int, device: int, state: SearchState) -> bool:
        last = min(self.end, place + 2 + state.draw(5))
        pulled = [self._pull(other, device) for other in self.order[place + 1 : last]]
        return any(pulled)

    def _pull(self, operator: int, device: int) -> bool:
        if self.work.timing.flat.collective[operator] or self.devices[operator] == device:
            return False
        if device not in self.work.devices[operator]:
            return False
        self.devices[operator] = device
        return True


def _search(
    window: _Window, twin: Sequence[int], trials: int, heat: int, state: SearchState
) -> None:
    """Improve a window by threshold accepting."""
    price = least = window.price()
    clock = 64 * max(window.work.timing.available)
    step = max(0, min(price, _WORST - 1) - clock) // 1000 * heat // trials
    now = best = window.copy()
    for trial in range(trials):
        changed = window.follow(twin) if trial == 0 else window.move(state)
        if not changed:
            continue
        value = window.price()
        if value <= price + step * (trials - 1 - trial) and value < _WORST:
            price, now = value, window.copy()
            if value < least:
                least, best = value, now
        else:
            window.put(now)
    window.put(best)


def plain_sweep(
    work: Pass,
    order: list[int],
    devices: list[int],
    twin: Sequence[int],
    settings: tuple[int, int, int, int, int],
    state: SearchState,
) -> bool:
    """Improve a plan window by window and commit it; whether all operators could run."""
    width, stride, ahead, trials, heat = settings
    machine, count = work.timing, len(order)
    service = _services(machine)
    tails = _tails(machine, devices, service)
    begin = 0
    while begin < count:
        end = min(count, begin + width)
        last = min(count, end + ahead)
        rest = [0] * len(machine.available)
        for operator in order[last:]:
            rest[devices[operator]] += service(operator, devices[operator])
        bounds = (begin, end, last)
        _search(_Window(work, order, devices, bounds, tails, rest), twin, trials, heat, state)
        stop = count if end == count else begin + stride
        try:
            for operator in order[begin:stop]:
                machine.commit(operator, devices[operator])
        except ValueError:
            return False
        begin = stop
    return True


def _services(machine: Machine) -> Callable[[int, int], int]:
    """Time of an operator, with loading what is not there when the pass begins."""
    flat, costs = machine.flat, machine.costs
    there = {
        (weight, device)
        for weight in range(len(flat.graph.weights))
        for device in range(len(machine.available))
        if machine.resident(weight, device)
    }

    def service(operator: int, device: int) -> int:
        if flat.collective[operator]:
            return 0
        kind, weight = flat.class_of[operator], int(flat.weight_of[operator])
        if weight < 0:
            return int(costs.compute[0, kind, device])
        table = costs.compute if (weight, device) in there else costs.cold
        return int(table[machine.layouts[weight], kind, device])

    return service


def _tails(
    machine: Machine, devices: Sequence[int], service: Callable[[int, int], int]
) -> list[int]:
    """Longest way from the end of each operator to the end of the graph, without contention."""
    flat, costs = machine.flat, machine.costs
    tails = [0] * len(devices)
    for operator in reversed(flat.graph.order):
        kind, source = flat.class_of[operator], devices[operator]
        for consumer in flat.graph.successors[operator]:
            target = devices[consumer]
            way = tails[consumer] + service(consumer, target)
            if source != target and not (flat.collective[operator] or flat.collective[consumer]):
                way += int(costs.read[kind, source] + costs.move[kind, source, target])
            tails[operator] = max(tails[operator], way)
    return tails
