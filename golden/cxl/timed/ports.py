"""What is behind a port in a cycle: memories, links between islands, credits."""

from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.messages import place_of
from fanweave.golden.cxl.timed.state import PENDING, Islands

__all__ = ["answers_leave", "carry", "requests_leave"]

#: Columns of `Islands.behind`.
_KIND, _LATENCY, _READ, _WRITE, _TURN, _LOAD, _TO_ISLAND, _TO_PORT = 0, 1, 2, 3, 4, 5, 8, 9


@compiled
def _push_due(state: Islands, i, a, d, m, cycle):
    """An answer, from a cycle on."""
    at = state.due_at[i, a, d]
    place = (at[0] + at[1]) % PENDING
    state.due[i, a, d, place, 0] = m
    state.due[i, a, d, place, 1] = cycle
    at[1] += 1


@compiled
def _serve(state: Islands, i, d, c, m, now):
    """A memory begins an access as soon as it can, and knows then when it ends."""
    device, busy = state.behind[i, d], state.busy[i, d]
    start = max(now + 1, busy[0])
    if busy[1] != c and busy[2] + busy[3] > 0:
        start += device[_TURN]
        busy[5] += 1
    waited = start - (now + 1)
    load = 0
    for n in range(3):
        if waited >= device[_LOAD + n]:
            load = n + 1
    busy[0] = start + (device[_READ] if c == 0 else device[_WRITE])
    busy[1] = c
    busy[2 + c] += 1
    busy[4] += waited
    state.said[place_of(m)] = load
    _push_due(state, i, 1 - c, d, m, start + device[_LATENCY])


@compiled
def requests_leave(state: Islands, i, now):
    """Requests cross the links to devices."""
    for c in range(2):
        for d in range(state.sizes[2]):
            m = state.out[i, c, d]
            if m < 0:
                continue
            state.out[i, c, d] = -1
            if state.behind[i, d, _KIND] == 1:
                _serve(state, i, d, c, m, now)
            else:
                at = state.forth_at[i, c, d]
                place = (at[0] + at[1]) % PENDING
                state.forth[i, c, d, place, 0] = m
                state.forth[i, c, d, place, 1] = now + state.behind[i, d, _LATENCY]
                at[1] += 1


@compiled
def answers_leave(state: Islands, traffic, i, now):
    """Answers cross the links to hosts, or go back over a link between islands."""
    for a in range(2):
        for u in range(state.sizes[1]):
            m = state.home[i, a, u]
            if m < 0:
                continue
            state.home[i, a, u] = -1
            entry = state.entry_of[i, u]
            if entry[0] == 2:
                above, port = entry[1], entry[2]
                _push_due(state, above, a, port, m, now + state.behind[above, port, _LATENCY])
                continue
            traffic.done[m] = now
            flow = traffic.flow[m]
            traffic.flows[flow, 5] += 1
            traffic.hosts[entry[1], 2] -= 1


@compiled
def carry(state: Islands, i, now):
    """Answers that are due go into the island; requests on links into the next one."""
    for d in range(state.sizes[2]):
        if state.behind[i, d, _KIND] == 0:
            continue
        for a in range(2):
            at = state.due_at[i, a, d]
            if at[1] and state.answer_credit[i, a, d, 0] and state.due[i, a, d, at[0], 1] <= now:
                m = state.due[i, a, d, at[0], 0]
                at[0] = (at[0] + 1) % PENDING
                at[1] -= 1
                state.answer_credit[i, a, d, 0] -= 1
                queue = state.answer_at[i, a, d]
                state.answer[i, a, d, (queue[0] + queue[1]) % 32] = m
                queue[1] += 1
        if state.behind[i, d, _KIND] != 2:
            continue
        below, port = state.behind[i, d, _TO_ISLAND], state.behind[i, d, _TO_PORT]
        for c in range(2):
            at = state.forth_at[i, c, d]
            if at[1] and state.credit[below, port, c, 0] and state.forth[i, c, d, at[0], 1] <= now:
                m = state.forth[i, c, d, at[0], 0]
                at[0] = (at[0] + 1) % PENDING
                at[1] -= 1
                state.credit[below, port, c, 0] -= 1
                state.arrived[below, port, c] = m
                leg, over = state.leg[below, place_of(m)], state.leg[i, place_of(m)]
                leg[0], leg[1], leg[2] = port, over[4], over[3]
