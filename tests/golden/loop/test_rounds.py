"""Fixpoints, cycles and the bound."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.loop.rounds import Ending, converge


def run(following, start=0, most=8):
    return converge(start, lambda state: (following[state], f"of {state}"), key=str, most=most)


def test_a_first_round_that_is_the_fixpoint_is_the_only_one():
    found = run({0: 0})
    assert found.ending is Ending.FIXPOINT
    assert [(each.number, each.before, each.result, each.after) for each in found.rounds] == [
        (1, 0, "of 0", 0)
    ]
    assert found.settled == found.rounds


def test_rounds_go_on_until_nothing_changes():
    found = run({0: 1, 1: 2, 2: 2})
    assert (found.ending, found.first) == (Ending.FIXPOINT, 3)
    assert [each.after for each in found.rounds] == [1, 2, 2]
    assert [each.number for each in found.settled] == [3]


def test_a_state_that_comes_again_is_a_cycle():
    found = run({0: 1, 1: 2, 2: 3, 3: 1})
    assert (found.ending, found.first) == (Ending.CYCLE, 2)
    assert [each.before for each in found.settled] == [1, 2, 3]


def test_the_bound():
    found = run({n: n + 1 for n in range(9)}, most=3)
    assert found.ending is Ending.BOUND
    assert [each.after for each in found.rounds] == [1, 2, 3]
    assert [each.number for each in found.settled] == [3]
    with pytest.raises(InputError, match="rounds = 0 must be at least 1"):
        run({0: 0}, most=0)


def test_the_key_says_what_counts():
    found = converge(0.1, lambda state: (state + 0.2, None), key=round, most=3)
    assert (found.ending, len(found.rounds)) == (Ending.FIXPOINT, 1)
