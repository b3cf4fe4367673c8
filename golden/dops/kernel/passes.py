"""Compiled counterparts of the schedulers."""

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.kernel.common import by_position, draw, may_run
from fanweave.golden.dops.kernel.compile import compiled, counted_by_callers
from fanweave.golden.dops.kernel.machine import commit, probe

__all__ = ["bifocal", "first_come", "list_schedule", "replay", "upward_ranks"]

_TIE = 1000
#: Longest lookahead chain.
_LONGEST = 6


@counted_by_callers
def replay(shape, costs, machine, weight_class, order, devices):
    """Commit operators in an order to their devices; return how many could run."""
    for index in range(len(order)):
        operator = order[index]
        if commit(shape, costs, machine, weight_class, operator, devices[operator]) >= FOREVER:
            return index
    return len(order)


@counted_by_callers
def _unlock(shape, waiting, operator, ready, begin, count):
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
def _start(shape, ready):
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
    waiting, count = _start(shape, ready)
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
        count = _unlock(shape, waiting, operator, ready, count, count)
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
    waiting, ready = _start(shape, heap)
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


@counted_by_callers
def _chain(shape, costs, ranks, operator, horizon, chain, edges):
    """Fill an operator and its consumers along the heaviest edges; return how many."""
    chain[0] = operator
    count = 1
    while count < horizon:
        best = -1
        for index in range(
            shape.succ_start[chain[count - 1]], shape.succ_start[chain[count - 1] + 1]
        ):
            if best < 0:
                best = index
                continue
            a, b = costs.edge_bytes[shape.succ_edge[index]], costs.edge_bytes[shape.succ_edge[best]]
            if a > b or (a == b and ranks[shape.succ[index]] > ranks[shape.succ[best]]):
                best = index
        if best < 0:
            break
        chain[count] = shape.succ[best]
        edges[count] = shape.succ_edge[best]
        count += 1
    return count


@compiled
def _link_end(
    shape, costs, machine, chain, edges, devices, ends, frees, prices, index, hint, consistency
):
    """Fill the end of one operator of a chain, and the price of leaving remembered devices."""
    operator, device = chain[index], devices[index]
    begin = machine.available[device]
    kind, weight = shape.class_of[operator], shape.weight_of[operator]
    warm = weight < 0 or machine.present[device, weight]
    for other in range(index):
        if devices[other] == device:
            begin = frees[other]
            warm = warm or shape.weight_of[chain[other]] == weight
    ready = ends[index - 1] + costs.edge_move[edges[index], devices[index - 1], device]
    layout = machine.layouts[weight] if weight >= 0 else 0
    table = costs.compute if warm else costs.cold
    ends[index] = frees[index] = max(begin, ready) + table[layout, kind, device]
    hinted = hint[operator]
    prices[index] = prices[index - 1]
    if hinted >= 0 and hinted != device:
        prices[index] += consistency * costs.hint_move[kind, hinted, device] // 1000


@compiled
def _options(shape, device_start, device_list, nearest, chain, count, good):
    """Fill which types each operator of a chain may run on; whether all have one."""
    for index in range(1, count):
        operator, some = chain[index], False
        for kind in range(len(nearest)):
            good[index, kind] = may_run(device_start, device_list, operator, nearest[kind])
            some = some or good[index, kind]
        if shape.collective[operator] or not some:
            return False
    return count > 1


@compiled
def _look_ahead(
    shape,
    costs,
    machine,
    nearest,
    good,
    chain,
    edges,
    count,
    device,
    finish,
    hint,
    consistency,
    scratch,
    best_devices,
):
    """Least end of a chain of two operators or more; fills the devices of the others.

    The last operator's type changes fastest; what comes before a change is not asked again.
    """
    types, last = len(nearest), count - 1
    devices, ends, frees, prices, kinds = scratch
    devices[0], ends[0], prices[0] = device, finish, 0
    frees[0] = max(machine.available[device], finish)
    best, index = FOREVER, 1
    kinds[1] = -1
    while index > 0:
        kinds[index] += 1
        if kinds[index] == types:
            index -= 1
            continue
        if not good[index, kinds[index]]:
            continue
        devices[index] = nearest[kinds[index]]
        _link_end(
            shape,
            costs,
            machine,
            chain,
            edges,
            devices,
            ends,
            frees,
            prices,
            index,
            hint,
            consistency,
        )
        if index < last:
            index += 1
            kinds[index] = -1
        elif ends[last] + prices[last] < best:
            best = ends[last] + prices[last]
            best_devices[:count] = devices[:count]
    return best


@counted_by_callers
def _biases(
    shape,
    costs,
    machine,
    operator,
    device,
    prefill,
    coming,
    last_type,
    type_of,
    can_hold,
    parameters,
    amortised,
):
    weight = shape.weight_of[operator]
    if weight < 0:
        return 0
    consistency, reuse, amortise = parameters[2], parameters[4], parameters[5]
    kind, layout = shape.class_of[operator], machine.layouts[weight]
    missing = not machine.present[device, weight]
    warm, cold = costs.compute[layout, kind, device], costs.cold[layout, kind, device]
    bias = 0
    if missing:
        if last_type[weight] >= 0 and last_type[weight] != type_of[device]:
            bias += consistency * cold
        if prefill and can_hold[device]:
            bias -= reuse * cold
    if not prefill and amortise:
        known = amortised[operator, device]
        if known == FOREVER:
            known = 0
            if missing:
                uses = max(parameters[6] * 1000, max(coming * parameters[7], 1000))
                extra = max(0, cold - warm)
                known = min(0, amortise * (warm + extra * 1000 // uses - cold))
            amortised[operator, device] = known
        bias += known
    return bias


@compiled
def _note_changes(shape, machine, operator, messages, changed):
    """Count on for every device on which a finish may differ after a commit."""
    everywhere = shape.collective[operator]
    for row in range(messages, machine.counts[0]):
        # What is at the host by now may come from there to any device.
        everywhere = everywhere or machine.messages[row, 3] == shape.host
    if everywhere:
        changed += 1
        return
    changed[machine.place[operator]] += 1
    if shape.home[operator] >= 0:
        changed[shape.home[operator]] += 1
    for index in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
        # Its memory may have room again.
        changed[machine.place[shape.pred[index]]] += 1


@compiled
def bifocal(
    shape,
    costs,
    machine,
    weight_class,
    device_start,
    device_list,
    order,
    ranks,
    parameters,
    prefill,
    coming,
    type_of,
    type_devices,
    can_hold,
    executors,
    hint,
    hint_order,
    hint_count,
    last_type,
    coins,
):
    """Commit the operator of the least score until all are placed; return how many were.

    `parameters`: horizon, gamma, consistency, hints, reuse, amortise, least_reuse,
    reuse_probability. `type_devices` holds the devices of each type, -1 where there is none.
    """
    operators, devices = len(shape.class_of), len(machine.available)
    horizon, gamma, consistency = parameters[0], parameters[1], parameters[2]
    looks = horizon > 1 and gamma > 0
    ready = np.empty(operators, np.int64)
    waiting, count = _start(shape, ready)
    amortised = np.full((operators, devices), FOREVER, np.int64)
    # Ranks and payloads stay in a pass, so chains do.
    chains, all_edges = (
        np.empty((operators, _LONGEST), np.int64),
        np.empty((operators, _LONGEST), np.int64),
    )
    lengths = np.zeros(operators, np.int64)
    good = np.zeros((_LONGEST, len(type_devices)), np.bool_)
    scratch = np.empty((5, _LONGEST), np.int64)
    found, kept, picked = (
        np.empty(_LONGEST, np.int64),
        np.empty(_LONGEST, np.int64),
        np.empty(_LONGEST, np.int64),
    )
    picked_chain = np.empty(_LONGEST, np.int64)
    nearest = np.empty(len(type_devices), np.int64)
    # A finish is asked for again only after something has changed on its device.
    known = np.empty((operators, devices), np.int64)
    seen = np.full((operators, devices), -1, np.int64)
    changed = np.zeros(devices, np.int64)
    placed = 0
    while count:
        for kind in range(len(type_devices)):
            best = type_devices[kind, 0]
            for device in type_devices[kind]:
                if device >= 0 and machine.available[device] < machine.available[best]:
                    best = device
            nearest[kind] = best
        by_rank = not looks or executors < 2
        chosen = 0
        if by_rank:
            for index in range(1, count):
                a, b = ready[index], ready[chosen]
                if ranks[a] > ranks[b] or (
                    ranks[a] == ranks[b] and shape.position[a] < shape.position[b]
                ):
                    chosen = index
        least_score, least_finish, pick, pick_device, picked_count = FOREVER, FOREVER, -1, -1, 0
        for index in range(count):
            if by_rank and index != chosen:
                continue
            operator = ready[index]
            chain, edges = chains[operator], all_edges[operator]
            if lengths[operator] == 0:
                lengths[operator] = _chain(
                    shape, costs, ranks, operator, horizon if looks else 1, chain, edges
                )
            length = lengths[operator]
            ahead_of = _options(shape, device_start, device_list, nearest, chain, length, good)
            # Scores count thousandths; FOREVER is more than any of them.
            score, finish, device = FOREVER, FOREVER, -1
            for place in range(device_start[operator], device_start[operator + 1]):
                candidate = device_list[place]
                stamp = changed[candidate]
                if shape.reader[operator]:
                    # It waits for its keys and values to be read where they live.
                    stamp += changed[shape.home[operator]]
                end = known[operator, candidate]
                if seen[operator, candidate] != stamp:
                    end = probe(shape, costs, machine, weight_class, operator, candidate)
                    known[operator, candidate] = end
                    seen[operator, candidate] = stamp
                if end >= FOREVER:
                    continue
                found[:] = -1
                ahead = end
                if ahead_of:
                    ahead = _look_ahead(
                        shape,
                        costs,
                        machine,
                        nearest,
                        good,
                        chain,
                        edges,
                        length,
                        candidate,
                        end,
                        hint,
                        consistency,
                        scratch,
                        found,
                    )
                value = (1000 - gamma) * end + gamma * ahead
                value += _biases(
                    shape,
                    costs,
                    machine,
                    operator,
                    candidate,
                    prefill,
                    coming,
                    last_type,
                    type_of,
                    can_hold,
                    parameters,
                    amortised,
                )
                near = abs(value - score) < _TIE * 1000
                if value < score or (
                    near and (end < finish or (abs(end - finish) < _TIE and draw(coins, 2) == 1))
                ):
                    score, finish, device = value, end, candidate
                    kept[:] = found
            if device < 0:
                continue
            better = score < least_score
            if score == least_score:
                better = finish < least_finish
                if finish == least_finish:
                    a, b = operator, ready[pick]
                    better = ranks[a] > ranks[b] or (
                        ranks[a] == ranks[b] and shape.position[a] < shape.position[b]
                    )
            if pick < 0 or better:
                least_score, least_finish, pick, pick_device = score, finish, index, device
                picked[:] = kept
                picked_chain[:length] = chain[:length]
                picked_count = length
        if pick < 0:
            return placed
        operator = ready[pick]
        for index in range(pick, count - 1):
            ready[index] = ready[index + 1]
        count -= 1
        messages = machine.counts[0]
        commit(shape, costs, machine, weight_class, operator, pick_device)
        _note_changes(shape, machine, operator, messages, changed)
        order[placed] = operator
        placed += 1
        _remember(
            shape,
            machine,
            operator,
            pick_device,
            picked_chain,
            picked,
            picked_count,
            type_of,
            last_type,
            hint,
            hint_order,
            hint_count,
            parameters[3],
        )
        count = _unlock(shape, waiting, operator, ready, 0, count)
    return placed


@counted_by_callers
def _forget(hint, hint_order, hint_count, at):
    hint[hint_order[at]] = -1
    for index in range(at, hint_count[0] - 1):
        hint_order[index] = hint_order[index + 1]
    hint_count[0] -= 1


@counted_by_callers
def _remember(
    shape,
    machine,
    operator,
    device,
    chain,
    devices,
    count,
    type_of,
    last_type,
    hint,
    hint_order,
    hint_count,
    most,
):
    """Note the type of device of the weight, and the devices of the coming operators."""
    weight = shape.weight_of[operator]
    if weight >= 0:
        last_type[weight] = type_of[device]
    if most == 0:
        return
    index = 0
    while index < hint_count[0]:
        if machine.place[hint_order[index]] >= 0:
            _forget(hint, hint_order, hint_count, index)
        else:
            index += 1
    for step in range(1, count):
        coming = chain[step]
        if devices[step] < 0 or machine.place[coming] >= 0:
            continue
        for index in range(hint_count[0]):
            if hint_order[index] == coming:
                _forget(hint, hint_order, hint_count, index)
                break
        hint[coming] = devices[step]
        hint_order[hint_count[0]] = coming
        hint_count[0] += 1
    while hint_count[0] > most:
        _forget(hint, hint_order, hint_count, 0)
