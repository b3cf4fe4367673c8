"""Promotions: each host has places for those that wait, and its turn."""

from fanweave.golden.cxl.timed.columns import COUNTS, MOVER
from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.pages import own_device
from fanweave.golden.cxl.timed.state import PROMOTIONS, Islands
from fanweave.golden.cxl.timed.turns import in_turn

__all__ = ["ask_for_move", "take"]


@compiled
def ask_for_move(state: Islands, i, host, page, port):
    """A page of a host is to move to a port, if the host has a device there and a place to wait."""
    if own_device(state, i, host, port) < 0:
        return
    mover, at = state.mover[i], state.promotion_at[i, host]
    if at[1] + (mover[MOVER.freed] == host) == PROMOTIONS:
        state.counts[i, COUNTS.dropped_promotions] += 1
        return
    row = state.promotion[i, host, (at[0] + at[1]) % PROMOTIONS]
    row[0], row[1] = page, port
    at[1] += 1
    mover[MOVER.waiting] += 1
    state.counts[i, COUNTS.promotions] += 1


@compiled
def _next_promotion(state: Islands, i):
    """The host whose turn it is, of those that want a page moved; -1 if none does."""
    mover, hosts = state.mover[i], state.sizes[1]
    if mover[MOVER.kept]:
        return mover[MOVER.held]
    for after in range(hosts):
        u = in_turn(mover[MOVER.last], after, hosts)
        if state.promotion_at[i, u, 1]:
            return u
    return -1


@compiled
def take(state: Islands, i, idle):
    """A promotion is taken by who has nothing to do, or waits as the next one."""
    mover = state.mover[i]
    u = _next_promotion(state, i)
    if u < 0:
        return
    if not idle:
        mover[MOVER.kept], mover[MOVER.held] = 1, u
        return
    at = state.promotion_at[i, u]
    row = state.promotion[i, u, at[0]]
    at[0] = (at[0] + 1) % PROMOTIONS
    at[1] -= 1
    mover[MOVER.waiting] -= 1
    mover[MOVER.kept], mover[MOVER.last], mover[MOVER.freed] = 0, u, u
    if mover[MOVER.still]:
        return
    mover[MOVER.taken] = 1
    mover[MOVER.host], mover[MOVER.page] = u, row[0]
    mover[MOVER.port], mover[MOVER.ld_id] = row[1], state.own[i, u, row[1]]
