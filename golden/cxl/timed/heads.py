"""What leaves the rings of entries in a cycle: heads, by their verdicts, and copies of them."""

from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.messages import line_of, new_message, place_of
from fanweave.golden.cxl.timed.migration import holds
from fanweave.golden.cxl.timed.pages import locate, own_device
from fanweave.golden.cxl.timed.state import RING, Islands
from fanweave.golden.isa.cxl_event import VerdictAction

__all__ = ["leave_entries"]

_PASS, _DENY, _DELAY = int(VerdictAction.PASS), int(VerdictAction.DENY), int(VerdictAction.DELAY)
_REDIRECT, _MIRROR = int(VerdictAction.REDIRECT), int(VerdictAction.MIRROR)
#: Stands for the action of a request that has no memory.
_UNMAPPED = -1
_TOKEN = 256


@compiled
def _grant(state: Islands, i, u, c, pays, other):
    """A head that waits for tokens: whether it may go on, or waits on."""
    bucket, at = state.bucket[i, u], state.ring_at[i, u, c]
    state.counts[i, COUNTS.delay_cycles] += 1
    if bucket[5 + c] >= bucket[4] or (pays and (bucket[3] == c or not other)):
        at[2] = 1
        bucket[5 + c] = 0
        state.counts[i, COUNTS.delayed] += 1
    else:
        bucket[5 + c] += 1


@compiled
def _price(state: Islands, i, u, c):
    return min(state.ring[i, u, c, state.ring_at[i, u, c, 0], 7], state.bucket[i, u, 1])


@compiled
def _pay(state: Islands, i, u, wants_0, wants_1):
    """The bucket of a host: what its two heads pay, and what it earns."""
    bucket = state.bucket[i, u]
    price_0 = _price(state, i, u, 0) if wants_0 else 0
    price_1 = _price(state, i, u, 1) if wants_1 else 0
    pays_0 = wants_0 and bucket[2] // _TOKEN >= price_0
    pays_1 = wants_1 and bucket[2] // _TOKEN >= price_1
    if wants_0:
        _grant(state, i, u, 0, pays_0, pays_1)
    else:
        bucket[5] = 0
    if wants_1:
        _grant(state, i, u, 1, pays_1, pays_0)
    else:
        bucket[6] = 0
    paid = 0
    if pays_0 and (bucket[3] == 0 or not pays_1):
        paid, bucket[3] = price_0, 1
    elif pays_1:
        paid, bucket[3] = price_1, 0
    bucket[2] = min(bucket[2] - _TOKEN * paid + bucket[0], _TOKEN * bucket[1])


@compiled
def _goal_of(state: Islands, i, u, head, line):
    """What a head's verdict makes of it: action, port and LD where it goes.

    Actions that mean nothing here are passes.
    """
    action = head[5] if head[4] else (_DENY if head[8] else _PASS)
    port, ld_id = head[1], head[2]
    if state.moved[i, u]:
        port, ld_id = locate(state, i, u, line, port, ld_id)
    if action in (_REDIRECT, _MIRROR):
        other = own_device(state, i, u, head[6])
        if other < 0:
            action = _DENY if head[8] else _PASS
        elif action == _REDIRECT:
            port, ld_id = head[6], other
    if action != _DENY and port < 0:
        action = _UNMAPPED
    if action in (_DENY, _UNMAPPED):
        port = state.sizes[1] + state.sizes[2]
    return action, port, ld_id


@compiled
def _into_queue(state: Islands, i, u, c, port, m):
    """A message goes to its device's queue; gives whether there is place."""
    into = state.cross_at[i, c, port - state.sizes[1], u]
    if into[1] + into[2] == state.sizes[3]:
        return False
    place = (into[0] + into[1]) % state.sizes[3]
    state.cross[i, c, port - state.sizes[1], u, place] = m
    into[1] += 1
    return True


@compiled
def _gone(state: Islands, i, u, c):
    """The head and its copy went: its place is free."""
    at = state.ring_at[i, u, c]
    at[0] = (at[0] + 1) % RING
    at[1] -= 1
    at[2] = at[4] = 0
    state.credit[i, u, c, 1] += 1


@compiled
def _leave(state: Islands, i, u, c, action, port, ld_id):
    """A head goes on, if there is place."""
    at, counts = state.ring_at[i, u, c], state.counts[i]
    head = state.ring[i, u, c, at[0]]
    if not _into_queue(state, i, u, c, port, head[0]):
        return
    state.leg[i, place_of(head[0]), 4] = ld_id
    counts[COUNTS.judged] += head[4]
    if action == _DENY:
        counts[COUNTS.denied] += 1
    elif action == _UNMAPPED:
        counts[COUNTS.unmapped] += 1
    elif action == _REDIRECT:
        counts[COUNTS.redirected] += 1
    if action == _MIRROR:
        counts[COUNTS.mirrored] += 1
        at[4] = 1
    else:
        _gone(state, i, u, c)


@compiled
def _leave_copy(state: Islands, i, u, c, line):
    """The copy of a head that went, if there is place; the answer to it goes nowhere."""
    head = state.ring[i, u, c, state.ring_at[i, u, c, 0]]
    m = new_message(state, line)
    if not _into_queue(state, i, u, c, head[6], m):
        return
    above, leg = state.leg[i, place_of(head[0])], state.leg[i, place_of(m)]
    leg[0], leg[1], leg[2], leg[6] = u, above[1], above[2], 1
    leg[4] = own_device(state, i, u, head[6])
    _gone(state, i, u, c)


@compiled
def leave_entries(state: Islands, traffic, i):
    """Heads leave their rings, when their verdicts are there, nothing holds them, and they paid."""
    for u in range(state.sizes[1]):
        wants_0, wants_1 = False, False
        for c in range(2):
            at = state.ring_at[i, u, c]
            head = state.ring[i, u, c, at[0]]
            if not at[1] or head[3]:
                continue
            line = line_of(state, traffic, head[0])
            if at[4]:
                # A copy follows its request, also when that was the last one before a hold.
                _leave_copy(state, i, u, c, line)
                continue
            if holds(state, i, u, line):
                state.counts[i, COUNTS.held_cycles] += 1
                continue
            action, port, ld_id = _goal_of(state, i, u, head, line)
            if action != _DELAY or at[2]:
                _leave(state, i, u, c, action, port, ld_id)
            elif c == 0:
                wants_0 = True
            else:
                wants_1 = True
        _pay(state, i, u, wants_0, wants_1)
