"""Copies lines of a page between devices in a cycle: reads where they are, writes where they go."""

from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.cxl.timed.columns import COPIER, COUNTS, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.messages import new_message, place_of
from fanweave.golden.cxl.timed.pages import decode, locate
from fanweave.golden.cxl.timed.state import Islands

__all__ = ["DENIED", "copy", "is_done", "start"]

#: Stands for a DevLoad where an island denied the request: a light load, and no memory.
DENIED = 4


@compiled
def start(state: Islands, i, copying, first):
    """From the next cycle on it copies a group of lines, or looks where all of a page are."""
    copier = state.copier[i]
    copier[COPIER.copying] = copying
    copier[COPIER.line] = copier[COPIER.first] = first
    copier[COPIER.left] = state.sizes[9] if copying else PAGE_LINES
    copier[COPIER.at] = copier[COPIER.failed] = 0
    copier[COPIER.apart] = copier[COPIER.elsewhere] = 0
    copier[COPIER.asked] = copier[COPIER.read] = 0
    copier[COPIER.wrote] = copier[COPIER.written] = 0
    copier[COPIER.stays] = 0


@compiled
def is_done(state: Islands, i):
    """Whether all lines were looked at, and all that was sent is answered."""
    copier = state.copier[i]
    writes = copier[COPIER.copying] and copier[COPIER.at] < state.sizes[9]
    if copier[COPIER.left] or (writes and not copier[COPIER.failed]):
        return False
    answered = copier[COPIER.asked] == copier[COPIER.read]
    return answered and copier[COPIER.wrote] == copier[COPIER.written]


@compiled
def _goes(state: Islands, i, c, m, port):
    """A message that is offered goes into its crossbar's queue, if there is place."""
    if m < 0:
        return True
    d, hosts = port - state.sizes[1], state.sizes[1]
    into = state.cross_at[i, c, d, hosts]
    if into[1] + into[2] == state.sizes[3]:
        return False
    state.cross[i, c, d, hosts, (into[0] + into[1]) % state.sizes[3]] = m
    into[1] += 1
    return True


@compiled
def _message(state: Islands, i, line, ld_id):
    """A read or a write of a line; its tag is the line's number in the group."""
    m = new_message(state, line)
    leg = state.leg[i, place_of(m)]
    leg[0], leg[1], leg[2], leg[4] = state.sizes[1], 0, line % state.sizes[9], ld_id
    leg[6] = 0
    return m


@compiled
def _look(state: Islands, i, free):
    """Looks at a line a cycle, and reads it if it is to be copied; gives whether that fails."""
    copier, mover = state.copier[i], state.mover[i]
    if copier[COPIER.failed]:
        copier[COPIER.left] = 0
        return False
    if not copier[COPIER.left] or (copier[COPIER.copying] and not free):
        return False
    line, u = copier[COPIER.line], mover[MOVER.host]
    home, home_ld = decode(state, i, u, line)
    port, ld_id = locate(state, i, u, line, home, home_ld)
    goal, goal_ld = mover[MOVER.port], mover[MOVER.ld_id]
    here = port == goal and ld_id == goal_ld
    copier[COPIER.line] += 1
    copier[COPIER.left] -= 1
    if not here:
        copier[COPIER.apart] = 1
    if home != goal or home_ld != goal_ld:
        copier[COPIER.elsewhere] = 1
    bit = 1 << line % state.sizes[9]
    if here:
        copier[COPIER.stays] |= bit
    elif copier[COPIER.copying] and port >= 0:
        copier[COPIER.asked] |= bit
        copier[COPIER.req], copier[COPIER.req_port] = _message(state, i, line, ld_id), port
    return port < 0


@compiled
def _write(state: Islands, i, free):
    """Writes what was read, line by line, in their order."""
    copier, mover = state.copier[i], state.mover[i]
    at = copier[COPIER.at]
    if not copier[COPIER.copying] or at == state.sizes[9] or copier[COPIER.failed]:
        return
    bit = 1 << at
    if copier[COPIER.stays] & bit:
        copier[COPIER.at] += 1
    elif copier[COPIER.read] & bit and free:
        copier[COPIER.at] += 1
        copier[COPIER.wrote] |= bit
        line = copier[COPIER.first] + at
        copier[COPIER.rwd] = _message(state, i, line, mover[MOVER.ld_id])
        copier[COPIER.rwd_port] = mover[MOVER.port]


@compiled
def _answers(state: Islands, i):
    """Answers of this cycle are noted; gives whether one says that there is no memory."""
    copier, here = state.copier[i], state.sizes[1]
    written, read = state.home[i, 0, here], state.home[i, 1, here]
    fails = False
    if written >= 0:
        copier[COPIER.written] |= 1 << state.leg[i, place_of(written), 2]
        state.counts[i, COUNTS.moved_lines] += 1
        state.home[i, 0, here] = -1
    if read >= 0:
        copier[COPIER.read] |= 1 << state.leg[i, place_of(read), 2]
        fails = state.said[place_of(read)] == DENIED
        state.home[i, 1, here] = -1
    return fails


@compiled
def copy(state: Islands, i):
    """A cycle, from its end to its beginning: messages leave, lines are written, read, answered."""
    copier = state.copier[i]
    free_req = _goes(state, i, 0, copier[COPIER.req], copier[COPIER.req_port])
    if free_req:
        copier[COPIER.req] = -1
    free_rwd = _goes(state, i, 1, copier[COPIER.rwd], copier[COPIER.rwd_port])
    if free_rwd:
        copier[COPIER.rwd] = -1
    _write(state, i, free_rwd)
    fails = _look(state, i, free_req)
    fails = _answers(state, i) or fails
    if fails:
        copier[COPIER.failed] = 1
