"""Compiled counterparts of the list schedulers, and of repeating a plan."""

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.kernel.common import by_position
from fanweave.golden.dops.kernel.compile import compiled, counted_by_callers
from fanweave.golden.dops.kernel.machine import commit, probe

__all__ = ["first_come", "list_schedule", "replay", "start", "unlock", "upward_ranks"]


@counted_by_callers
def replay(shape, costs, machine, weight_class, order, devices):
    """Commit operators in an order to their devices; return how many could run."""
    for index in range(len(order)):
        operator = order[index]
        if commit(shape, costs, machine, weight_class, operator, devices[operator]) >= FOREVER:
            return index
    return len(order)


@counted_by_callers
def unlock(shape, waiting, operator, ready, begin, count):
    """Put the consumers that have become ready in their topological places from `begin` on."""
    for index in range(shape.succ_start[operator], shape.succ_start[operator + 1]):
        consumer = shape.succ[index]
        waiting[consumer] -= 1
        if waiting[consumer] == 0:
            place = count
            while place > begin and shape.position[ready[place - 1]] > shape.position[consumer]:
                ready[place] = ready[place - 1]
                place -= 1
            ready[place] = consumer
            count += 1
    return count


@compiled
def start(shape, ready):
    """Fill the operators that wait for nothing in topological order; return counters."""
    operators = len(shape.class_of)
    waiting = np.empty(operators, np.int64)
    for operator in range(operators):
        waiting[operator] = shape.pred_start[operator + 1] - shape.pred_start[operator]
    count = 0
    for first in by_position(shape):
        if waiting[first] == 0:
            ready[count] = first
            count += 1
    return waiting, count


@compiled
def first_come(shape, costs, machine, weight_class, device_start, device_list, order):
    """Least busy device for each operator as it becomes ready."""
    ready = order
    waiting, count = start(shape, ready)
    head = 0
    while head < count:
        operator = ready[head]
        head += 1
        best = device_list[device_start[operator]]
        for index in range(device_start[operator] + 1, device_start[operator + 1]):
            if machine.available[device_list[index]] < machine.available[best]:
                best = device_list[index]
        if commit(shape, costs, machine, weight_class, operator, best) >= FOREVER:
            return head - 1
        count = unlock(shape, waiting, operator, ready, count, count)
    return head


@counted_by_callers
def _sooner(shape, priority, a, b):
    return priority[a] > priority[b] or (
        priority[a] == priority[b] and shape.position[a] < shape.position[b]
    )


@counted_by_callers
def _push(shape, priority, heap, count, operator):
    """Add an operator to the heap of those that are ready; return how many there are."""
    place = count
    while place > 0 and _sooner(shape, priority, operator, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = operator
    return count + 1


@counted_by_callers
def _pop(shape, priority, heap, count):
    """Take the first operator off the heap; return how many are left."""
    count -= 1
    operator, place = heap[count], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _sooner(shape, priority, heap[child + 1], heap[child]):
            child += 1
        if not _sooner(shape, priority, heap[child], operator):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = operator
    return count


@compiled
def list_schedule(
    shape, costs, machine, weight_class, device_start, device_list, priority, bonus, order
):
    """Ready operator of the highest priority to the device of the least finish plus bonus."""
    operators = len(shape.class_of)
    heap = np.empty(operators, np.int64)
    waiting, ready = start(shape, heap)
    first = heap[:ready].copy()
    count = 0
    for operator in first:
        count = _push(shape, priority, heap, count, operator)
    placed = 0
    while count:
        operator = heap[0]
        count = _pop(shape, priority, heap, count)
        best, least = -1, FOREVER
        for index in range(device_start[operator], device_start[operator + 1]):
            device = device_list[index]
            finish = probe(shape, costs, machine, weight_class, operator, device)
            if finish < FOREVER and (best < 0 or finish + bonus[operator, device] < least):
                best, least = device, finish + bonus[operator, device]
        if best < 0:
            return placed
        commit(shape, costs, machine, weight_class, operator, best)
        order[placed] = operator
        placed += 1
        for index in range(shape.succ_start[operator], shape.succ_start[operator + 1]):
            consumer = shape.succ[index]
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                count = _push(shape, priority, heap, count, consumer)
    return placed


@compiled
def upward_ranks(shape, costs, machine, device_start, device_list):
    """Longest mean time from the start of each operator to the end of the graph."""
    operators = len(shape.class_of)
    at = by_position(shape)
    ranks = np.zeros(operators, np.int64)
    for place in range(operators - 1, -1, -1):
        operator = at[place]
        kind, weight = shape.class_of[operator], shape.weight_of[operator]
        sources = 0
        if not shape.collective[operator]:
            sources = device_start[operator + 1] - device_start[operator]
        service = 0
        for a in range(device_start[operator], device_start[operator] + sources):
            if weight < 0:
                service += costs.compute[0, kind, device_list[a]]
            else:
                service += costs.cold[machine.layouts[weight], kind, device_list[a]]
        rest = 0
        for index in range(shape.succ_start[operator], shape.succ_start[operator + 1]):
            consumer, edge = shape.succ[index], shape.succ_edge[index]
            targets = 0
            if not shape.collective[consumer]:
                targets = device_start[consumer + 1] - device_start[consumer]
            total = 0
            for a in range(device_start[operator], device_start[operator] + sources):
                for b in range(device_start[consumer], device_start[consumer] + targets):
                    total += costs.edge_send[edge, device_list[a], device_list[b]]
            rest = max(rest, total // max(1, sources * targets) + ranks[consumer])
        ranks[operator] = service // max(1, sources) + rest
    return ranks
