"""Where lines are: by the ranges of their host, or where their page was moved."""

from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.cxl.timed.columns import MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.state import Islands

__all__ = [
    "BACK",
    "FRESH",
    "FURTHER",
    "ONWARD",
    "PRESENT",
    "begin",
    "decode",
    "finish",
    "first_group",
    "flip",
    "give_up",
    "group_of",
    "kind_of",
    "locate",
    "own_device",
    "page_of",
]

#: How a page can go where it is asked to: it never was elsewhere and has a place in the table; it
#: goes on from where it was moved; the rest of it follows; what went comes back. It is there
#: already, or it cannot.
FRESH, ONWARD, FURTHER, BACK, PRESENT, STUCK = range(6)


@compiled
def page_of(line):
    """The page of a line."""
    return line // PAGE_LINES


@compiled
def group_of(state: Islands, line):
    """The group of lines of its page that a line moves with."""
    return line % PAGE_LINES // state.sizes[9]


@compiled
def own_device(state: Islands, i, u, port):
    """The first logical device of a host at a port; -1 if it has none there."""
    if port < state.sizes[1] or port >= state.sizes[1] + state.sizes[2]:
        return -1
    return state.own[i, u, port]


@compiled
def decode(state: Islands, i, u, line):
    """Port and logical device of a line by its host's ranges; -1 if nothing has it."""
    page = page_of(line)
    for r in range(state.sizes[6]):
        entry = state.ranges[i, u, r]
        if entry[0] and entry[1] <= page <= entry[2]:
            way = (line >> entry[4]) & entry[3]
            return entry[5 + 2 * way], entry[6 + 2 * way]
    return -1, -1


@compiled
def locate(state: Islands, i, u, line, port, ld_id):
    """Port and logical device of a line, of which ranges say these."""
    page = page_of(line)
    for place in range(state.sizes[8]):
        row = state.pages[i, u, place]
        if row[0] and row[1] == page:
            if state.there[i, u, place, group_of(state, line)]:
                return row[2], row[3]
            if row[4] >= 0:
                return row[4], row[5]
    return port, ld_id


@compiled
def first_group(state: Islands, i, u, place):
    """The first group of a page that is not at its new place; -1 if all are."""
    for group in range(PAGE_LINES // state.sizes[9]):
        if not state.there[i, u, place, group]:
            return group
    return -1


@compiled
def kind_of(state: Islands, i):
    """How the page in question can go where it is asked to, and its place in the table."""
    mover = state.mover[i]
    u, free = mover[MOVER.host], -1
    for place in range(state.sizes[8]):
        row = state.pages[i, u, place]
        if not row[0]:
            free = place if free < 0 else free
        elif row[1] == mover[MOVER.page]:
            whole = first_group(state, i, u, place) < 0
            there = row[2] == mover[MOVER.port] and row[3] == mover[MOVER.ld_id]
            came = row[4] == mover[MOVER.port] and row[5] == mover[MOVER.ld_id]
            if whole:
                return (PRESENT if there else ONWARD), place
            if there:
                return FURTHER, place
            return (BACK if came else STUCK), place
    return (STUCK if free < 0 else FRESH), free


@compiled
def begin(state: Islands, i, kind, place):
    """The page in question begins to move, in one of the first four ways."""
    mover = state.mover[i]
    u = mover[MOVER.host]
    row, there = state.pages[i, u, place], state.there[i, u, place]
    if kind == FRESH:
        row[0], row[1], row[4], row[5] = 1, mover[MOVER.page], -1, -1
        state.moved[i, u] += 1
    elif kind != FURTHER:
        row[4], row[5] = row[2], row[3]
    row[2], row[3] = mover[MOVER.port], mover[MOVER.ld_id]
    if kind != FURTHER:
        for group in range(PAGE_LINES):
            there[group] = 1 - there[group] if kind == BACK else 0
    mover[MOVER.entry] = place
    # Groups that are there already were not looked at.
    mover[MOVER.away] = kind in (FURTHER, BACK)


@compiled
def flip(state: Islands, i):
    """The group in question is at the new place."""
    mover = state.mover[i]
    state.there[i, mover[MOVER.host], mover[MOVER.entry], mover[MOVER.group]] = 1


@compiled
def finish(state: Islands, i):
    """All of the page is where it goes; where ranges say so, it needs no place in the table."""
    mover = state.mover[i]
    u = mover[MOVER.host]
    row = state.pages[i, u, mover[MOVER.entry]]
    row[0], row[4], row[5] = mover[MOVER.away], -1, -1
    state.moved[i, u] -= 1 - mover[MOVER.away]


@compiled
def give_up(state: Islands, i):
    """The page does not go on; if nothing of it went, its place is what it was before."""
    mover = state.mover[i]
    u, place = mover[MOVER.host], mover[MOVER.entry]
    row, there = state.pages[i, u, place], state.there[i, u, place]
    for group in range(PAGE_LINES // state.sizes[9]):
        if there[group]:
            return
    row[0] = row[4] >= 0
    row[2], row[3], row[4], row[5] = row[4], row[5], -1, -1
    state.moved[i, u] -= 1 - row[0]
    for group in range(PAGE_LINES):
        there[group] = 1
