"""The window search of `RollingHorizon`, plain; `golden.dops.kernel.rolling` compiles it."""

from collections.abc import Callable, Sequence

import numpy as np

from fanweave.golden.dops.schedulers.base import Machine, Pass

__all__ = ["SearchState", "plain_sweep"]

_WORST = 1 << 62


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

    def price(self, most: int = _WORST) -> int:
        """Run window and horizon and take it back; the worst price if it is above `most`."""
        machine, latest, total = self.work.timing, 0, 0
        try:
            for operator in self.order[self.begin : self.last]:
                _, finish = machine.commit(operator, self.devices[operator])
                latest = max(latest, finish + self.tails[operator])
                if 64 * latest > most:
                    return _WORST
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
        most = min(price + step * (trials - 1 - trial), _WORST - 1)
        value = window.price(most)
        if value <= most:
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
