"""What compiled Bifocal keeps in mind, and its look along a chain of operators."""

from typing import NamedTuple

import numpy as np

from fanweave.golden.dops.costs.tables import FOREVER
from fanweave.golden.dops.kernel.common import may_run
from fanweave.golden.dops.kernel.compile import counted_by_callers

__all__ = [
    "Hints",
    "Rules",
    "Scratch",
    "fill_chain",
    "look_ahead",
    "options",
    "scratch_of",
]

#: Longest lookahead chain.
_LONGEST = 6


class Rules(NamedTuple):
    """What does not change in a pass."""

    device_start: np.ndarray  # int64[o + 1]
    device_list: np.ndarray  # devices that each operator may use
    ranks: np.ndarray  # int64[o]
    # int64[8]: horizon, gamma, consistency, hints, reuse, amortise, least_reuse, reuse_probability
    settings: np.ndarray
    prefill: bool
    coming: int  # tokens
    type_of: np.ndarray  # int64[d], -1 of no executor
    type_devices: np.ndarray  # int64[types, most], -1 where there is none
    can_hold: np.ndarray  # bool[d], whether all weights fit
    executors: int
    zero: int  # of the clock of scores


class Hints(NamedTuple):
    """What is remembered from one operator to the next, and the coins."""

    device: np.ndarray  # int64[o], -1 without a hint
    order: np.ndarray  # operators with a hint, oldest first
    number: np.ndarray  # int64[1]
    last_type: np.ndarray  # int64[w], -1 if the weight was not used
    coins: np.ndarray  # int64[1]


class Scratch(NamedTuple):
    """Memory of one pass."""

    # Ranks and payloads stay in a pass, so chains do: int64[o, longest], and lengths int64[o].
    chains: np.ndarray
    edges: np.ndarray
    lengths: np.ndarray
    # Of the chain that is looked at: int64[5, longest] devices, ends, frees, prices, types; whether
    # an operator may run on a type, bool[longest, types]; and the devices of the best way.
    steps: np.ndarray
    good: np.ndarray
    found: np.ndarray
    # Devices in mind for the chain of an operator, and of the best operator so far.
    kept: np.ndarray
    picked: np.ndarray
    nearest: np.ndarray  # int64[types], the device of each type that is free first
    # A finish is asked for again only after something has changed on its device.
    known: np.ndarray  # int64[o, d]
    seen: np.ndarray  # int64[o, d]
    changed: np.ndarray  # int64[d]
    amortised: np.ndarray  # int64[o, d], FOREVER where it is not known


def scratch_of(operators: int, devices: int, types: int) -> Scratch:
    """Memory for a pass."""
    return Scratch(
        chains=np.empty((operators, _LONGEST), np.int64),
        edges=np.empty((operators, _LONGEST), np.int64),
        lengths=np.zeros(operators, np.int64),
        steps=np.empty((5, _LONGEST), np.int64),
        good=np.zeros((_LONGEST, types), np.bool_),
        found=np.empty(_LONGEST, np.int64),
        kept=np.empty(_LONGEST, np.int64),
        picked=np.empty(_LONGEST, np.int64),
        nearest=np.empty(types, np.int64),
        known=np.empty((operators, devices), np.int64),
        seen=np.full((operators, devices), -1, np.int64),
        changed=np.zeros(devices, np.int64),
        amortised=np.full((operators, devices), FOREVER, np.int64),
    )


@counted_by_callers
def fill_chain(shape, costs, ranks, operator, horizon, chain, edges):
    """Fill an operator and its consumers along the heaviest edges; return how many."""
    chain[0] = operator
    count = 1
    while count < horizon:
        best = -1
        for index in range(
            shape.succ_start[chain[count - 1]], shape.succ_start[chain[count - 1] + 1]
        ):
            if best < 0:
                best = index
                continue
            a, b = costs.edge_bytes[shape.succ_edge[index]], costs.edge_bytes[shape.succ_edge[best]]
            if a > b or (a == b and ranks[shape.succ[index]] > ranks[shape.succ[best]]):
                best = index
        if best < 0:
            break
        chain[count] = shape.succ[best]
        edges[count] = shape.succ_edge[best]
        count += 1
    return count


@counted_by_callers
def _link_end(shape, costs, machine, chain, edges, steps, index, hint, consistency):
    """Fill the end of one operator of a chain, and the price of leaving remembered devices."""
    operator, device = chain[index], steps[0, index]
    begin = machine.available[device]
    kind, weight = shape.class_of[operator], shape.weight_of[operator]
    warm = weight < 0 or machine.present[device, weight]
    for other in range(index):
        if steps[0, other] == device:
            begin = steps[2, other]
            warm = warm or shape.weight_of[chain[other]] == weight
    ready = steps[1, index - 1] + costs.edge_move[edges[index], steps[0, index - 1], device]
    layout = machine.layouts[weight] if weight >= 0 else 0
    time = costs.compute[layout, kind, device] if warm else costs.cold[layout, kind, device]
    steps[1, index] = steps[2, index] = max(begin, ready) + time
    hinted = hint[operator]
    steps[3, index] = steps[3, index - 1]
    if hinted >= 0 and hinted != device:
        steps[3, index] += consistency * costs.hint_move[kind, hinted, device] // 1000


@counted_by_callers
def options(shape, rules, nearest, chain, count, good):
    """Fill which types each operator of a chain may run on; whether all have one."""
    for index in range(1, count):
        operator, some = chain[index], False
        for kind in range(len(nearest)):
            may = may_run(rules.device_start, rules.device_list, operator, nearest[kind])
            good[index, kind] = may
            some = some or may
        if shape.collective[operator] or not some:
            return False
    return count > 1


@counted_by_callers
def look_ahead(shape, costs, machine, rules, hints, scratch, operator, device, finish):
    """Least end of a chain of two operators or more; fills the devices of the others.

    The last operator's type changes fastest; what comes before a change is not asked again.
    """
    chain, edges = scratch.chains[operator], scratch.edges[operator]
    count, steps, nearest = scratch.lengths[operator], scratch.steps, scratch.nearest
    types, last = len(nearest), count - 1
    steps[0, 0], steps[1, 0], steps[3, 0] = device, finish, 0
    steps[2, 0] = max(machine.available[device], finish)
    best, index = FOREVER, 1
    steps[4, 1] = -1
    while index > 0:
        steps[4, index] += 1
        kind = steps[4, index]
        if kind == types:
            index -= 1
            continue
        if not scratch.good[index, kind]:
            continue
        steps[0, index] = nearest[kind]
        _link_end(
            shape, costs, machine, chain, edges, steps, index, hints.device, rules.settings[2]
        )
        if index < last:
            index += 1
            steps[4, index] = -1
        elif steps[1, last] + steps[3, last] < best:
            best = steps[1, last] + steps[3, last]
            for place in range(count):
                scratch.found[place] = steps[0, place]
    return best
