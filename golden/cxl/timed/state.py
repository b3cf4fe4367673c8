"""All that islands and their surroundings remember between two cycles, as arrays of a record.

A record is one argument of a compiled function, and its arrays have shapes that are known when it
is compiled: those of the largest system. `Islands.sizes` says how much of them is in use.

Indices in the order of their names: ``i`` island, ``u`` host's port, ``d`` device's port, ``c``
kind of a request (0 read, 1 write), ``a`` channel of an answer (0 without data, 1 with), ``s`` who
raises events, ``m`` message. Queues are rings: an array, a head and a level; ``popped`` says that
one left in this cycle, for a place becomes free only behind its edge.
"""

from typing import Any, TypeAlias

import numpy as np

from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.cxl.timed.columns import COPIER, COUNTS, EVENT, MOVER
from fanweave.golden.errors import InputError

__all__ = [
    "HISTORY",
    "HOOK_DEPTH",
    "LEGS",
    "MOST",
    "OWN_LEGS",
    "PENDING",
    "PROMOTIONS",
    "RING",
    "Islands",
    "new_islands",
]

#: Places of an entry's ring and of an answer's queue; credits of the same number.
RING = 32
HOOK_DEPTH = 4
#: Moves of pages that are kept, of all islands.
HISTORY = 4096
#: Promotions of a host that can wait.
PROMOTIONS = 4
#: Messages that can be on their way while their number still finds them: of hosts, and those that
#: switches send themselves.
LEGS = 1 << 16
OWN_LEGS = 1 << 16
#: Answers that wait in a device, or on a link.
PENDING = 4096


#: Largest numbers of islands, ports, places of a crossbar's queue, slots of a table of tags, rules,
#: ranges, pages of a host that are elsewhere, known verdicts.
MOST = {
    "islands": 4,
    "upstream": 4,
    "downstream": 8,
    "queue": 32,
    "slots": 64,
    "rules": 8,
    "decoders": 8,
    "moves": 8,
    "entries": 1024,
}

_I, _U, _D = MOST["islands"], MOST["upstream"], MOST["downstream"]
_Q, _S, _T, _M = MOST["queue"], 2 * _U + 3 * _D, MOST["slots"], MOST["moves"]
_E = len(EVENT)
#: Name, shape.
_FIELDS: tuple[tuple[str, tuple[int, ...]], ...] = (
    # Islands, upstream, downstream, queue, slots, rules, decoders, verdict entries, moves, lines
    # that move together.
    ("sizes", (10,)),
    # Now, messages sent, most messages, verdicts kept, ns of a cycle, messages of switches,
    # moves of pages.
    ("clock", (7,)),
    # Tables: enable, first, last, mask of ways, shift of ways, and port and LD of 8 ways;
    # LD of a host at a port, or -1; enable inline deny program skip ports channels opcodes first
    # last; messages that a rule passed over.
    ("ranges", (_I, _U, MOST["decoders"], 21)),
    ("own", (_I, _U, _U + _D)),
    ("rules", (_I, MOST["rules"], 10)),
    ("passed", (_I, _S, MOST["rules"])),
    # Rate, limit, level, turn, delay limit, cycles that each head waited.
    ("bucket", (_I, _U, 7)),
    # Memory of verdicts: enable, shift, programs; pace of programs.
    ("memory", (_I, 3)),
    ("pace", (_I, 16)),
    # Entries: message or -1; credits at hand, and in two cycles. Of a place of a ring: message,
    # port, LD, whether it waits, whether it has a verdict, action, island, tokens, deny. Head,
    # level, paid, sequence of the next, whether the head went and its copy did not. Place of an
    # inline request, or -1, by cycle.
    ("arrived", (_I, _U, 2)),
    ("credit", (_I, _U, 2, 2)),
    ("ring", (_I, _U, 2, RING, 9)),
    ("ring_at", (_I, _U, 2, 5)),
    ("entered", (_I, _U, 2, 32)),
    # Crossbar of requests, with head, level, popped; last, kept, held of its arbiters. Behind the
    # devices comes the port of errors, of both crossbars, and behind the hosts who moves pages.
    ("cross", (_I, 2, _D + 1, _U + 1, _Q)),
    ("cross_at", (_I, 2, _D + 1, _U + 1, 3)),
    ("turn", (_I, 2, _D + 1, 3)),
    # The port of errors: channel that was answered last, kept, held; message that it answers in
    # this cycle, or -1, its channel and host.
    ("refuser", (_I, 3)),
    ("refused", (_I, 3)),
    # Tables of tags: slots in use; level, place, round. Reads that were open when the cycle before
    # began, and when this one did. Message or -1 on the link to a device.
    ("used", (_I, 2, _D, _T)),
    ("table", (_I, 2, _D, 3)),
    ("reads", (_I, _D, 2)),
    ("out", (_I, 2, _D)),
    # Answers: of devices, crossbar, who was served last, on the link to a host; last DevLoad.
    ("answer", (_I, 2, _D, RING)),
    ("answer_at", (_I, 2, _D, 3)),
    ("answer_credit", (_I, 2, _D, 2)),
    ("back", (_I, 2, _U + 1, _D + 1, _Q)),
    ("back_at", (_I, 2, _U + 1, _D + 1, 3)),
    ("back_last", (_I, 2, _U + 1)),
    ("home", (_I, 2, _U + 1)),
    ("load", (_I, _D)),
    # Events: slots; the hook with head, level, popped, last, kept, held; known verdicts: valid,
    # key, action, island, tokens, legal; the event that waits and the one that runs, with: one
    # waits, one runs, taken in cycle, keyed, asked now; legal, action, island, tokens of what it
    # said.
    ("slot", (_I, _S, _E)),
    ("slot_full", (_I, _S)),
    ("hook", (_I, HOOK_DEPTH, _E)),
    ("hook_at", (_I, 6)),
    ("known", (_I, MOST["entries"], 6)),
    ("waiting", (_I, _E)),
    ("seat", (_I, _E)),
    ("seat_at", (_I, 5)),
    ("verdict", (_I, 4)),
    # Ports: kind (0 none, 1 memory, 2 link) and its numbers. Of a memory: free from, last kind,
    # reads, writes, cycles waited, turns. Answers that are due: message, cycle; head, level.
    ("behind", (_I, _D, 10)),
    ("busy", (_I, _D, 6)),
    ("due", (_I, 2, _D, PENDING, 2)),
    ("due_at", (_I, 2, _D, 2)),
    # Who sends to a port: 1 and a host, or 2, an island and a port of it; requests on a link.
    ("entry_of", (_I, _U, 3)),
    ("forth", (_I, 2, _D, PENDING, 2)),
    ("forth_at", (_I, 2, _D, 2)),
    # Of messages, see `messages.place_of`: host, LD and tag above, tag and LD below, when it was
    # sent there, whether it is a copy; DevLoad of its answer, or 4 if it was denied; line of those
    # of switches.
    ("leg", (_I, LEGS + OWN_LEGS, 7)),
    ("said", (LEGS + OWN_LEGS,)),
    ("own_line", (OWN_LEGS,)),
    # Pages that are elsewhere: how many; valid, page, port and LD of the new and of the old place
    # (-1: by the ranges); by group of lines, whether it is at the new one.
    ("moved", (_I, _U)),
    ("pages", (_I, _U, _M, 6)),
    ("there", (_I, _U, _M, PAGE_LINES)),
    # Promotions that wait: page, port; head, level. Who moves pages, and copies lines. Slots that
    # are of the page that moves, and those that are waited for; requests in queues that are.
    ("promotion", (_I, _U, PROMOTIONS, 2)),
    ("promotion_at", (_I, _U, 2)),
    ("mover", (_I, len(MOVER))),
    ("copier", (_I, len(COPIER))),
    ("special", (_I, 2, _D, _T)),
    ("noted", (_I, 2, _D, _T)),
    ("left", (_I, 2, _D)),
    # Moves of pages: island, host, page, port, cycles of begin and end (-1), step that ended it.
    ("history", (HISTORY, 7)),
    ("counts", (_I, len(COUNTS))),
)
_RECORD = np.dtype([(name, np.int64, shape) for name, shape in _FIELDS])

#: One record; an `Any`, for attributes of records have no types.
Islands: TypeAlias = Any


def new_islands(
    *,
    islands: int,
    upstream: int,
    downstream: int,
    queue: int,
    slots: int,
    rules: int,
    decoders: int,
    entries: int,
    moves: int,
    move_lines: int,
) -> Islands:
    """State behind a reset.

    Raises
    ------
    InputError
        If the system is larger than `MOST`.
    """
    sizes = {
        "islands": islands,
        "upstream": upstream,
        "downstream": downstream,
        "queue": queue,
        "slots": slots,
        "rules": rules,
        "decoders": decoders,
        "entries": entries,
        "moves": moves,
    }
    for name, most in MOST.items():
        if sizes[name] > most:
            raise InputError(f"{name} = {sizes[name]}: this model has {most} at most")
    state = np.zeros(1, dtype=_RECORD).view(np.recarray)[0]
    state.sizes[:] = [*sizes.values(), move_lines]
    state.clock[4] = 1
    for name in ("own", "arrived", "entered", "out", "home", "refused"):
        nothing = getattr(state, name)
        nothing[...] = -1
    state.credit[..., 0] = RING
    state.answer_credit[..., 0] = RING
    # Who was served last: the last one, so that the first comes first.
    state.turn[..., 0] = upstream
    state.back_last[...] = downstream
    state.refuser[:, 0] = 1
    state.hook_at[:, 3] = 2 * upstream + 3 * downstream - 1
    state.mover[:, MOVER.last] = upstream - 1
    state.mover[:, MOVER.freed] = -1
    state.copier[:, COPIER.req] = state.copier[:, COPIER.rwd] = -1
    return state
