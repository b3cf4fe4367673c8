"""Who moves pages, in a cycle: group by group, lines are held, copied and flipped.

`foresee` says at the beginning of a cycle what follows from registers alone, for others to see in
the same cycle; `migrate` takes the step at its end, so that they see its outcome in the next one.
"""

from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.cxl.timed.columns import COPIER, COUNTS, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.copier import copy, is_done, start
from fanweave.golden.cxl.timed.pages import (
    BACK,
    FRESH,
    FURTHER,
    ONWARD,
    PRESENT,
    begin,
    finish,
    first_group,
    flip,
    give_up,
    group_of,
    kind_of,
    page_of,
)
from fanweave.golden.cxl.timed.promotions import take
from fanweave.golden.cxl.timed.state import HISTORY, Islands
from fanweave.golden.isa.cxl_switch import MoveStep

__all__ = [
    "answered",
    "foresee",
    "holds",
    "is_watched",
    "leaves_queue",
    "mark_queues",
    "migrate",
]

#: Requests of the page are watched from `_NOTE` on, and those of the group wait from `_MARK` on.
_IDLE, _FIND, _LOOK, _SCAN, _NOTE, _SETTLE, _NEXT, _MARK, _DRAIN, _ANSWERS, _COPY = range(11)
_NONE, _BEGIN, _HOLD = int(MoveStep.NONE), int(MoveStep.BEGIN), int(MoveStep.HOLD)
_FLIP, _END, _HOME = int(MoveStep.FLIP), int(MoveStep.END), int(MoveStep.HOME)
_GIVE_UP = int(MoveStep.GIVE_UP)


@compiled
def is_watched(state: Islands, i, host, line):
    """Whether a request is of the page that moves."""
    mover = state.mover[i]
    if mover[MOVER.phase] < _NOTE or mover[MOVER.host] != host:
        return False
    return mover[MOVER.page] == page_of(line)


@compiled
def holds(state: Islands, i, host, line):
    """Whether requests for a line wait until it is copied."""
    if state.mover[i, MOVER.phase] < _MARK or not is_watched(state, i, host, line):
        return False
    return state.mover[i, MOVER.group] == group_of(state, line)


@compiled
def leaves_queue(state: Islands, i, c, d, host):
    """A request leaves a queue that drains."""
    if state.left[i, c, d] and state.mover[i, MOVER.host] == host:
        state.left[i, c, d] -= 1


@compiled
def mark_queues(state: Islands, i):
    """What waits of the host behind the departures of this cycle is to leave."""
    mover = state.mover[i]
    if mover[MOVER.phase] != _MARK:
        return
    for c in range(2):
        for d in range(state.sizes[2]):
            state.left[i, c, d] = state.cross_at[i, c, d, mover[MOVER.host], 1]


@compiled
def answered(state: Islands, i, c, d, slot):
    """A slot of a table of tags is free again."""
    if state.noted[i, c, d, slot]:
        state.noted[i, c, d, slot] = 0
        state.mover[i, MOVER.noted] -= 1


@compiled
def _note(state: Islands, i, all_slots):
    """Slots that are open are waited for, or those of them that are of the page."""
    for c in range(2):
        for d in range(state.sizes[2]):
            for slot in range(state.sizes[4]):
                if state.used[i, c, d, slot] and (all_slots or state.special[i, c, d, slot]):
                    state.noted[i, c, d, slot] = 1
                    state.mover[i, MOVER.noted] += 1


@compiled
def _step(state: Islands, i):
    """What is done in this cycle, for who looks on."""
    mover, copier = state.mover[i], state.copier[i]
    phase = mover[MOVER.phase]
    if phase == _LOOK:
        kind, _ = kind_of(state, i)
        return _BEGIN if kind in (ONWARD, FURTHER, BACK) else _NONE
    if phase == _SCAN:
        begins = is_done(state, i) and copier[COPIER.apart] and not copier[COPIER.failed]
        return _BEGIN if begins else _NONE
    if phase == _NEXT and first_group(state, i, mover[MOVER.host], mover[MOVER.entry]) < 0:
        return _END if mover[MOVER.away] else _HOME
    if phase == _MARK:
        return _HOLD
    if phase == _COPY and is_done(state, i):
        return _GIVE_UP if copier[COPIER.failed] else _FLIP
    return _NONE


@compiled
def foresee(state: Islands, i):
    """What registers say at the beginning of a cycle."""
    mover = state.mover[i]
    if mover[MOVER.waiting]:
        take(state, i, mover[MOVER.phase] == _IDLE)
    phase = mover[MOVER.phase]
    if phase == _IDLE:
        return
    mover[MOVER.drained] = 1
    for c in range(2):
        for d in range(state.sizes[2]):
            if state.left[i, c, d]:
                mover[MOVER.drained] = 0
    mover[MOVER.answered] = mover[MOVER.noted] == 0
    mover[MOVER.step] = _step(state, i)
    if phase == _NOTE:
        _note(state, i, True)
    elif phase == _DRAIN and mover[MOVER.drained]:
        _note(state, i, False)


@compiled
def _note_begin(state: Islands, i, now):
    """A row of the history, as long as there is place."""
    mover, number = state.mover[i], state.clock[6]
    state.clock[6] += 1
    mover[MOVER.row] = number
    if number < HISTORY:
        row = state.history[number]
        row[0], row[1], row[2], row[3] = i, mover[MOVER.host], mover[MOVER.page], mover[MOVER.port]
        row[4], row[5], row[6] = now, -1, _NONE


@compiled
def _note_end(state: Islands, i, now):
    mover = state.mover[i]
    if mover[MOVER.row] < HISTORY:
        row = state.history[mover[MOVER.row]]
        row[5], row[6] = now, mover[MOVER.step]


@compiled
def _begins(state: Islands, i, now):
    """A page begins to move: none of what is open is known to be of it."""
    kind, place = kind_of(state, i)
    begin(state, i, kind, place)
    _note_begin(state, i, now)
    for c in range(2):
        for d in range(state.sizes[2]):
            for slot in range(state.sizes[4]):
                state.special[i, c, d, slot] = 0
    return _NOTE


@compiled
def _chooses(state: Islands, i, now):
    """Whether what is asked can be carried out."""
    mover = state.mover[i]
    if mover[MOVER.step] == _BEGIN:
        return _begins(state, i, now)
    if mover[MOVER.phase] == _LOOK:
        kind, _ = kind_of(state, i)
        if kind == FRESH:
            start(state, i, 0, mover[MOVER.page] * PAGE_LINES)
            return _SCAN
        if kind != PRESENT:
            state.counts[i, COUNTS.dropped_promotions] += 1
        return _IDLE
    if not is_done(state, i):
        copy(state, i)
        return _SCAN
    if state.copier[i, COPIER.failed]:
        state.counts[i, COUNTS.dropped_promotions] += 1
    return _IDLE


@compiled
def _goes_on(state: Islands, i, now):
    """The next group, or the end of the page."""
    mover = state.mover[i]
    if mover[MOVER.step] != _NONE:
        finish(state, i)
        _note_end(state, i, now)
        state.counts[i, COUNTS.moved_pages] += 1
        return _IDLE
    mover[MOVER.group] = first_group(state, i, mover[MOVER.host], mover[MOVER.entry])
    return _MARK


@compiled
def _copies(state: Islands, i, now):
    """A group, which goes there when all of it was copied."""
    mover = state.mover[i]
    if mover[MOVER.step] == _NONE:
        copy(state, i)
        return _COPY
    if mover[MOVER.step] == _GIVE_UP:
        give_up(state, i)
        _note_end(state, i, now)
        state.counts[i, COUNTS.failed_moves] += 1
        return _IDLE
    flip(state, i)
    mover[MOVER.away] |= state.copier[i, COPIER.elsewhere]
    return _NEXT


@compiled
def migrate(state: Islands, i, now):
    """The step of a cycle, at its end."""
    mover = state.mover[i]
    phase = mover[MOVER.phase]
    mover[MOVER.freed] = -1
    if phase == _IDLE:
        if mover[MOVER.taken]:
            mover[MOVER.phase], mover[MOVER.taken] = _FIND, 0
        return
    following = phase + 1
    if phase in (_LOOK, _SCAN):
        following = _chooses(state, i, now)
    elif phase == _NEXT:
        following = _goes_on(state, i, now)
    elif phase == _COPY:
        following = _copies(state, i, now)
    elif phase == _DRAIN and not mover[MOVER.drained]:
        following = _DRAIN
    elif phase in (_SETTLE, _ANSWERS) and not mover[MOVER.answered]:
        following = phase
    if phase == _ANSWERS and following == _COPY:
        first = mover[MOVER.page] * PAGE_LINES + mover[MOVER.group] * state.sizes[9]
        start(state, i, 1, first)
    mover[MOVER.phase] = following
    mover[MOVER.step] = _NONE
