"""Cycles of all islands, one after the other."""

from fanweave.golden.cxl.timed.answers import answers_back, forget_popped
from fanweave.golden.cxl.timed.columns import MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.events import adapt, collect
from fanweave.golden.cxl.timed.heads import leave_entries
from fanweave.golden.cxl.timed.migration import foresee, migrate
from fanweave.golden.cxl.timed.ports import answers_leave, carry, requests_leave
from fanweave.golden.cxl.timed.requests import enter, refuse, to_devices
from fanweave.golden.cxl.timed.state import Islands
from fanweave.golden.cxl.timed.traffic import Traffic, issue

__all__ = ["ASKED", "ENDED", "LIMIT", "run"]

#: Why a run stops: all is answered, an engine has an event, or no cycle is left.
ENDED, ASKED, LIMIT = 0, 1, 2


@compiled
def _credits(state: Islands, i):
    """Credits of what left in the cycle before are at hand in the next one."""
    for c in range(2):
        for u in range(state.sizes[1]):
            credit = state.credit[i, u, c]
            credit[0] += credit[1] // 2
            credit[1] = credit[1] % 2 * 2
        for d in range(state.sizes[2]):
            credit = state.answer_credit[i, c, d]
            credit[0] += credit[1] // 2
            credit[1] = credit[1] % 2 * 2


@compiled
def _cycle(state: Islands, traffic: Traffic, now):
    """One cycle; gives whether an engine was asked, and whether all tasks have ended."""
    asked = False
    for i in range(state.sizes[0]):
        moves = state.mover[i, MOVER.phase] or state.mover[i, MOVER.waiting]
        if moves:
            foresee(state, i)
        requests_leave(state, i, now)
        answers_leave(state, traffic, i, now)
        to_devices(state, traffic, i, now)
        refuse(state, i)
        leave_entries(state, traffic, i)
        asked = adapt(state, traffic, i, now) or asked
        collect(state, i)
        enter(state, traffic, i, now)
        answers_back(state, traffic, i, now)
        if moves:
            migrate(state, i, now)
        forget_popped(state, i)
    for i in range(state.sizes[0]):
        carry(state, i, now)
    over = issue(state, traffic, now)
    for i in range(state.sizes[0]):
        _credits(state, i)
    return asked, over


@compiled
def _quiet(state: Islands, traffic: Traffic):
    """Whether all is answered, copies too, no event waits or runs, and no page moves."""
    for h in range(len(traffic.hosts)):
        if traffic.hosts[h, 2]:
            return False
    for i in range(state.sizes[0]):
        if state.seat_at[i, 0] or state.seat_at[i, 1] or state.hook_at[i, 1]:
            return False
        if state.mover[i, MOVER.phase] or state.mover[i, MOVER.waiting]:
            return False
        for s in range(2 * state.sizes[1] + 3 * state.sizes[2]):
            if state.slot_full[i, s]:
                return False
        for c in range(2):
            for d in range(state.sizes[2]):
                if state.table[i, c, d, 0]:
                    return False
                for u in range(state.sizes[1]):
                    if state.cross_at[i, c, d, u, 1]:
                        return False
            for u in range(state.sizes[1]):
                if state.ring_at[i, u, c, 1]:
                    return False
    return True


@compiled
def run(state: Islands, traffic: Traffic, end):
    """Run until an engine is asked, everything is over, or a cycle is reached."""
    while state.clock[0] < end:
        asked, over = _cycle(state, traffic, state.clock[0])
        state.clock[0] += 1
        if asked:
            return ASKED
        if (over or state.clock[1] >= state.clock[2]) and _quiet(state, traffic):
            return ENDED
    return LIMIT
