"""Times of attention by prefill chunk, its context, decode sequences and their context."""

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from fanweave.golden.errors import InputError

__all__ = ["AttentionRow", "AttentionTable"]

#: prefill chunk, context of the chunk, decode sequences, their context, picoseconds
AttentionRow = tuple[int, int, int, int, float]


class AttentionTable:
    """Measured attention of one layer, interpolated linearly in all four sizes.

    Measurements lie on grids that need not be the same for every chunk: the grid of a chunk is
    brought to the union of all contexts by interpolation within it, and where it does not reach,
    by the shape of the neighbouring chunks, shifted so that both agree at its end.

    Parameters
    ----------
    rows : iterable of (chunk, context, sequences, decode_context, time_ps)
        One row a measured batch; a batch without prefill has chunk 0, one without decode has 0
        sequences.

    Raises
    ------
    InputError
        If a row stands twice, or there is no row of pure prefill or none of pure decode.
    """

    def __init__(self, rows: Iterable[AttentionRow]) -> None:
        table: dict[tuple[int, int, int, int], float] = {}
        for chunk, context, sequences, decode_context, time_ps in rows:
            key = (chunk, context, sequences, decode_context)
            if key in table:
                raise InputError(
                    f"attention table: chunk {chunk}, context {context}, {sequences} sequences "
                    f"with context {decode_context} stands twice"
                )
            table[key] = time_ps
        decode = {(n, c): t for (chunk, _, n, c), t in table.items() if chunk == 0}
        mixed = {key: t for key, t in table.items() if key[0] > 0}
        if not decode or not any(key[2] == 0 for key in mixed):
            raise InputError("attention table: needs rows of pure decode and of pure prefill")
        self._sequences, self._contexts, self._decode = _grid2(decode)
        self._fill_mixed(mixed)

    def _fill_mixed(self, mixed: dict[tuple[int, int, int, int], float]) -> None:
        self._chunks = sorted({key[0] for key in mixed})
        self._chunk_contexts = sorted({key[1] for key in mixed})
        self._mixed_sequences = sorted({key[2] for key in mixed})
        self._mixed_contexts = sorted({key[3] for key in mixed if key[2]})
        shape = (len(self._chunks), len(self._chunk_contexts), len(self._mixed_sequences))
        cube = np.full((*shape, max(1, len(self._mixed_contexts))), np.nan)
        index = [
            {value: at for at, value in enumerate(axis)}
            for axis in (self._chunks, self._chunk_contexts, self._mixed_sequences)
        ]
        contexts = {value: at for at, value in enumerate(self._mixed_contexts)}
        for (chunk, context, sequences, decode_context), time_ps in mixed.items():
            place = index[0][chunk], index[1][context], index[2][sequences]
            if sequences == 0:
                cube[place] = time_ps
            else:
                cube[(*place, contexts[decode_context])] = time_ps
        _fill_along(cube, 1, self._chunk_contexts)
        _fill_along(cube, 3, self._mixed_contexts)
        _fill_along(cube, 1, self._chunk_contexts)
        _fill_from_neighbours(cube, self._chunks)
        if np.isnan(cube).any():
            raise InputError("attention table: too few rows to cover its grid")
        self._cube = cube
        self._prefill = cube[:, :, 0, 0].copy()
        # Reading one element of nested lists is much faster than of an array.
        self._decode_rows = self._decode.tolist()
        self._prefill_rows = self._prefill.tolist()
        self._cube_rows = cube.tolist()

    @property
    def floor_ps(self) -> float:
        """Least measured time of a prefill chunk: what starting the kernel costs."""
        return float(self._prefill.min())

    def covers(self, chunk: int, context: int, sequences: int, decode_context: int) -> bool:
        """Whether a batch lies within the measured sizes."""
        if chunk:
            if chunk > self._chunks[-1] or context > self._chunk_contexts[-1]:
                return False
            return sequences <= self._mixed_sequences[-1] and (
                decode_context <= self._mixed_contexts[-1] if sequences else True
            )
        return sequences <= self._sequences[-1] and decode_context <= self._contexts[-1]

    def decode_ps(self, sequences: int, context: float) -> float:
        """Time of decode alone: sequences of equal context."""
        row, x = _place(self._sequences, sequences)
        column, y = _place(self._contexts, context)
        upper, lower = self._decode_rows[row], self._decode_rows[row + 1]
        at_upper = upper[column] + (upper[column + 1] - upper[column]) * y
        at_lower = lower[column] + (lower[column + 1] - lower[column]) * y
        return max(at_upper + (at_lower - at_upper) * x, 0.0)

    def uncut_ps(self, sequences: int, context: float) -> float:
        """Time of decode in a kernel that does not cut sequences along their context.

        Such a kernel was measured only with prefill beside, so the smallest measured chunk is.
        """
        return self.mixed_ps(self._chunks[0], 0, sequences, context)

    def prefill_ps(self, chunk: int, context: float) -> float:
        """Time of one prefill chunk alone, after `context` tokens that are stored."""
        row, x = _place(self._chunks, max(chunk, self._chunks[0]))
        column, y = _place(self._chunk_contexts, context)
        upper, lower = self._prefill_rows[row], self._prefill_rows[row + 1]
        at_upper = upper[column] + (upper[column + 1] - upper[column]) * y
        at_lower = lower[column] + (lower[column + 1] - lower[column]) * y
        return max(at_upper + (at_lower - at_upper) * x, 0.0)

    def mixed_ps(self, chunk: int, context: float, sequences: int, decode_context: float) -> float:
        """Time of a prefill chunk and decode sequences in one batch."""
        places = (
            _place(self._chunks, max(chunk, self._chunks[0])),
            _place(self._chunk_contexts, context),
            _place(self._mixed_sequences, sequences),
            _place(self._mixed_contexts, decode_context),
        )
        (i, x), (j, y), (k, z), (m, w) = places
        total = 0.0
        for a, along_a in ((i, 1.0 - x), (i + 1, x)):
            for b, along_b in ((j, 1.0 - y), (j + 1, y)):
                plane = self._cube_rows[a][b]
                for c, along_c in ((k, 1.0 - z), (k + 1, z)):
                    row = plane[c]
                    value = row[m] + (row[m + 1] - row[m]) * w
                    total += along_a * along_b * along_c * value
        return max(total, 0.0)


def _place(axis: list[int], value: float) -> tuple[int, float]:
    """Index of the interval of a value, and how far into it; beyond the ends it goes on."""
    at = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    return at, (value - axis[at]) / (axis[at + 1] - axis[at])


def _grid2(values: dict[tuple[int, int], float]) -> tuple[list[int], list[int], np.ndarray]:
    first = sorted({key[0] for key in values})
    second = sorted({key[1] for key in values})
    grid = np.array([[values.get((a, b), np.nan) for b in second] for a in first])
    _fill_along(grid, 1, second)
    _fill_along(grid, 0, first)
    if np.isnan(grid).any() or min(grid.shape) < 2:
        raise InputError("attention table: too few rows of pure decode to cover their grid")
    return first, second, grid


def _fill_along(array: np.ndarray, axis: int, coordinates: list[int]) -> None:
    """Interpolate missing values between known ones along an axis; none beyond the ends."""
    lines = np.moveaxis(array, axis, -1)
    points = np.asarray(coordinates, np.float64)
    for where in np.ndindex(lines.shape[:-1]):
        line = lines[where]
        known = ~np.isnan(line)
        if known.sum() < 2 or known.all():
            continue
        inside = (points >= points[known][0]) & (points <= points[known][-1])
        line[inside] = np.interp(points[inside], points[known], line[known])


def _fill_from_neighbours(cube: np.ndarray, chunks: list[int]) -> None:
    """Fill what lies before the first decode context of a chunk's own grid.

    The shape comes from the chunks on both sides that were measured there, and is shifted to
    meet the chunk's own values.
    """
    points = np.asarray(chunks, np.float64)
    whole = ~np.isnan(cube).any(axis=(1, 2, 3))
    for at in np.flatnonzero(~whole):
        shape = _between(cube, points, whole, int(at))
        own = cube[at]
        missing = np.isnan(own)
        first = np.argmax(~missing, axis=-1)
        offset = np.take_along_axis(own - shape, first[..., None], axis=-1)
        own[missing] = (shape + np.nan_to_num(offset))[missing]


def _between(cube: np.ndarray, points: np.ndarray, whole: np.ndarray, at: int) -> np.ndarray:
    below = [i for i in np.flatnonzero(whole) if i < at]
    above = [i for i in np.flatnonzero(whole) if i > at]
    if not below or not above:
        raise InputError("attention table: the smallest and the largest chunk need a full grid")
    low, high = below[-1], above[0]
    share = (points[at] - points[low]) / (points[high] - points[low])
    return cube[low] + (cube[high] - cube[low]) * share
