"""The way of requests through an island in a cycle, from its end to its beginning."""

from fanweave.golden.cxl.timed.columns import EVENT, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.events import raise_event
from fanweave.golden.cxl.timed.messages import line_of, place_of
from fanweave.golden.cxl.timed.migration import is_watched, leaves_queue, mark_queues
from fanweave.golden.cxl.timed.pages import decode, locate
from fanweave.golden.cxl.timed.state import RING, Islands
from fanweave.golden.cxl.timed.turns import in_turn
from fanweave.golden.isa.cxl_event import Channel, ReqOpcode, RwdOpcode

__all__ = ["enter", "refuse", "to_devices"]

_CHANNELS = (int(Channel.M2S_REQ), int(Channel.M2S_RWD))
_READ, _WRITE = int(ReqOpcode.MEM_RD), int(RwdOpcode.MEM_WR)


@compiled
def _take_tag(state: Islands, i, c, d):
    """The next free slot round the table; the tag counts rounds, and says which table it is of."""
    table, used = state.table[i, c, d], state.used[i, c, d]
    slots = state.sizes[4]
    place, rounds = table[1], table[2]
    slot, beyond = -1, False
    for number in range(place, slots):
        if not used[number]:
            slot, beyond = number, True
            break
    if slot < 0:
        for number in range(place):
            if not used[number]:
                slot = number
                break
    of_bits = (1 << 15) // slots
    if not beyond:
        rounds += 1
    tag = slot + slots * (rounds % of_bits) + (c << 15)
    following = slot + 1
    table[1] = following % slots
    table[2] = (rounds + following // slots) % of_bits
    used[slot] = 1
    table[0] += 1
    return tag, slot


@compiled
def to_devices(state: Islands, traffic, i, now):
    """One request a device and channel gets a tag, if one is free."""
    sources, moves = state.sizes[1] + 1, state.mover[i, MOVER.phase]
    for d in range(state.sizes[2]):
        state.reads[i, d, 0] = state.reads[i, d, 1]
        state.reads[i, d, 1] = state.table[i, 0, d, 0]
    for c in range(2):
        for d in range(state.sizes[2]):
            turn = state.turn[i, c, d]
            chosen = -1
            if turn[1]:
                chosen = turn[2]
            else:
                for after in range(sources):
                    u = in_turn(turn[0], after, sources)
                    if state.cross_at[i, c, d, u, 1]:
                        chosen = u
                        break
            if chosen < 0:
                continue
            if state.table[i, c, d, 0] == state.sizes[4]:
                turn[1], turn[2] = 1, chosen
                continue
            turn[0], turn[1] = chosen, 0
            at = state.cross_at[i, c, d, chosen]
            m = state.cross[i, c, d, chosen, at[0]]
            at[0] = (at[0] + 1) % state.sizes[3]
            at[1] -= 1
            at[2] = 1
            leg = state.leg[i, place_of(m)]
            leg[3], slot = _take_tag(state, i, c, d)
            leg[5] = now
            state.out[i, c, d] = m
            if moves:
                watched = is_watched(state, i, chosen, line_of(state, traffic, m))
                state.special[i, c, d, slot] = watched
                leaves_queue(state, i, c, d, chosen)
    if moves:
        mark_queues(state, i)


@compiled
def _chosen(state: Islands, i, c):
    """The host whose denied request is next, of a channel; -1 if there is none."""
    turn, sources, d = state.turn[i, c, state.sizes[2]], state.sizes[1] + 1, state.sizes[2]
    if turn[1]:
        return turn[2]
    for after in range(sources):
        u = in_turn(turn[0], after, sources)
        if state.cross_at[i, c, d, u, 1]:
            return u
    return -1


@compiled
def refuse(state: Islands, i):
    """The port of errors answers one denied request, of both channels in turn, if it can."""
    d, at = state.sizes[2], state.refuser[i]
    state.refused[i, 0] = -1
    c = -1
    if at[1]:
        c = at[2]
    else:
        for after in range(2):
            other = in_turn(at[0], after, 2)
            if _chosen(state, i, other) >= 0:
                c = other
                break
    for other in range(2):
        u = _chosen(state, i, other)
        if u >= 0 and other != c:
            state.turn[i, other, d, 1], state.turn[i, other, d, 2] = 1, u
    if c < 0:
        return
    u = _chosen(state, i, c)
    if state.back_at[i, 1 - c, u, d, 1] == state.sizes[3]:
        state.turn[i, c, d, 1], state.turn[i, c, d, 2] = 1, u
        at[1], at[2] = 1, c
        return
    at[0], at[1] = c, 0
    state.turn[i, c, d, 0], state.turn[i, c, d, 1] = u, 0
    queue = state.cross_at[i, c, d, u]
    refused = state.refused[i]
    refused[0], refused[1], refused[2] = state.cross[i, c, d, u, queue[0]], c, u
    queue[0] = (queue[0] + 1) % state.sizes[3]
    queue[1] -= 1
    queue[2] = 1


@compiled
def enter(state: Islands, traffic, i, now):
    """Requests that came a cycle ago are decoded, matched, and written into their rings."""
    for u in range(state.sizes[1]):
        for c in range(2):
            m = state.arrived[i, u, c]
            state.entered[i, u, c, now % 32] = -1
            if m < 0:
                continue
            state.arrived[i, u, c] = -1
            line = line_of(state, traffic, m)
            home, home_ld = decode(state, i, u, line)
            port = home
            if state.moved[i, u]:
                port, _ = locate(state, i, u, line, home, home_ld)
            leg = state.leg[i, place_of(m)]
            at = state.ring_at[i, u, c]
            event = state.slot[i, 2 * u + c]
            raised, deny = raise_event(
                state, i, 2 * u + c, u, _CHANNELS[c], _READ if c == 0 else _WRITE, line
            )
            if raised:
                event[EVENT.line] = line
                event[EVENT.latency] = 0
                event[EVENT.tag] = leg[2]
                event[EVENT.port] = u
                event[EVENT.island] = max(port, 0)
                event[EVENT.channel] = _CHANNELS[c]
                event[EVENT.opcode] = _READ if c == 0 else _WRITE
                event[EVENT.ld_id] = leg[1]
                event[EVENT.dev_load] = state.load[i, port - state.sizes[1]] if port >= 0 else 0
                event[EVENT.sequence] = at[3]
                event[EVENT.source] = 2 * u + c
            place = (at[0] + at[1]) % RING
            entry = state.ring[i, u, c, place]
            waits = raised and event[EVENT.inline]
            entry[0], entry[1], entry[2], entry[3] = m, home, home_ld, 1 if waits else 0
            entry[4], entry[8] = 0, deny
            at[1] += 1
            # The sequence number of the ring is checked against the place.
            entry[5] = at[3]
            at[3] += 1
            if waits:
                state.entered[i, u, c, now % 32] = place
