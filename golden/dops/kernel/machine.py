"""Compiled counterpart of `fanweave.golden.dops.timing`, for platforms without a star."""

from typing import NamedTuple

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.kernel.compile import counted_by_callers
from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.rules import MachineRules

__all__ = ["Machine", "Shape", "begin", "commit", "preload", "probe", "rewind_weights", "shape_of"]

# NumPy's constants, because Numba compiles a function again for every Python constant.
_STORE, _RELOAD, _MOVE, _HISTORY, _WEIGHTS, _SPILL = (
    np.int64(code) for code in range(PURPOSES.index("spill") + 1)
)
_RING = np.int64(PURPOSES.index("ring"))
#: Events of the journal: a weight was used, loaded or dropped.
_USED, _LOADED, _DROPPED = np.int64(0), np.int64(1), np.int64(2)
_YES, _NO = np.bool_(True), np.bool_(False)


class Shape(NamedTuple):
    """What does not change: the graph, and which device is the host."""

    class_of: np.ndarray
    weight_of: np.ndarray
    pred_start: np.ndarray
    pred: np.ndarray
    succ_start: np.ndarray
    succ: np.ndarray
    succ_edge: np.ndarray
    position: np.ndarray
    collective: np.ndarray
    writer: np.ndarray
    reader: np.ndarray
    store: np.ndarray
    home: np.ndarray
    is_npu: np.ndarray
    local_history: np.ndarray
    host: int
    pinned: bool
    ring_links: bool
    prefetch: bool


#: Fields of `Shape` that a graph does not know; the others it has by the same names.
_OF_PLATFORM = frozenset({"is_npu", "local_history", "host", *vars(MachineRules())})


class Machine(NamedTuple):
    """What changes. Weights of a device form a ring by last use; its head has the number W."""

    available: np.ndarray  # int64[d]
    begun: np.ndarray  # int64[d], start of the last operator
    link_end: np.ndarray  # int64[d, d]
    limit: np.ndarray  # int64[d], less what is reserved
    activations: np.ndarray  # int64[d]
    weights: np.ndarray  # int64[d]
    present: np.ndarray  # bool[d, w]
    used_in: np.ndarray  # int64[d, w], number of the pass
    after: np.ndarray  # int64[d, w + 1]
    before: np.ndarray  # int64[d, w + 1]
    layouts: np.ndarray  # int64[w]
    loads: np.ndarray  # int64[w, d]
    start: np.ndarray  # int64[o]
    finish: np.ndarray  # int64[o]
    place: np.ndarray  # int64[o]
    kept: np.ndarray  # bool[o]
    stored: np.ndarray  # int64[o]
    waiting: np.ndarray  # int64[o]
    copies: np.ndarray  # int64[o], one bit a device
    peak: np.ndarray  # int64[d]
    counts: np.ndarray  # int64[5]: messages, reads, whether an NPU spills everything, journal, pass
    messages: np.ndarray  # int64[m, 6]: purpose, operator, source, target, start, finish
    reads: np.ndarray  # int64[r, 4]: operator, device, start, finish
    since: np.ndarray  # int64[d]: scratch of collectives
    # int64[j, 5]: event, device, weight, weight before it in the ring, pass that used it before
    journal: np.ndarray


def shape_of(
    flat: FlatGraph,
    npus: list[int],
    devices: int,
    local: np.ndarray,
    host: int,
    rules: MachineRules,
) -> Shape:
    """Collect the arrays of a graph."""
    is_npu = np.zeros(devices, np.bool_)
    is_npu[npus] = True
    return Shape(
        **{name: getattr(flat, name) for name in Shape._fields if name not in _OF_PLATFORM},
        is_npu=is_npu,
        local_history=local,
        host=host,
        **vars(rules),
    )


def _wide(array: np.ndarray) -> np.ndarray:
    """One type of integers, so that each function is compiled once."""
    return array if array.dtype == np.bool_ else array.astype(np.int64)


@counted_by_callers
def begin(shape, machine, spill):
    """Start a pass."""
    machine.start[:] = 0
    machine.finish[:] = 0
    machine.place[:] = -1
    machine.kept[:] = False
    machine.stored[:] = -1
    machine.copies[:] = 0
    machine.activations[:] = 0
    machine.counts[0] = 0
    machine.counts[1] = 0
    machine.counts[2] = spill
    machine.counts[3] = 0
    machine.counts[4] += 1
    for o in range(len(machine.waiting)):
        machine.waiting[o] = shape.succ_start[o + 1] - shape.succ_start[o]


@counted_by_callers
def _send(machine, purpose, operator, source, target, time, earliest, commit):
    start = max(machine.link_end[source, target], earliest)
    finish = start + time
    if commit:
        machine.link_end[source, target] = finish
        if time:
            row = machine.counts[0]
            machine.messages[row, 0] = purpose
            machine.messages[row, 1] = operator
            machine.messages[row, 2] = source
            machine.messages[row, 3] = target
            machine.messages[row, 4] = start
            machine.messages[row, 5] = finish
            machine.counts[0] = row + 1
    return finish


@counted_by_callers
def _through_host(shape, costs, machine, producer, device, commit):
    kind, source, host = shape.class_of[producer], machine.place[producer], shape.host
    ready = machine.stored[producer]
    if ready < 0:
        earliest = machine.finish[producer] + costs.read[kind, source]
        time = costs.move[kind, source, host]
        ready = _send(machine, _STORE, producer, source, host, time, earliest, commit)
        if commit:
            machine.stored[producer] = ready
    time = costs.move[kind, host, device]
    return _send(machine, _RELOAD, producer, host, device, time, ready, commit)


@counted_by_callers
def _arrival(shape, costs, machine, producer, device, commit):
    if machine.copies[producer] >> device & 1:
        return machine.finish[producer]
    source = machine.place[producer]
    if machine.kept[producer]:
        if source == device:
            return machine.finish[producer]
        kind = shape.class_of[producer]
        time = costs.move[kind, source, device]
        if 0 < time < FOREVER:
            earliest = machine.finish[producer] + costs.read[kind, source]
            return _send(machine, _MOVE, producer, source, device, time, earliest, commit)
    return _through_host(shape, costs, machine, producer, device, commit)


@counted_by_callers
def _ready(shape, costs, machine, operator, device, commit):
    ready = 0
    for index in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
        ready = max(ready, _arrival(shape, costs, machine, shape.pred[index], device, commit))
    return ready


@counted_by_callers
def _history(shape, costs, machine, operator, device, ready, commit):
    kind, home = shape.class_of[operator], shape.home[operator]
    if costs.kv_bytes[kind] == 0 or (home == device and shape.local_history[device]):
        return ready
    earliest = ready
    if home != shape.host:
        start = max(machine.available[home], ready)
        earliest = start + costs.kv_read[kind, home]
        if commit:
            machine.available[home] = earliest
            if earliest > start:
                row = machine.counts[1]
                machine.reads[row, 0] = operator
                machine.reads[row, 1] = home
                machine.reads[row, 2] = start
                machine.reads[row, 3] = earliest
                machine.counts[1] = row + 1
    if home == device:
        return earliest
    time = costs.kv_move[kind, home, device]
    return _send(machine, _HISTORY, operator, home, device, time, earliest, commit)


@counted_by_callers
def _note(machine, event, device, weight):
    row = machine.counts[3]
    machine.journal[row, 0] = event
    machine.journal[row, 1] = device
    machine.journal[row, 2] = weight
    machine.journal[row, 3] = machine.before[device, weight]
    machine.journal[row, 4] = machine.used_in[device, weight]
    machine.counts[3] = row + 1


@counted_by_callers
def _unlink(machine, device, weight):
    last, following = machine.before[device, weight], machine.after[device, weight]
    machine.after[device, last] = following
    machine.before[device, following] = last


@counted_by_callers
def _append(machine, device, weight):
    head = machine.present.shape[1]
    last = machine.before[device, head]
    machine.after[device, last] = weight
    machine.before[device, weight] = last
    machine.after[device, weight] = head
    machine.before[device, head] = weight


@counted_by_callers
def _free(shape, costs, machine, device, excess, weight_class):
    head = machine.present.shape[1]
    while excess > 0:
        victim = machine.after[device, head]
        newest = machine.before[device, head]
        stale = machine.used_in[device, victim] < machine.counts[4] - 1
        if shape.pinned and not stale and newest != victim:
            # The newest may still be in use.
            victim = machine.before[device, newest]
        _note(machine, _DROPPED, device, victim)
        _unlink(machine, device, victim)
        machine.present[device, victim] = False
        size = costs.weight[weight_class[victim]]
        machine.weights[device] -= size
        excess -= size


@counted_by_callers
def preload(costs, machine, weight_class, weight, device):
    """Put a weight into a device's memory before anything runs; whether it fits."""
    size = costs.weight[weight_class[weight]]
    used = machine.activations[device] + machine.weights[device]
    if used + size > machine.limit[device]:
        return False
    machine.present[device, weight] = True
    machine.used_in[device, weight] = machine.counts[4]
    machine.weights[device] += size
    _append(machine, device, weight)
    _note_peak(machine, device)
    return True


@counted_by_callers
def rewind_weights(machine, rows):
    """Undo what the journal says of the memories' weights, but for its first rows.

    Bytes in use are not part of it.
    """
    for row in range(machine.counts[3] - 1, rows - 1, -1):
        event, device = machine.journal[row, 0], machine.journal[row, 1]
        weight, last = machine.journal[row, 2], machine.journal[row, 3]
        machine.used_in[device, weight] = machine.journal[row, 4]
        if event != _DROPPED:
            _unlink(machine, device, weight)
        if event == _LOADED:
            machine.present[device, weight] = False
            machine.loads[weight, device] -= 1
        else:
            following = machine.after[device, last]
            machine.after[device, last] = weight
            machine.before[device, weight] = last
            machine.after[device, weight] = following
            machine.before[device, following] = weight
            machine.present[device, weight] = True
    machine.counts[3] = rows


@counted_by_callers
def _service(shape, costs, machine, weight_class, operator, device, start, commit):
    kind, weight = shape.class_of[operator], shape.weight_of[operator]
    if weight < 0:
        return costs.compute[0, kind, device]
    layout = machine.layouts[weight]
    if machine.present[device, weight]:
        if commit:
            _note(machine, _USED, device, weight)
            machine.used_in[device, weight] = machine.counts[4]
            _unlink(machine, device, weight)
            _append(machine, device, weight)
        return costs.compute[layout, kind, device]
    size = costs.weight[kind]
    if machine.activations[device] + size > machine.limit[device]:
        return FOREVER
    time = costs.link[layout, kind, device]
    early = machine.begun[device] if shape.prefetch else start
    store = shape.store[weight]
    begin = max(machine.link_end[store, device], early)
    _send(machine, _WEIGHTS, operator, store, device, time, early, commit)
    if commit:
        used = machine.activations[device] + machine.weights[device]
        _free(shape, costs, machine, device, used + size - machine.limit[device], weight_class)
        machine.present[device, weight] = True
        machine.weights[device] += size
        _append(machine, device, weight)
        _note(machine, _LOADED, device, weight)
        machine.used_in[device, weight] = machine.counts[4]
        machine.loads[weight, device] += 1
        _note_peak(machine, device)
    loaded = begin - start + costs.cold[layout, kind, device]
    return max(loaded, costs.compute[layout, kind, device])


@counted_by_callers
def _note_peak(machine, device):
    used = machine.activations[device] + machine.weights[device]
    machine.peak[device] = max(machine.peak[device], used)


@counted_by_callers
def _keep(shape, costs, machine, weight_class, operator, device):
    kind = shape.class_of[operator]
    if machine.counts[2] == 0 or not shape.is_npu[device]:
        held = costs.held[kind]
        used = machine.activations[device] + machine.weights[device]
        excess = used + held - machine.limit[device]
        if excess <= machine.weights[device]:
            _free(shape, costs, machine, device, excess, weight_class)
            machine.activations[device] += held
            machine.kept[operator] = True
            _note_peak(machine, device)
            return
    earliest = machine.finish[operator] + costs.spill_read[kind, device]
    time = costs.spill[kind, device]
    machine.stored[operator] = _send(
        machine, _SPILL, operator, device, shape.host, time, earliest, _YES
    )


@counted_by_callers
def _ring_free(machine, start, last):
    """When all links of a ring are free, of the devices in `since` up to the last one."""
    source = last
    for device in range(len(machine.since)):
        if machine.since[device] >= 0:
            start = max(start, machine.link_end[source, device])
            source = device
    return start


@counted_by_callers
def _send_ring(machine, operator, start, finish, last):
    """Keep the links of a ring busy; the one back to the first device is logged last."""
    source = -1
    first = -1
    for device in range(len(machine.since)):
        if machine.since[device] < 0:
            continue
        if source < 0:
            first = device
        else:
            _send(machine, _RING, operator, source, device, finish - start, start, _YES)
        source = device
    _send(machine, _RING, operator, last, first, finish - start, start, _YES)


@counted_by_callers
def _all_reduce(shape, costs, machine, operator, commit):
    devices = len(machine.available)
    since = machine.since
    since[:] = -1
    for index in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
        producer = shape.pred[index]
        device = machine.place[producer]
        since[device] = max(since[device], machine.finish[producer])
    start, count, first, last, slowest = 0, 0, -1, -1, 0
    for device in range(devices):
        if since[device] >= 0:
            start = max(start, max(since[device], machine.available[device]))
            count += 1
    finish = start
    kind = shape.class_of[operator]
    copies = 0
    for device in range(devices):
        if since[device] >= 0:
            copies |= 1 << device
            if first < 0:
                first = device
            else:
                slowest = max(slowest, costs.ring[kind, count, last, device])
            last = device
    if count > 1:
        slowest = max(slowest, costs.ring[kind, count, last, first])
        if shape.ring_links:
            start = _ring_free(machine, start, last)
        finish = start + 2 * (count - 1) * slowest
        if commit and shape.ring_links:
            _send_ring(machine, operator, start, finish, last)
    if commit:
        machine.finish[operator] = finish
        machine.place[operator] = first
        machine.copies[operator] = copies
        for device in range(devices):
            if since[device] >= 0:
                machine.available[device] = finish
    return start, finish


@counted_by_callers
def _run(shape, costs, machine, weight_class, operator, device, commit):
    if shape.collective[operator]:
        return _all_reduce(shape, costs, machine, operator, commit)
    ready = _ready(shape, costs, machine, operator, device, commit)
    kind = shape.class_of[operator]
    if shape.writer[operator]:
        start = max(machine.available[device], ready)
        finish = start + costs.compute[0, kind, device]
        if commit:
            machine.available[device] = finish
            machine.finish[operator] = finish
            machine.place[operator] = device
        return start, finish
    if shape.reader[operator]:
        ready = _history(shape, costs, machine, operator, device, ready, commit)
    start = max(machine.available[device], ready)
    duration = _service(shape, costs, machine, weight_class, operator, device, start, commit)
    if duration >= FOREVER:
        return start, FOREVER
    finish = start + duration
    if commit:
        machine.begun[device] = start
        machine.available[device] = finish
        machine.finish[operator] = finish
        machine.place[operator] = device
        _keep(shape, costs, machine, weight_class, operator, device)
    return start, finish


@counted_by_callers
def probe(shape, costs, machine, weight_class, operator, device):
    """When an operator would finish on a device; FOREVER if it cannot run there."""
    return _run(shape, costs, machine, weight_class, operator, device, _NO)[1]


@counted_by_callers
def commit(shape, costs, machine, weight_class, operator, device):
    """Run an operator on a device; return its finish."""
    start, finish = _run(shape, costs, machine, weight_class, operator, device, _YES)
    machine.start[operator] = start
    for index in range(shape.pred_start[operator], shape.pred_start[operator + 1]):
        producer = shape.pred[index]
        machine.waiting[producer] -= 1
        if machine.waiting[producer] == 0 and machine.kept[producer]:
            machine.kept[producer] = False
            held = costs.held[shape.class_of[producer]]
            machine.activations[machine.place[producer]] -= held
    return finish
