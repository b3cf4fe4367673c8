"""Compiled counterpart of the search of `fanweave.golden.dops.schedulers.window_search`."""

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.kernel.common import by_position, draw, may_run
from fanweave.golden.dops.kernel.compile import compiled, counted_by_callers
from fanweave.golden.dops.kernel.machine import commit, rewind_weights

__all__ = ["sweep"]

_WORST = np.int64(1) << np.int64(62)


@counted_by_callers
def _service(shape, costs, machine, there, operator, device):
    """Time of an operator, with loading what was not there when the pass began."""
    if shape.collective[operator]:
        return 0
    kind, weight = shape.class_of[operator], shape.weight_of[operator]
    if weight < 0:
        return costs.compute[0, kind, device]
    if there[device, weight]:
        return costs.compute[machine.layouts[weight], kind, device]
    return costs.cold[machine.layouts[weight], kind, device]


@compiled
def _tails(shape, costs, machine, there, devices):
    """Longest way from the end of each operator to the end of the graph, without contention."""
    operators = len(shape.class_of)
    at = by_position(shape)
    tails = np.zeros(operators, np.int64)
    for place in range(operators - 1, -1, -1):
        operator = at[place]
        kind, source = shape.class_of[operator], devices[operator]
        for index in range(shape.succ_start[operator], shape.succ_start[operator + 1]):
            consumer = shape.succ[index]
            target = devices[consumer]
            way = tails[consumer]
            way += _service(shape, costs, machine, there, consumer, target)
            if source != target and not (shape.collective[operator] or shape.collective[consumer]):
                way += costs.read[kind, source] + costs.move[kind, source, target]
            tails[operator] = max(tails[operator], way)
    return tails


@counted_by_callers
def _evaluate(
    shape, costs, machine, weight_class, order, most, begin, end, devices, tails, rest, saved
):
    """Run a stretch of a plan and take it back; return its price, or the worst if above `most`."""
    small, links, outside = saved
    places = len(machine.available)
    for device in range(places):
        small[0, device] = machine.available[device]
        small[1, device] = machine.activations[device]
        small[2, device] = machine.weights[device]
        small[3, device] = machine.peak[device]
        small[4, device] = machine.begun[device]
        for target in range(places):
            links[device, target] = machine.link_end[device, target]
    messages, reads, rows = machine.counts[0], machine.counts[1], machine.counts[3]
    latest, total = 0, 0
    over = False
    for device in range(places):
        latest = max(latest, machine.available[device] + rest[device])
    for index in range(begin, end):
        operator = order[index]
        finish = commit(shape, costs, machine, weight_class, operator, devices[operator])
        latest = max(latest, finish + tails[operator])
        # The price only rises, so nothing is lost by an early end.
        over = finish >= FOREVER or 64 * latest > most
        if over:
            break
        total += finish
    for device in range(places):
        latest = max(latest, machine.available[device] + rest[device])
    for device in range(places):
        machine.available[device] = small[0, device]
        machine.activations[device] = small[1, device]
        machine.weights[device] = small[2, device]
        machine.peak[device] = small[3, device]
        machine.begun[device] = small[4, device]
        for target in range(places):
            machine.link_end[device, target] = links[device, target]
    machine.counts[0], machine.counts[1] = messages, reads
    rewind_weights(machine, rows)
    for index in range(begin, end):
        operator = order[index]
        machine.start[operator] = 0
        machine.finish[operator] = 0
        machine.place[operator] = -1
        machine.kept[operator] = False
        machine.stored[operator] = -1
        machine.copies[operator] = 0
        machine.waiting[operator] = shape.succ_start[operator + 1] - shape.succ_start[operator]
    for row in range(outside[0, 0]):
        operator = outside[row + 1, 0]
        machine.kept[operator] = outside[row + 1, 1] == 1
        machine.stored[operator] = outside[row + 1, 2]
        machine.waiting[operator] = outside[row + 1, 3]
    if over:
        return _WORST
    return 64 * latest + total // (end - begin)


@counted_by_callers
def _note_outside(shape, machine, order, begin, end, outside):
    """Producers that have run already, with what their consumers change."""
    count = 0
    for index in range(begin, end):
        operator = order[index]
        for edge in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
            producer = shape.pred[edge]
            if machine.place[producer] >= 0 and count + 1 < len(outside):
                count += 1
                outside[count, 0] = producer
                outside[count, 1] = machine.kept[producer]
                outside[count, 2] = machine.stored[producer]
                outside[count, 3] = machine.waiting[producer]
    outside[0, 0] = count


@counted_by_callers
def _feeds(shape, producer, consumer):
    for edge in range(shape.pred_start[consumer], shape.pred_start[consumer + 1]):
        if shape.pred[edge] == producer:
            return True
    return False


@counted_by_callers
def _shift(shape, order, place, target, low, high):
    """Move an operator to another place as far as its neighbours in the graph let it."""
    target = max(low, min(high - 1, target))
    moved = False
    while place < target and not _feeds(shape, order[place], order[place + 1]):
        order[place], order[place + 1] = order[place + 1], order[place]
        place += 1
        moved = True
    while place > target and not _feeds(shape, order[place - 1], order[place]):
        order[place], order[place - 1] = order[place - 1], order[place]
        place -= 1
        moved = True
    return moved


@counted_by_callers
def _other(device_start, device_list, operator, device, state):
    """Another device of an operator at random; the same if it has no other."""
    first = device_start[operator]
    count = device_start[operator + 1] - first
    if count < 2:
        return device
    pick = draw(state, count - 1)
    for index in range(first, first + count):
        if device_list[index] == device:
            continue
        if pick == 0:
            return device_list[index]
        pick -= 1
    return device


@counted_by_callers
def _move(shape, device_start, device_list, order, devices, begin, end, state):
    """Change devices or order of a window at random; whether anything changed."""
    kind = draw(state, 8)
    place = begin + draw(state, end - begin)
    operator = order[place]
    changed = False
    if kind == 5 or kind == 6:
        changed = _shift(shape, order, place, begin + draw(state, end - begin), begin, end)
        if kind == 5:
            return changed
    if shape.collective[operator]:
        return changed
    device = _other(device_start, device_list, operator, devices[operator], state)
    if device == devices[operator] and kind < 5:
        return changed
    changed = changed or device != devices[operator]
    devices[operator] = device
    if kind == 3 or kind == 4:
        count = shape.pred_start[operator + 1] - shape.pred_start[operator]
        total = count + shape.succ_start[operator + 1] - shape.succ_start[operator]
        if total == 0:
            return changed
        pick = draw(state, total)
        if pick < count:
            other = shape.pred[shape.pred_start[operator] + pick]
        else:
            other = shape.succ[shape.succ_start[operator] + pick - count]
        for index in range(begin, end):
            found = order[index] == other and not shape.collective[other]
            if found and may_run(device_start, device_list, other, device):
                devices[other] = device
    if kind == 7:
        last = min(end, place + 2 + draw(state, 5))
        for index in range(place + 1, last):
            other = order[index]
            if shape.collective[other] or devices[other] == device:
                continue
            if may_run(device_start, device_list, other, device):
                devices[other] = device
                changed = True
    return changed


@counted_by_callers
def _keep(kept, order, devices, begin, end):
    """Note order and devices of a window."""
    for index in range(begin, end):
        kept[:, index - begin] = order[index], devices[order[index]]


@counted_by_callers
def _go_back(kept, order, devices, begin, end):
    """Make order and devices of a window what was noted."""
    for index in range(begin, end):
        order[index] = kept[0, index - begin]
        devices[order[index]] = kept[1, index - begin]


@compiled
def _search(
    shape,
    costs,
    machine,
    weight_class,
    device_start,
    device_list,
    order,
    devices,
    bounds,
    tails,
    rest,
    saved,
    twin,
    trials,
    heat,
    state,
    kept,
):
    """Improve one window of a plan by threshold accepting."""
    begin, end, last = bounds
    _note_outside(shape, machine, order, begin, last, saved[2])
    arguments = (begin, last, devices, tails, rest, saved)
    price = _evaluate(shape, costs, machine, weight_class, order, _WORST, *arguments)
    clock = 64 * machine.available.max()
    step = max(0, min(price, _WORST - 1) - clock) // 1000 * heat // trials
    now, best = kept[:2], kept[2:]
    _keep(now, order, devices, begin, end)
    best[:] = now
    least = price
    for trial in range(trials):
        if trial == 0:
            changed = False
            for index in range(begin, end):
                operator = order[index]
                if twin[operator] < 0 or shape.collective[operator]:
                    continue
                device = devices[twin[operator]]
                if device != devices[operator] and may_run(
                    device_start, device_list, operator, device
                ):
                    devices[operator] = device
                    changed = True
        else:
            changed = _move(shape, device_start, device_list, order, devices, begin, end, state)
        if not changed:
            continue
        most = min(price + step * (trials - 1 - trial), _WORST - 1)
        value = _evaluate(shape, costs, machine, weight_class, order, most, *arguments)
        if value <= most:
            price = value
            _keep(now, order, devices, begin, end)
            if value < least:
                least = value
                best[:] = now
        else:
            _go_back(now, order, devices, begin, end)
    _go_back(best, order, devices, begin, end)


@compiled
def _rest_of(shape, costs, machine, there, devices):
    """Work of each device in a whole plan."""
    rest = np.zeros(len(machine.available), np.int64)
    for operator in range(len(devices)):
        device = devices[operator]
        rest[device] += _service(shape, costs, machine, there, operator, device)
    return rest


@compiled
def _scratch(shape, longest, places):
    """What `_evaluate` notes to take a stretch of so many operators back."""
    edges = 1
    for operator in range(len(shape.class_of)):
        edges = max(edges, shape.pred_start[operator + 1] - shape.pred_start[operator])
    return (
        np.empty((5, places), np.int64),
        np.empty((places, places), np.int64),
        np.zeros((longest * edges + 1, 4), np.int64),
    )


@compiled
def sweep(
    shape,
    costs,
    machine,
    weight_class,
    device_start,
    device_list,
    order,
    devices,
    twin,
    settings,
    state,
):
    """Improve a plan window by window and commit it; return how many operators could run.

    `settings`: operators of a window, from one window to the next, looked at behind it, trials
    of a window, first threshold in thousandths.
    """
    width, stride, ahead, trials, heat = settings
    operators = len(order)
    there = machine.present.copy()
    tails = _tails(shape, costs, machine, there, devices)
    rest = _rest_of(shape, costs, machine, there, devices)
    saved = _scratch(shape, width + ahead, len(machine.available))
    kept = np.empty((4, width), np.int64)
    begin, seen = 0, 0
    while begin < operators:
        end = min(operators, begin + width)
        last = min(operators, end + ahead)
        for index in range(seen, last):
            operator = order[index]
            device = devices[operator]
            rest[device] -= _service(shape, costs, machine, there, operator, device)
        seen = last
        if last == operators:
            rest[:] = 0
        _search(
            shape,
            costs,
            machine,
            weight_class,
            device_start,
            device_list,
            order,
            devices,
            (begin, end, last),
            tails,
            rest,
            saved,
            twin,
            trials,
            heat,
            state,
            kept,
        )
        stop = operators if end == operators else begin + stride
        for index in range(begin, stop):
            operator = order[index]
            if commit(shape, costs, machine, weight_class, operator, devices[operator]) >= FOREVER:
                return index
        begin = stop
    return operators
