"""Crosses of coverage points, and what runs have hit of them."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Cell", "Cross", "Hits", "holes_of"]

#: A value of each axis.
Cell = tuple[str, ...]
#: How often each cell was met, by the name of its cross.
Hits = Mapping[str, Counter[Cell]]


@dataclass(frozen=True, kw_only=True)
class Cross:
    """All combinations of some axes.

    Attributes
    ----------
    name
        For reports.
    axes
        Values by the name of what takes them.
    possible
        Whether a cell can be met at all; what cannot is no hole.
    """

    name: str
    axes: Mapping[str, Sequence[str]]
    possible: Callable[[Cell], bool] = lambda cell: True

    def cells(self) -> list[Cell]:
        """Every cell that can be met."""
        return [cell for cell in itertools.product(*self.axes.values()) if self.possible(cell)]


def holes_of(cross: Cross, hits: Counter[Cell]) -> Iterator[tuple[Cell, int]]:
    """Name what was not met, in as few lines as one star an axis allows.

    Yields
    ------
    (Cell, int)
        A cell, with ``*`` where no possible value of an axis was met, and the holes it stands for.
    """
    cells = cross.cells()
    open_cells = [cell for cell in cells if not hits[cell]]
    # An axis whose values are all missing behind the others' is one line, the longest first.
    for count in range(len(cross.axes), 0, -1):
        for starred in itertools.combinations(range(len(cross.axes)), count):
            groups: dict[Cell, list[Cell]] = {}
            for cell in cells:
                groups.setdefault(_star(cell, starred), []).append(cell)
            for name, group in groups.items():
                if len(group) > 1 and set(group) <= set(open_cells):
                    yield name, len(group)
                    open_cells = [cell for cell in open_cells if cell not in group]
    yield from ((cell, 1) for cell in open_cells)


def _star(cell: Cell, starred: Sequence[int]) -> Cell:
    return tuple("*" if at in starred else value for at, value in enumerate(cell))
