"""The way of answers through an island in a cycle, from its end to its beginning."""

from fanweave.golden.cxl.timed.columns import EVENT, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.copier import DENIED
from fanweave.golden.cxl.timed.events import raise_event
from fanweave.golden.cxl.timed.messages import line_of, place_of
from fanweave.golden.cxl.timed.migration import answered
from fanweave.golden.cxl.timed.state import RING, Islands
from fanweave.golden.cxl.timed.turns import in_turn
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, NdrOpcode

__all__ = ["answers_back", "forget_popped"]

_CHANNELS = (int(Channel.S2M_NDR), int(Channel.S2M_DRS))
_OPCODES = (int(NdrOpcode.CMP), int(DrsOpcode.MEM_DATA))
_NXM = int(DrsOpcode.MEM_DATA_NXM)


@compiled
def _ends(state: Islands, i):
    """Who gets answers: hosts, and behind them who moves pages."""
    return state.sizes[1] + 1 if state.mover[i, MOVER.phase] else state.sizes[1]


@compiled
def _to_hosts(state: Islands, i):
    """One answer a host and channel, in turn."""
    devices = state.sizes[2] + 1  # the port of errors is one more
    for a in range(2):
        for u in range(_ends(state, i)):
            for after in range(devices):
                d = in_turn(state.back_last[i, a, u], after, devices)
                at = state.back_at[i, a, u, d]
                if at[1]:
                    state.home[i, a, u] = state.back[i, a, u, d, at[0]]
                    at[0] = (at[0] + 1) % state.sizes[3]
                    at[1] -= 1
                    at[2] = 1
                    state.back_last[i, a, u] = d
                    break


@compiled
def _refused(state: Islands, i):
    """What the port of errors answers in this cycle goes to its host's queue."""
    refused = state.refused[i]
    if refused[0] < 0:
        return
    a, d = 1 - refused[1], state.sizes[2]
    into = state.back_at[i, a, refused[2], d]
    place = (into[0] + into[1]) % state.sizes[3]
    state.back[i, a, refused[2], d, place] = refused[0]
    state.said[place_of(refused[0])] = DENIED
    into[1] += 1


@compiled
def _observe(state: Islands, traffic, i, a, d, m, now):
    """An answer's event has its request's address and tag, and how long it took."""
    source = 2 * state.sizes[1] + 3 * d + a
    port = state.sizes[1] + d
    line = line_of(state, traffic, m)
    opcode = _OPCODES[a]
    if a and state.said[place_of(m)] == DENIED:
        opcode = _NXM
    raised, _ = raise_event(state, i, source, port, _CHANNELS[a], opcode, line)
    if not raised:
        return
    leg, event = state.leg[i, place_of(m)], state.slot[i, source]
    event[EVENT.line] = line
    event[EVENT.latency] = (now - leg[5]) * state.clock[4]
    event[EVENT.tag] = leg[2]
    event[EVENT.port] = port
    event[EVENT.island] = leg[0]
    event[EVENT.channel] = _CHANNELS[a]
    event[EVENT.opcode] = opcode
    event[EVENT.ld_id] = leg[4]
    event[EVENT.dev_load] = state.said[place_of(m)] % DENIED
    event[EVENT.sequence] = 0
    event[EVENT.source] = source


@compiled
def answers_back(state: Islands, traffic, i, now):
    """Answers find their requests, and go to their hosts' queues."""
    moves = state.mover[i, MOVER.phase]
    _to_hosts(state, i)
    _refused(state, i)
    for d in range(state.sizes[2]):
        for a in range(2):
            at = state.answer_at[i, a, d]
            if not at[1]:
                continue
            m = state.answer[i, a, d, at[0]]
            leg = state.leg[i, place_of(m)]
            if not leg[6]:  # one to a copy goes nowhere
                into = state.back_at[i, a, leg[0], d]
                if into[1] + into[2] == state.sizes[3]:
                    continue
                place = (into[0] + into[1]) % state.sizes[3]
                state.back[i, a, leg[0], d, place] = m
                into[1] += 1
            at[0] = (at[0] + 1) % RING
            at[1] -= 1
            state.answer_credit[i, a, d, 1] += 1
            c = 1 - a
            slot = leg[3] % state.sizes[4]
            state.used[i, c, d, slot] = 0
            state.table[i, c, d, 0] -= 1
            if moves:
                answered(state, i, c, d, slot)
            # Answers to the switch itself and to copies raise no events.
            if leg[0] != state.sizes[1] and not leg[6]:
                _observe(state, traffic, i, a, d, m, now)
            state.load[i, d] = state.said[place_of(m)] % DENIED


@compiled
def forget_popped(state: Islands, i):
    """Places that became free in this cycle are free from the next one on."""
    for d in range(state.sizes[2] + 1):
        for u in range(_ends(state, i)):
            for n in range(2):
                state.cross_at[i, n, d, u, 2] = 0
                state.back_at[i, n, u, d, 2] = 0
