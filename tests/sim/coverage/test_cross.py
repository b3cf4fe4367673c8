from collections import Counter

import pytest

from fanweave.sim.coverage.cross import Cross, holes_of

CROSS = Cross(
    name="shapes",
    axes={"colour": ("red", "green"), "size": ("small", "large")},
    possible=lambda cell: cell != ("green", "large"),
)


def holes(*met):
    return list(holes_of(CROSS, Counter(met)))


def test_cells_are_all_that_can_be_met():
    assert CROSS.cells() == [("red", "small"), ("red", "large"), ("green", "small")]


@pytest.mark.parametrize(
    ("met", "named"),
    [
        ((), [(("*", "*"), 3)]),
        ((("red", "large"),), [(("*", "small"), 2)]),
        ((("green", "small"),), [(("red", "*"), 2)]),
        ((("red", "small"),), [(("red", "large"), 1), (("green", "small"), 1)]),
        (tuple(CROSS.cells()), []),
    ],
)
def test_holes_are_named_in_few_lines(met, named):
    assert holes(*met) == named
