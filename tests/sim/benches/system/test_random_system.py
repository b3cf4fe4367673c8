"""Random traffic on two islands whose program says anything: RTL and golden to the cycle."""

import pytest

from fanweave.golden.cxl.island_config import PRESETS
from fanweave.golden.cxl.timed.columns import COUNTS
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import VerdictAction

from .random_system import RandomSystem

pytestmark = pytest.mark.verilator

TINY = PRESETS["tiny"]
_A = VerdictAction
MOVES = (_A.PASS,) * 10 + (_A.PROMOTE,) * 6
#: Of pages whose lines the lower island denies, so that moves are given up.
DENIED_MOVES = (_A.PASS,) * 8 + (_A.PROMOTE,) * 6 + (_A.DENY,) * 2
COPIES = (_A.PASS,) * 8 + (_A.MIRROR,) * 8
COPIES_AND_MOVES = (
    (_A.PASS,) * 4
    + (_A.MIRROR,) * 4
    + (_A.PROMOTE,) * 4
    + (*(_A.DENY, _A.REDIRECT, _A.SPILL, _A.DELAY),)
)
ALL = (_A.PASS,) * 5 + (_A.PROMOTE,) * 6 + (_A.DENY, _A.SPILL, _A.DELAY) + (_A.REDIRECT,) * 2


def counts(system, name):
    return system.state.counts[:2, getattr(COUNTS, name)]


def agrees(actions, *, seed):
    made = RandomSystem(config=TINY, actions=actions, seed=seed)
    system = made.golden()
    made.compare(system)
    return system


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_pages_that_move(seed):
    system = agrees(MOVES, seed=seed)
    assert counts(system, "moved_pages").min() >= 3
    assert counts(system, "moved_lines").sum() >= 384
    assert counts(system, "held_cycles").sum() > 100


@pytest.mark.parametrize("seed", [100, 110, 117])
def test_moves_that_are_given_up(seed):
    system = agrees(DENIED_MOVES, seed=seed)
    assert counts(system, "failed_moves").sum() > 0


@pytest.mark.parametrize("seed", [206, 217, 225])
def test_all_verdicts_while_pages_move(seed):
    system = agrees(ALL, seed=seed)
    assert counts(system, "moved_pages").sum() > 0
    for name in ("redirected", "denied"):
        assert counts(system, name).sum() > 0


@pytest.mark.parametrize("seed", [300, 301, 304])
def test_requests_that_are_copied(seed):
    assert counts(agrees(COPIES, seed=seed), "mirrored").sum() > 200


@pytest.mark.parametrize("seed", [401, 402, 404, 413])
def test_requests_that_are_copied_while_pages_move(seed):
    system = agrees(COPIES_AND_MOVES, seed=seed)
    assert counts(system, "mirrored").sum() > 0
    assert counts(system, "moved_pages").sum() > 0


def test_another_place_of_a_page_and_another_count_are_faults():
    made = RandomSystem(config=TINY, actions=MOVES, seed=1, messages=1500)
    system = made.golden()
    moved = system.state.pages[0, 0, 0]
    assert moved[0]
    for row, place, message in (
        (moved, 2, r"island0: move_0_0 is \[1, 1, 2, 0, \d+\] instead of \[1, 1, 3, 0, \d+\]"),
        (system.state.counts[1], COUNTS.held_cycles, r"island1: \d+ held_cycles were counted"),
    ):
        row[place] += 1
        with pytest.raises(FaultError, match=message):
            made.compare(system)
        row[place] -= 1
