"""Events, the hook, the memory of verdicts and the engine's seat in a cycle."""

from fanweave.golden.cxl.timed.columns import COUNTS, EVENT, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.pages import page_of
from fanweave.golden.cxl.timed.promotions import ask_for_move
from fanweave.golden.cxl.timed.state import HOOK_DEPTH, Islands
from fanweave.golden.cxl.timed.turns import in_turn
from fanweave.golden.isa.cxl_event import Channel, VerdictAction
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES

__all__ = ["adapt", "collect", "key_place", "raise_event"]

_REQ, _RWD = int(Channel.M2S_REQ), int(Channel.M2S_RWD)
_PASS, _PROMOTE = int(VerdictAction.PASS), int(VerdictAction.PROMOTE)
_SPILL, _REDIRECT = int(VerdictAction.SPILL), int(VerdictAction.REDIRECT)
_FIELDS = len(EVENT)


@compiled
def raise_event(state: Islands, i, s, port, channel, opcode, line):
    """The first rule that fits, whether it takes this message, and whether there is place.

    Gives whether an event is raised, and whether the default is to deny.
    """
    page = page_of(line)
    for r in range(state.sizes[5]):
        rule = state.rules[i, r]
        fits = (
            rule[0]
            and rule[5] >> port & 1
            and rule[6] >> channel & 1
            and rule[7] >> opcode & 1
            and rule[8] <= page <= rule[9]
        )
        if not fits:
            continue
        sampled = state.passed[i, s, r] == 0
        state.passed[i, s, r] = 0 if state.passed[i, s, r] == rule[4] else state.passed[i, s, r] + 1
        if not sampled:
            return False, 0
        deny = rule[2] if rule[1] else 0
        if state.slot_full[i, s]:
            state.counts[i, COUNTS.dropped] += 1
            return False, deny
        state.slot_full[i, s] = 1
        event = state.slot[i, s]
        event[EVENT.program] = rule[3]
        event[EVENT.inline] = rule[1]
        return True, deny
    return False, 0


@compiled
def collect(state: Islands, i):
    """The hook takes one event a cycle, in turn."""
    at = state.hook_at[i]
    sources = 2 * state.sizes[1] + 3 * state.sizes[2]
    chosen = -1
    if at[4]:
        chosen = at[5]
    else:
        for after in range(sources):
            s = in_turn(at[3], after, sources)
            if state.slot_full[i, s]:
                chosen = s
                break
    if chosen < 0:
        return
    if at[1] + at[2] == HOOK_DEPTH:
        at[4], at[5] = 1, chosen
        return
    at[3], at[4] = chosen, 0
    place = (at[0] + at[1]) % HOOK_DEPTH
    for n in range(_FIELDS):
        state.hook[i, place, n] = state.slot[i, chosen, n]
    at[1] += 1
    state.slot_full[i, chosen] = 0
    state.counts[i, COUNTS.events] += 1


@compiled
def key_place(key, entries):
    """Where a key's verdict is kept."""
    return (key ^ key // entries ^ key >> 40) % entries


@compiled
def _tell(state: Islands, i, event, legal, action, island, tokens):
    """A verdict for a request that may still wait for it."""
    if event[EVENT.source] >= 2 * state.sizes[1] or not event[EVENT.inline]:
        return
    u, c = event[EVENT.source] // 2, event[EVENT.source] % 2
    place = event[EVENT.sequence] % 32
    entry = state.ring[i, u, c, place]
    # A place that waits keeps its sequence number where its verdict will stand.
    if not entry[3] or entry[5] != event[EVENT.sequence]:
        return
    entry[3], entry[4], entry[5], entry[6], entry[7] = 0, legal, action, island, tokens
    if not legal:
        state.counts[i, COUNTS.defaulted] += 1


@compiled
def _expire(state: Islands, i, now):
    """Requests that came 20 cycles ago wait no longer."""
    for u in range(state.sizes[1]):
        for c in range(2):
            place = state.entered[i, u, c, (now - MAX_VERDICT_CYCLES) % 32]
            if place >= 0 and state.ring[i, u, c, place, 3]:
                state.ring[i, u, c, place, 3] = 0
                state.counts[i, COUNTS.defaulted] += 1


@compiled
def _note(state: Islands, traffic, i, now, legal, action, island, tokens):
    """Keeps what the switch is told, if there is place."""
    number = state.clock[3]
    if number == len(traffic.told):
        return
    row = traffic.told[number]
    row[0], row[1], row[2], row[3], row[4], row[5] = i, now, legal, action, island, tokens
    state.clock[3] += 1


@compiled
def _promote(state: Islands, i, event, port):
    """The event's page is to move; its host is where its request came in."""
    is_request = event[EVENT.channel] == _REQ or event[EVENT.channel] == _RWD
    host = event[EVENT.port] if is_request else event[EVENT.island]
    ask_for_move(state, i, host, page_of(event[EVENT.line]), port)


@compiled
def _forget(state: Islands, i):
    """No verdict is known any more, and none of those that come is to be."""
    for place in range(state.sizes[7]):
        state.known[i, place, 0] = 0
    state.seat_at[i, 3] = 0
    state.waiting[i, EVENT.key] = -1
    state.counts[i, COUNTS.forgotten] += 1


@compiled
def _release(state: Islands, traffic, i, now, forgets):
    """The engine's verdict holds from now on, for the pages that it is about."""
    seat, at = state.seat[i], state.seat_at[i]
    at[1] = 0
    told = state.verdict[i]
    _note(state, traffic, i, now, told[0], told[1], told[2], told[3])
    if told[0] and told[1] == _PROMOTE:
        _promote(state, i, seat, told[2])
        # Who asked for a move has asked; the next ones only pass.
        told[1], told[2] = 0, 0
    state.counts[i, COUNTS.ran] += 1
    if at[3] and not forgets:
        entries = state.sizes[7]
        known = state.known[i, key_place(seat[EVENT.key], entries)]
        known[0], known[1], known[5] = 1, seat[EVENT.key], told[0]
        known[2], known[3], known[4] = told[1], told[2], told[3]
        state.counts[i, COUNTS.fills] += 1


@compiled
def _weighed(state: Islands, i, event, known):
    """A known verdict as the switch takes it: a spill is weighed here, and it sees none."""
    if known[2] != _SPILL:
        return known[2], known[3], known[4]
    port = event[EVENT.island] - state.sizes[1]
    if event[EVENT.channel] == _REQ and port >= 0 and state.reads[i, port, 0] >= known[4]:
        return _REDIRECT, known[3], 0
    return _PASS, 0, 0


@compiled
def _judge(state: Islands, traffic, i, event, now):
    """A request whose program's verdicts are kept; gives whether its verdict is known."""
    shift = state.memory[i, 1]
    page = event[EVENT.line] >> (6 + shift)
    key = page | event[EVENT.port] << 40 | (event[EVENT.channel] & 1) << 42
    key |= event[EVENT.opcode] << 43
    event[EVENT.key] = key
    known = state.known[i, key_place(key, state.sizes[7])]
    if known[0] and known[1] == key:
        state.counts[i, COUNTS.hits] += 1
        action, island, tokens = _weighed(state, i, event, known)
        _note(state, traffic, i, now, known[5], action, island, tokens)
        _tell(state, i, event, known[5], action, island, tokens)
        return True
    state.counts[i, COUNTS.misses] += 1
    _note(state, traffic, i, now, 0, 0, 0, 0)
    _tell(state, i, event, 0, 0, 0, 0)
    return False


@compiled
def _wait(state: Islands, i, event, keyed):
    """An event waits for the seat, if none does and the seat's is for another page."""
    at = state.seat_at[i]
    same = keyed and at[1] and at[3] and state.seat[i, EVENT.key] == event[EVENT.key]
    if at[0] or same:
        state.counts[i, COUNTS.unseen] += 1
        return
    for n in range(_FIELDS):
        state.waiting[i, n] = event[n]
    if not keyed:
        state.waiting[i, EVENT.key] = -1
    at[0] = 1


@compiled
def _sit(state: Islands, i, event, now):
    at, seat = state.seat_at[i], state.seat[i]
    for n in range(_FIELDS):
        seat[n] = event[n]
    at[1], at[2], at[4] = 1, now, 1
    at[3] = 1 if event[EVENT.key] >= 0 else 0


@compiled
def adapt(state: Islands, traffic, i, now):
    """What becomes of the hook's first event; gives whether an engine was asked."""
    hook, at = state.hook_at[i], state.seat_at[i]
    hook[2] = 0
    free, waited, forgets = not at[1], at[0], state.mover[i, MOVER.step] != 0
    at[4] = 0
    if at[1] and now - at[2] == state.pace[i, state.seat[i, EVENT.program]]:
        _release(state, traffic, i, now, forgets)
    elif hook[1]:
        event = state.hook[i, hook[0]]
        hook[0] = (hook[0] + 1) % HOOK_DEPTH
        hook[1] -= 1
        hook[2] = 1
        is_request = event[EVENT.channel] == _REQ or event[EVENT.channel] == _RWD
        keyed = is_request and state.memory[i, 2] >> event[EVENT.program] & 1
        watches = not is_request
        if keyed:
            watches = _judge(state, traffic, i, event, now)
        if watches:
            if not keyed:
                event[EVENT.key] = -1
            if free and not waited:
                _sit(state, i, event, now)
            else:
                state.counts[i, COUNTS.unseen] += 1
        else:
            _wait(state, i, event, keyed)
    if free and waited:
        _sit(state, i, state.waiting[i], now)
        at[0] = 0
    if forgets:
        _forget(state, i)
    _expire(state, i, now)
    return at[4] != 0
