"""Compiled counterpart of `fanweave.golden.dops.schedulers.bifocal`."""

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.kernel.common import draw
from fanweave.golden.dops.kernel.compile import compiled, counted_by_callers
from fanweave.golden.dops.kernel.lookahead import fill_chain, look_ahead, options
from fanweave.golden.dops.kernel.machine import commit, probe
from fanweave.golden.dops.kernel.passes import start, unlock

__all__ = ["bifocal"]

_TIE = 1000
#: Times are weighed in thousandths, from `Rules.zero` on: a pass has more than a quarter of an
#: hour, and what is later counts as that.
_LATEST = 1 << 50


# Scores


@counted_by_callers
def _copy(source, target):
    for index in range(len(target)):
        target[index] = source[index]


@counted_by_callers
def _biases(shape, costs, machine, rules, hints, amortised, operator, device):
    """Terms of the weight and of the coming tokens, in thousandths."""
    weight = shape.weight_of[operator]
    if weight < 0:
        return 0
    settings = rules.settings
    consistency, reuse, amortise = settings[2], settings[4], settings[5]
    kind, layout = shape.class_of[operator], machine.layouts[weight]
    missing = not machine.present[device, weight]
    warm = min(costs.compute[layout, kind, device], _LATEST)
    cold = min(costs.cold[layout, kind, device], _LATEST)
    bias = 0
    if missing:
        last = hints.last_type[weight]
        if last >= 0 and last != rules.type_of[device]:
            bias += consistency * cold
        if rules.prefill and rules.can_hold[device]:
            bias -= reuse * cold
    if not rules.prefill and amortise:
        known = amortised[operator, device]
        if known == FOREVER:
            known = 0
            if missing:
                uses = max(settings[6] * 1000, max(rules.coming * settings[7], 1000))
                extra = max(0, cold - warm)
                known = min(0, amortise * (warm + extra * 1000 // uses - cold))
            amortised[operator, device] = known
        bias += known
    return bias


@counted_by_callers
def _finish(shape, costs, machine, weight_class, scratch, operator, device):
    """When an operator would end on a device, asked only where something has changed."""
    stamp = scratch.changed[device]
    if shape.reader[operator]:
        # It waits for its keys and values to be read where they live.
        stamp += scratch.changed[shape.home[operator]]
    if scratch.seen[operator, device] != stamp:
        scratch.known[operator, device] = probe(
            shape, costs, machine, weight_class, operator, device
        )
        scratch.seen[operator, device] = stamp
    return scratch.known[operator, device]


@counted_by_callers
def _best_device(shape, costs, machine, weight_class, rules, hints, scratch, operator, looks):
    """Score, finish and device of an operator; fills the devices in mind for its chain."""
    gamma = rules.settings[1]
    score, finish, device = FOREVER, FOREVER, -1
    for place in range(rules.device_start[operator], rules.device_start[operator + 1]):
        candidate = rules.device_list[place]
        end = _finish(shape, costs, machine, weight_class, scratch, operator, candidate)
        if end >= FOREVER:
            continue
        ahead = end
        if looks:
            scratch.found[:] = -1
            ahead = look_ahead(
                shape, costs, machine, rules, hints, scratch, operator, candidate, end
            )
        value = (1000 - gamma) * min(end - rules.zero, _LATEST)
        value += gamma * min(ahead - rules.zero, _LATEST)
        value += _biases(
            shape, costs, machine, rules, hints, scratch.amortised, operator, candidate
        )
        near = abs(value - score) < _TIE * 1000
        if (
            device < 0
            or value < score
            or (near and (end < finish or (abs(end - finish) < _TIE and draw(hints.coins, 2) == 1)))
        ):
            score, finish, device = value, end, candidate
            if looks:
                _copy(scratch.found, scratch.kept)
    return score, finish, device


# Choice of an operator


@counted_by_callers
def _find_nearest(machine, type_devices, nearest):
    """Fill the device of each type that is free first."""
    for kind in range(len(type_devices)):
        best = type_devices[kind, 0]
        for index in range(type_devices.shape[1]):
            device = type_devices[kind, index]
            if device >= 0 and machine.available[device] < machine.available[best]:
                best = device
        nearest[kind] = best


@counted_by_callers
def _ranks_before(shape, ranks, a, b):
    return ranks[a] > ranks[b] or (ranks[a] == ranks[b] and shape.position[a] < shape.position[b])


@counted_by_callers
def _first_by_rank(shape, ranks, ready, count):
    """Place of the ready operator of the highest rank."""
    chosen = 0
    for index in range(1, count):
        if _ranks_before(shape, ranks, ready[index], ready[chosen]):
            chosen = index
    return chosen


@counted_by_callers
def _pick(shape, costs, machine, weight_class, rules, hints, scratch, ready, begin, end):
    """Place of the ready operator of the least score, -1 if none can run, and its device."""
    looks = rules.settings[0] > 1 and rules.settings[1] > 0
    least, least_finish, pick, pick_device = FOREVER, FOREVER, -1, -1
    for index in range(begin, end):
        operator = ready[index]
        if scratch.lengths[operator] == 0:
            scratch.lengths[operator] = fill_chain(
                shape,
                costs,
                rules.ranks,
                operator,
                rules.settings[0] if looks else 1,
                scratch.chains[operator],
                scratch.edges[operator],
            )
        length = scratch.lengths[operator]
        ahead = length > 1 and options(
            shape, rules, scratch.nearest, scratch.chains[operator], length, scratch.good
        )
        score, finish, device = _best_device(
            shape, costs, machine, weight_class, rules, hints, scratch, operator, ahead
        )
        if device < 0 or (pick >= 0 and score > least):
            continue
        better = pick < 0 or score < least or finish < least_finish
        if not better and finish == least_finish:
            better = _ranks_before(shape, rules.ranks, operator, ready[pick])
        if better:
            least, least_finish, pick, pick_device = score, finish, index, device
            if ahead:
                _copy(scratch.kept, scratch.picked)
            else:
                scratch.picked[:] = -1
    return pick, pick_device


@counted_by_callers
def _note_changes(shape, machine, operator, messages, changed):
    """Count on for every device on which a finish may differ after a commit."""
    everywhere = shape.collective[operator]
    for row in range(messages, machine.counts[0]):
        # What is at the host by now may come from there to any device.
        everywhere = everywhere or machine.messages[row, 3] == shape.host
    if everywhere:
        for device in range(len(changed)):
            changed[device] += 1
        return
    changed[machine.place[operator]] += 1
    if shape.home[operator] >= 0:
        changed[shape.home[operator]] += 1
    for index in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
        # Its memory may have room again.
        changed[machine.place[shape.pred[index]]] += 1


@counted_by_callers
def _take_out(ready, place, count):
    for index in range(place, count - 1):
        ready[index] = ready[index + 1]


@compiled
def bifocal(shape, costs, machine, weight_class, rules, hints, scratch, order):
    """Commit the operator of the least score until all are placed; return how many were."""
    settings = rules.settings
    by_rank = settings[0] < 2 or settings[1] == 0 or rules.executors < 2
    ready = np.empty(len(shape.class_of), np.int64)
    waiting, count = start(shape, ready)
    placed = 0
    while count:
        _find_nearest(machine, rules.type_devices, scratch.nearest)
        begin, end = 0, count
        if by_rank:
            begin = _first_by_rank(shape, rules.ranks, ready, count)
            end = begin + 1
        pick, device = _pick(
            shape, costs, machine, weight_class, rules, hints, scratch, ready, begin, end
        )
        if pick < 0:
            return placed
        operator = ready[pick]
        _take_out(ready, pick, count)
        messages = machine.counts[0]
        commit(shape, costs, machine, weight_class, operator, device)
        _note_changes(shape, machine, operator, messages, scratch.changed)
        order[placed] = operator
        placed += 1
        _remember(shape, machine, rules, hints, scratch, operator, device)
        count = unlock(shape, waiting, operator, ready, 0, count - 1)
    return placed


# Memory of the coming operators


@counted_by_callers
def _forget(hints, at):
    hints.device[hints.order[at]] = -1
    for index in range(at, hints.number[0] - 1):
        hints.order[index] = hints.order[index + 1]
    hints.number[0] -= 1


@counted_by_callers
def _remember(shape, machine, rules, hints, scratch, operator, device):
    """Note the type of device of the weight, and the devices of the coming operators."""
    weight, most = shape.weight_of[operator], rules.settings[3]
    if weight >= 0:
        hints.last_type[weight] = rules.type_of[device]
    if most == 0:
        return
    index = 0
    while index < hints.number[0]:
        if machine.place[hints.order[index]] >= 0:
            _forget(hints, index)
        else:
            index += 1
    for step in range(1, scratch.lengths[operator]):
        coming = scratch.chains[operator, step]
        if scratch.picked[step] < 0 or machine.place[coming] >= 0:
            continue
        for index in range(hints.number[0]):
            if hints.order[index] == coming:
                _forget(hints, index)
                break
        hints.device[coming] = scratch.picked[step]
        hints.order[hints.number[0]] = coming
        hints.number[0] += 1
    while hints.number[0] > most:
        _forget(hints, 0)
