"""Times of an operator by its number of tokens, with interpolation between the measured ones."""

import itertools
from bisect import bisect_left
from collections.abc import Sequence

from fanweave.golden.errors import InputError

__all__ = ["OperatorTable"]

#: Matrix products work on tiles of 64 or 128 tokens: their time jumps just after a multiple.
_TILE = 64


class OperatorTable:
    """Measured times at some sizes.

    Between two measured sizes a line is drawn. A matrix product is cut into tiles along the
    tokens, and its time jumps where a new tile begins, so where the edge of a tile lies between
    two measured sizes the jump is put there: sizes up to the edge take the time on the left,
    those behind it the time on the right.

    Parameters
    ----------
    sizes : sequence of int
        Measured sizes, increasing.
    times_ps : sequence of int
        Picoseconds, one for each.
    tiled : bool
        Whether the operator is a matrix product.

    Raises
    ------
    InputError
        If there is none, or the sizes do not increase.
    """

    def __init__(self, sizes: Sequence[int], times_ps: Sequence[int], *, tiled: bool) -> None:
        if len(sizes) == 0 or len(sizes) != len(times_ps):
            raise InputError(f"operator table: {len(sizes)} sizes and {len(times_ps)} times")
        if any(b <= a for a, b in itertools.pairwise(sizes)):
            raise InputError("operator table: sizes must increase without repetition")
        self.sizes = [int(size) for size in sizes]
        self.times_ps = [int(time) for time in times_ps]
        self.tiled = tiled

    @property
    def largest(self) -> int:
        """Largest measured size."""
        return self.sizes[-1]

    def covers(self, size: int) -> bool:
        """Whether a size lies between the smallest and the largest measured one."""
        return self.sizes[0] <= size <= self.largest

    def time_ps(self, size: int) -> int:
        """Time at a size in picoseconds.

        Below the smallest measured size it is that size's time; beyond the largest one it grows
        in proportion (see `covers`).
        """
        if size >= self.largest:
            return self.times_ps[-1] * size // self.largest
        right = bisect_left(self.sizes, size)
        if right == 0 or self.sizes[right] == size:
            return self.times_ps[right]
        low, high = self.sizes[right - 1], self.sizes[right]
        before, after = self.times_ps[right - 1], self.times_ps[right]
        if self.tiled:
            edge = (high - 1) // _TILE * _TILE
            if low <= edge:
                return before if size <= edge else after
        return before + (after - before) * (size - low) // (high - low)
