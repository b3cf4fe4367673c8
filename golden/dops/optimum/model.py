"""The placement problem of one pass as a constraint program: the timing model's own rules.

A plan is an order in which operators are committed and a device for each. Devices and links serve
in that order (`docs/decisions/0014-exact-optimum.md` says why), so one Boolean a pair of
operators decides who goes first everywhere. Times are picoseconds.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ortools.sat.python import cp_model

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.optimum.instances import Instance
from fanweave.golden.dops.optimum.symmetry import RoleChange

__all__ = ["PlacementModel", "may_spill", "memory_can_bind"]


@dataclass(frozen=True)
class _Use:
    """Use of a device or link by an operator, if `here` is true.

    `turn` tells uses of one operator apart: they follow one another in its order.
    """

    operator: int
    turn: int
    here: Any
    start: Any
    end: Any
    length: Any


@dataclass
class _Resources:
    """Uses of each device and each directed link."""

    devices: dict[int, list[_Use]] = field(default_factory=dict)
    links: dict[tuple[int, int], list[_Use]] = field(default_factory=dict)

    def queues(self) -> Iterator[list[_Use]]:
        yield from self.devices.values()
        yield from self.links.values()


class PlacementModel:
    """Variables and constraints of an instance.

    Parameters
    ----------
    instance : Instance
    horizon : int
        No operator ends later, picoseconds: the end of a plan that is known.
    memory : bool
        Whether memory must hold everything to the end. Without, plans may drop weights for
        nothing, so the least end is a bound of all plans that spill nothing.
    changes : sequence of RoleChange
        Changes of roles, of which one order is kept; all orders if there are none.

    Attributes
    ----------
    model : cp_model.CpModel
    position : list of variables
        Place of each operator in the order of commitment.
    on : list of dict of int to variable
        Whether an operator runs on a device.
    start, end : list of variables
    makespan : variable
    """

    def __init__(
        self,
        instance: Instance,
        horizon: int,
        *,
        memory: bool = True,
        changes: Sequence[RoleChange] = (),
    ) -> None:
        self.instance, self.horizon = instance, horizon
        self.model = cp_model.CpModel()
        self._flat, self._costs = instance.flat, instance.costs
        self._graph = instance.flat.graph
        self._kinds = self._flat.class_of.tolist()
        self._weights = self._flat.weight_of.tolist()
        self._resident = set(instance.resident)
        self._host = instance.platform.host
        if (self._flat.store != self._host).any():
            raise ValueError("the exact model knows weights at the host alone")
        self._uses = _Resources()
        self._rings: dict[int, list[tuple[tuple[int, ...], Any, int]]] = {}
        count = len(self._graph.operators)
        self._ancestors = _ancestors(self._graph.order, self._graph.predecessors)
        descendants = [sum(o in a for a in self._ancestors) for o in range(count)]
        self.position = [
            self.model.new_int_var(len(self._ancestors[o]), count - 1 - descendants[o], f"pos{o}")
            for o in range(count)
        ]
        self._before: dict[tuple[int, int], Any] = {}
        self.on = self._places(instance.devices)
        self._forbidden: set[tuple[int, int]] = set()
        self._alone = self._unshared()
        least, heads, tails = self._ways()
        self._around = heads, tails
        self.start = [self._time(f"start{o}", heads[o], tails[o] + least[o]) for o in range(count)]
        self.end = [self._time(f"end{o}", heads[o] + least[o], tails[o]) for o in range(count)]
        self.makespan = self._time("makespan")
        for operator in self._graph.order:
            if self._flat.collective[operator]:
                self._collective(operator)
            else:
                self._operator(operator)
        self._order()
        for change in changes:
            self.model.add(self.position[change.first] < self.position[change.second])
        for queue in self._uses.queues():
            self._serve(queue)
        if memory and memory_can_bind(instance):
            self._memory()
        for end in self.end:
            self.model.add(self.makespan >= end)
        self._balance()
        self.model.minimize(self.makespan)

    # Variables

    def _time(self, name: str, least: int = 0, after: int = 0) -> Any:
        """A time from `least` on, with so much of the horizon left behind it."""
        return self.model.new_int_var(least, max(least, self.horizon - after), name)

    def _length(self, operator: int) -> Any:
        length = self._time(f"length{operator}")
        self.model.add(length == self.end[operator] - self.start[operator])
        return length

    def _places(self, devices: Sequence[Sequence[int]]) -> list[dict[int, Any]]:
        places: list[dict[int, Any]] = []
        for operator, allowed in enumerate(devices):
            if self._flat.collective[operator]:
                places.append({})
                continue
            on = {d: self.model.new_bool_var(f"on{operator}_{d}") for d in allowed}
            self.model.add_exactly_one(on.values())
            places.append(on)
        return places

    def _both(self, first: Any, second: Any, name: str) -> Any:
        both = self.model.new_bool_var(name)
        self.model.add_bool_and([first, second]).only_enforce_if(both)
        self.model.add_bool_or([first.Not(), second.Not(), both])
        return both

    def _forbid(self, operator: int, device: int) -> None:
        self._forbidden.add((operator, device))
        self.model.add(self.on[operator][device] == 0)

    # Operators

    def _operator(self, operator: int) -> None:
        """Inputs arrive, keys or values are read, weights are loaded, the operator runs."""
        model, costs, kind = self.model, self._costs, self._kinds[operator]
        ready = self._time(f"ready{operator}")
        for turn, producer in enumerate(self._graph.predecessors[operator]):
            arrival = (
                self._from_collective(producer, operator, turn)
                if self._flat.collective[producer]
                else self._from_operator(producer, operator, turn)
            )
            model.add(ready >= arrival)
        if self._flat.reader[operator] and costs.kv_bytes[kind]:
            ready = self._history(operator, ready)
        start, loaded, end = self.start[operator], self._time(f"load{operator}"), self.end[operator]
        length = self._length(operator)
        heads, tails = self._around
        model.add(start >= ready)
        model.add(loaded >= start)
        times = {}
        for device, here in self.on[operator].items():
            times[device] = time = self._duration(operator, device)
            if self._cold(operator, device) and device not in self._alone:
                link = int(costs.link[0, kind, device])
                use = _Use(operator, 100, here, loaded, loaded + link, link)
                self._uses.links.setdefault((self._host, device), []).append(use)
            else:
                model.add(loaded == start).only_enforce_if(here)
            if heads[operator] + times[device] + tails[operator] > self.horizon:
                self._forbid(operator, device)
                times[device] = 0
            use = _Use(operator, 100, here, start, end, length)
            if device in self._alone or not self._cold(operator, device):
                # Nothing keeps it waiting for its weights.
                use = _Use(operator, 100, here, start, start + time, time)
            self._uses.devices.setdefault(device, []).append(use)
        model.add(end == loaded + sum(here * times[d] for d, here in self.on[operator].items()))

    def _unshared(self) -> set[int]:
        """Devices whose link from the host brings nothing but weights, each while it is waited for.

        There a load never waits for the link, so the time of an operator does not vary.
        """
        shared: set[Any] = set()
        for operator, on in enumerate(self.on):
            kind = self._kinds[operator]
            producers = self._graph.predecessors[operator]
            history = self._flat.reader[operator] and self._costs.kv_bytes[kind]
            if (history and int(self._flat.home[operator]) == self._host) or any(
                self._flat.collective[p] or self._host in self.on[p] for p in producers
            ):
                shared.update(on)
            for device in on:
                link = int(self._costs.link[0, kind, device])
                if self._cold(operator, device) and self._duration(operator, device) < link:
                    shared.add(device)
        return {d for on in self.on for d in on} - shared

    def _cold(self, operator: int, device: int) -> bool:
        weight = self._weights[operator]
        return weight >= 0 and (weight, device) not in self._resident

    def _duration(self, operator: int, device: int) -> int:
        """Time of an operator from the moment its weights are sent, or its start."""
        table = self._costs.cold if self._cold(operator, device) else self._costs.compute
        return int(table[0, self._kinds[operator], device])

    def _from_operator(self, producer: int, operator: int, turn: int) -> Any:
        """When an output is there: at once on its device, by the link elsewhere."""
        model, kind = self.model, self._kinds[producer]
        sent, arrival = (
            self._time(f"sent{producer}_{operator}"),
            self._time(f"at{producer}_{operator}"),
        )
        read_time, link_time = [], []
        by_source: dict[int, list[Any]] = {}
        by_target: dict[int, list[Any]] = {}
        for (source, left), (target, right) in itertools.product(
            self.on[producer].items(), self.on[operator].items()
        ):
            name = f"edge{producer}_{operator}_{source}_{target}"
            pair = self._both(left, right, name)
            by_source.setdefault(source, []).append(pair)
            by_target.setdefault(target, []).append(pair)
            if source == target:
                continue
            time = int(self._costs.move[kind, source, target])
            if not 0 < time < FOREVER:
                raise ValueError(f"no direct way from device {source} to {target}")
            read_time.append(pair * int(self._costs.read[kind, source]))
            link_time.append(pair * time)
            use = _Use(operator, turn, pair, sent, arrival, time)
            self._uses.links.setdefault((source, target), []).append(use)
        for source, pairs in by_source.items():
            model.add(sum(pairs) == self.on[producer][source])
        for target, pairs in by_target.items():
            model.add(sum(pairs) == self.on[operator][target])
        model.add(sent >= self.end[producer] + sum(read_time))
        model.add(arrival == sent + sum(link_time))
        return arrival

    def _history(self, operator: int, ready: Any) -> Any:
        """When stored keys or values are on the operator's device."""
        model, costs, kind = self.model, self._costs, self._kinds[operator]
        home = int(self._flat.home[operator])
        here = self.on[operator].get(home)
        local = here is not None and bool(self.instance.local_history[home])
        begin, read = self._time(f"read{operator}"), self._time(f"was_read{operator}")
        sent, arrival = self._time(f"history{operator}"), self._time(f"has_history{operator}")
        model.add(begin >= ready)
        model.add(sent >= read)
        if home == self._host:
            model.add(read == begin)
        else:
            used = here.Not() if here is not None and local else model.new_constant(1)
            model.add(read == begin + int(costs.kv_read[kind, home]) * used)
            use = _Use(operator, 50, used, begin, read, int(costs.kv_read[kind, home]))
            self._uses.devices.setdefault(home, []).append(use)
        times = []
        for device, there in self.on[operator].items():
            if device == home:
                continue
            time = int(costs.kv_move[kind, home, device])
            times.append(there * time)
            use = _Use(operator, 50, there, sent, arrival, time)
            self._uses.links.setdefault((home, device), []).append(use)
        model.add(arrival == sent + sum(times))
        return arrival

    # Collectives

    def _collective(self, operator: int) -> None:
        """A ring between the devices of the pieces, all of which wait."""
        model, producers = self.model, self._graph.predecessors[operator]
        devices = sorted({d for p in producers for d in self.on[p]})
        length = self._length(operator)
        joins = {d: model.new_bool_var(f"joins{operator}_{d}") for d in devices}
        self.on[operator] = joins
        for device, joined in joins.items():
            pieces = [self.on[p][device] for p in producers if device in self.on[p]]
            model.add_max_equality(joined, pieces)
            use = _Use(operator, 100, joined, self.start[operator], self.end[operator], length)
            self._uses.devices.setdefault(device, []).append(use)
        for producer in producers:
            model.add(self.start[operator] >= self.end[producer])
        rings: list[tuple[tuple[int, ...], Any, int]] = []
        for count in range(1, min(len(devices), len(producers)) + 1):
            for ring in itertools.combinations(devices, count):
                chosen = model.new_bool_var(f"ring{operator}_{ring}")
                rings.append((ring, chosen, self._ring_time(operator, ring)))
        model.add_exactly_one(chosen for _, chosen, _ in rings)
        for device, joined in joins.items():
            model.add(joined == sum(chosen for ring, chosen, _ in rings if device in ring))
        total = sum(chosen * time for _, chosen, time in rings)
        model.add(self.end[operator] == self.start[operator] + total)
        self._rings[operator] = rings

    def _ring_time(self, operator: int, ring: tuple[int, ...]) -> int:
        if len(ring) == 1:
            return 0
        hops = self._costs.ring[self._kinds[operator], len(ring)]
        pairs = zip(ring, (*ring[1:], ring[0]), strict=True)
        return 2 * (len(ring) - 1) * max(int(hops[a, b]) for a, b in pairs)

    def _from_collective(self, producer: int, operator: int, turn: int) -> Any:
        """A device outside the ring gets the sum from its first device, through the host."""
        model, kind, costs = self.model, self._kinds[producer], self._costs
        if len(self._graph.successors[producer]) != 1:
            raise ValueError("a collective with several consumers stores its result only once")
        stored, at_host = self._time(f"store{producer}"), self._time(f"stored{producer}")
        sent, arrival = self._time(f"sent{producer}"), self._time(f"at{producer}")
        reads, stores = [], []
        outside = {
            device: self._both(
                here, self._joined(producer, device).Not(), f"out{producer}_{device}"
            )
            for device, here in self.on[operator].items()
        }
        for ring, chosen, _ in self._rings[producer]:
            source = ring[0]
            away = [out for device, out in outside.items() if device not in ring]
            if not away:
                continue
            far = model.new_bool_var(f"far{producer}_{ring}")
            some = model.new_bool_var(f"some{producer}_{ring}")
            model.add_max_equality(some, away)
            model.add_bool_and([chosen, some]).only_enforce_if(far)
            model.add_bool_or([chosen.Not(), some.Not(), far])
            reads.append(far * int(costs.read[kind, source]))
            time = int(costs.move[kind, source, self._host])
            stores.append(far * time)
            use = _Use(operator, turn, far, stored, at_host, time)
            self._uses.links.setdefault((source, self._host), []).append(use)
        reloads = []
        for device, out in outside.items():
            time = int(costs.move[kind, self._host, device])
            reloads.append(out * time)
            use = _Use(operator, turn, out, sent, arrival, time)
            self._uses.links.setdefault((self._host, device), []).append(use)
        model.add(stored >= self.end[producer] + sum(reads))
        model.add(at_host == stored + sum(stores))
        model.add(sent >= at_host)
        model.add(arrival == sent + sum(reloads))
        return arrival

    def _joined(self, collective: int, device: int) -> Any:
        return self.on[collective].get(device, self.model.new_constant(0))

    # Order

    def _order(self) -> None:
        """One Boolean for each pair of operators that nothing orders already."""
        count = len(self.position)
        for first, second in itertools.combinations(range(count), 2):
            if first in self._ancestors[second] or second in self._ancestors[first]:
                continue
            before = self.model.new_bool_var(f"before{first}_{second}")
            self._before[first, second] = before
            a, b = self.position[first], self.position[second]
            self.model.add(a + 1 <= b).only_enforce_if(before)
            self.model.add(b + 1 <= a).only_enforce_if(before.Not())
        for consumer, producers in enumerate(self._graph.predecessors):
            for producer in producers:
                self.model.add(self.position[producer] + 1 <= self.position[consumer])
        self._transitive()

    def _goes_before(self, first: int, second: int) -> Any:
        """Literal, or True or False where the graph says so."""
        if first in self._ancestors[second]:
            return True
        if second in self._ancestors[first]:
            return False
        if first < second:
            return self._before[first, second]
        return self._before[second, first].Not()

    def _transitive(self) -> None:
        """No cycles of three: implied by the places, and stronger than these."""
        count = len(self.position)
        for a, b, c in itertools.combinations(range(count), 3):
            for cycle in ((a, b, c), (a, c, b)):
                pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
                literals = [self._goes_before(x, y) for x, y in pairs]
                if any(literal is False for literal in literals):
                    continue
                self.model.add_bool_or([x.Not() for x in literals if x is not True])

    def _serve(self, queue: list[_Use]) -> None:
        """Uses follow one another in the order of commitment."""
        model = self.model
        for index, use in enumerate(queue):
            for other in queue[index + 1 :]:
                first, second = use, other
                if first.operator == second.operator:
                    if first.turn > second.turn:
                        first, second = second, first
                    if first.turn != second.turn:
                        model.add(first.end <= second.start).only_enforce_if(
                            [first.here, second.here]
                        )
                    continue
                key = (first.operator, second.operator)
                if first.operator > second.operator:
                    first, second, key = second, first, key[::-1]
                both = [first.here, second.here]
                if first.operator in self._ancestors[second.operator]:
                    model.add(first.end <= second.start).only_enforce_if(both)
                elif second.operator in self._ancestors[first.operator]:
                    model.add(second.end <= first.start).only_enforce_if(both)
                else:
                    before = self._before[key]
                    model.add(first.end <= second.start).only_enforce_if([*both, before])
                    model.add(second.end <= first.start).only_enforce_if([*both, before.Not()])
        intervals = [
            model.new_optional_interval_var(
                use.start, use.length, use.end, use.here, f"use{use.operator}_{use.turn}"
            )
            for use in queue
        ]
        model.add_no_overlap(intervals)

    # Bounds: implied, and the solver proves more with them

    def _ways(self) -> tuple[list[int], list[int], list[int]]:
        """Each operator's least time, and that before its start and after its end."""
        least = [
            min((self._duration(o, d) for d in on), default=0)
            if not self._flat.collective[o]
            else 0
            for o, on in enumerate(self.on)
        ]
        heads, tails = [0] * len(least), [0] * len(least)
        for operator in self._graph.order:
            for producer in self._graph.predecessors[operator]:
                heads[operator] = max(heads[operator], heads[producer] + least[producer])
        for operator in reversed(self._graph.order):
            for consumer in self._graph.successors[operator]:
                tails[operator] = max(tails[operator], tails[consumer] + least[consumer])
        return least, heads, tails

    def _balance(self) -> None:
        """All work of a device or link fits between the least way before and after it."""
        heads, tails = self._around
        for device, queue in self._uses.devices.items():
            around = min(heads[use.operator] for use in queue)
            around += min(tails[use.operator] for use in queue)
            every = range(len(self.on))
            self.model.add(self.makespan >= around + sum(self._work(device, every)))
            self._balance_between(device)
        for (source, device), queue in self._uses.links.items():
            loads = [use for use in queue if source == self._host and use.turn == 100]
            if not loads:
                continue
            head = min(heads[use.operator] for use in loads)
            # After its weights have come an operator may still be busy with them.
            tail = min(
                tails[o] + max(0, self._duration(o, device) - use.length)
                for use, o in ((use, use.operator) for use in loads)
            )
            sent = sum(use.here * use.length for use in loads)
            some = self.model.new_bool_var(f"loads{device}")
            self.model.add_max_equality(some, [use.here for use in loads])
            self.model.add(self.makespan >= sent + (head + tail) * some)

    def _balance_between(self, device: int) -> None:
        """The same for what lies behind an operator, before one, and between two."""
        model, graph = self.model, self._graph
        heads, tails = self._around
        behind: list[set[int]] = [set() for _ in self.on]
        for operator, before in enumerate(self._ancestors):
            for ancestor in before:
                behind[ancestor].add(operator)
        forks = [o for o, after in enumerate(graph.successors) if len(after) > 1]
        joins = [o for o, before in enumerate(graph.predecessors) if len(before) > 1]
        for fork in forks:
            work = self._work(device, behind[fork])
            tail = min(tails[o] for o in behind[fork])
            model.add(self.makespan >= self.end[fork] + sum(work) + tail)
            for join in joins:
                between = behind[fork] & self._ancestors[join]
                if len(between) > 1:
                    work = self._work(device, between)
                    model.add(self.start[join] >= self.end[fork] + sum(work))
        for join in joins:
            work = self._work(device, self._ancestors[join])
            head = min(heads[o] for o in self._ancestors[join])
            model.add(self.start[join] >= head + sum(work))

    def _work(self, device: int, operators: Iterable[int]) -> list[Any]:
        """Least times for which operators keep a device busy."""
        chosen = set(operators)
        work: list[Any] = []
        for operator in sorted(chosen):
            on = self.on[operator]
            if device not in on or (operator, device) in self._forbidden:
                continue
            if self._flat.collective[operator]:
                rings = self._rings[operator]
                work += [here * time for ring, here, time in rings if device in ring]
            else:
                work.append(on[device] * self._duration(operator, device))
        reads = (use for use in self._uses.devices[device] if use.turn == 50)
        return work + [use.here * use.length for use in reads if use.operator in chosen]

    # Memory

    def _memory(self) -> None:
        """At every place of the order, what a device keeps fits: nothing is dropped or spilled."""
        model, count = self.model, len(self.position)
        for device, limit in enumerate(self.instance.limits):
            sizes = self._costs.weight[self._graph.weight_class].tolist()
            there = sum(sizes[w] for w, d in self.instance.resident if d == device)
            room = limit - self.instance.reserved[device] - there
            intervals, demands = [], []
            for operator, on in enumerate(self.on):
                if device not in on or self._flat.collective[operator]:
                    continue
                here, kind = on[device], self._kinds[operator]
                begin = self.position[operator]
                if self._cold(operator, device):
                    name = f"keeps{operator}_{device}"
                    intervals.append(self._span(begin, model.new_constant(count), here, name))
                    demands.append(int(self._costs.weight[kind]))
                if not self._flat.writer[operator]:
                    last = model.new_int_var(0, count, f"last{operator}_{device}")
                    consumers = [self.position[c] + 1 for c in self._graph.successors[operator]]
                    model.add_max_equality(last, consumers or [count])
                    intervals.append(self._span(begin, last, here, f"holds{operator}_{device}"))
                    demands.append(int(self._costs.held[kind]))
            model.add_cumulative(intervals, demands, max(0, room))

    def _span(self, begin: Any, end: Any, here: Any, name: str) -> Any:
        """Places of the order from `begin` to `end`, if `here`."""
        length = self.model.new_int_var(0, len(self.position), f"{name}_length")
        return self.model.new_optional_interval_var(begin, length, end, here, name)


def _ancestors(order: Sequence[int], predecessors: Sequence[Sequence[int]]) -> list[set[int]]:
    ancestors: list[set[int]] = [set() for _ in order]
    for operator in order:
        for producer in predecessors[operator]:
            ancestors[operator] |= ancestors[producer] | {producer}
    return ancestors


def memory_can_bind(instance: Instance) -> bool:
    """Whether some plan would have to drop weights or spill activations."""
    sizes = instance.costs.weight[instance.flat.graph.weight_class]
    return _short(instance, int(sizes.sum()))


def may_spill(instance: Instance) -> bool:
    """Whether some plan could have to spill an output: weights make room, outputs do not."""
    return _short(instance, 0)


def _short(instance: Instance, weights: int) -> bool:
    """Whether a device may lack room for all outputs and so many bytes of weights."""
    flat, costs = instance.flat, instance.costs
    held = int(costs.held[flat.class_of[~flat.collective & ~flat.writer]].sum())
    return any(
        instance.reserved[device] + held + weights > instance.limits[device]
        for device in {d for allowed in instance.devices for d in allowed}
    )
