"""Columns of arrays of the state, by name."""

from typing import NamedTuple

__all__ = ["COPIER", "COUNTS", "EVENT", "MOVER"]


class _Event(NamedTuple):
    """Columns of an event."""

    line: int = 0
    latency: int = 1
    tag: int = 2
    port: int = 3
    island: int = 4
    channel: int = 5
    opcode: int = 6
    ld_id: int = 7
    dev_load: int = 8
    program: int = 9
    inline: int = 10
    sequence: int = 11
    source: int = 12
    key: int = 13


EVENT = _Event()


class _Counts(NamedTuple):
    """Columns of what is counted of an island."""

    events: int = 0
    dropped: int = 1
    hits: int = 2
    misses: int = 3
    fills: int = 4
    unseen: int = 5
    ran: int = 6
    defaulted: int = 7
    redirected: int = 8
    delayed: int = 9
    delay_cycles: int = 10
    promotions: int = 11
    judged: int = 12
    denied: int = 13
    dropped_promotions: int = 14
    moved_pages: int = 15
    moved_lines: int = 16
    failed_moves: int = 17
    held_cycles: int = 18
    forgotten: int = 19
    unmapped: int = 20
    mirrored: int = 21


COUNTS = _Counts()


class _Mover(NamedTuple):
    """Columns of who moves pages, see `migration`."""

    phase: int = 0
    still: int = 1
    #: Promotions that wait in all; that one was taken in this cycle, and whose (or -1); host that
    #: was served last, whether one was offered since, and whose.
    waiting: int = 2
    taken: int = 3
    freed: int = 4
    last: int = 5
    kept: int = 6
    held: int = 7
    #: What is carried out: host, page, port and LD where it goes; place in the table of pages,
    #: group of lines, and whether some group is not where ranges say.
    host: int = 8
    page: int = 9
    port: int = 10
    ld_id: int = 11
    entry: int = 12
    group: int = 13
    away: int = 14
    #: Of this cycle: what it does (`MoveStep`), and that queues have drained, and no slot that is
    #: noted is open. Slots that are.
    step: int = 15
    drained: int = 16
    answered: int = 17
    noted: int = 18
    #: Its row of `Islands.history`.
    row: int = 19


MOVER = _Mover()


class _Copier(NamedTuple):
    """Columns of who copies lines, see `copier`; sets of lines are bits."""

    copying: int = 0
    line: int = 1
    left: int = 2
    first: int = 3
    at: int = 4
    failed: int = 5
    apart: int = 6
    elsewhere: int = 7
    #: Lines: a read was sent, is answered; a write; nothing to copy.
    asked: int = 8
    read: int = 9
    wrote: int = 10
    written: int = 11
    stays: int = 12
    #: A read and a write that are offered to the crossbars, or -1, and their ports.
    req: int = 13
    req_port: int = 14
    rwd: int = 15
    rwd_port: int = 16


COPIER = _Copier()
