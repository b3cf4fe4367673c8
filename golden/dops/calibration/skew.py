"""What sequences of unequal length do to the time of attention.

Attention over n decode sequences is measured with n equal lengths. With unequal ones it takes
longer than with n times their mean, because the longest one ends last. How much longer was
measured for some batches; both models here are fitted to such measurements.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from fanweave.golden.dops.calibration.attention_table import AttentionTable
from fanweave.golden.dops.calibration.samples import ErrorSummary, relative_errors
from fanweave.golden.errors import InputError

__all__ = ["DecodeSkew", "MixedSkew", "SkewRow", "fit_mixed_skew", "read_decode_skew", "read_rows"]


class DecodeSkew:
    """Decode alone: a share of the way from the mean length to the greatest.

    The batch takes ``mean + share * (greatest - mean)``, where both times are those of n equal
    lengths: the mean and the greatest of the batch. The share goes by the lever
    ``greatest / mean - 1`` of the two times and by n; the nearest measured n on a logarithmic
    scale counts.

    Parameters
    ----------
    rows : iterable of (lever_up_to, n, share)
        Ranges of levers are named by their upper ends, the last one by infinity.
    """

    def __init__(self, rows: Iterable[tuple[float, int, float]]) -> None:
        cells: dict[float, list[tuple[int, float]]] = {}
        for lever, n, share in rows:
            cells.setdefault(lever, []).append((n, share))
        self._cells = [(lever, sorted(anchors)) for lever, anchors in sorted(cells.items())]

    def share(self, lever: float, sequences: int) -> float:
        """Share of the way from the mean to the greatest length; 0 where nothing is known."""
        for up_to, anchors in self._cells:
            if lever <= up_to:
                return _nearest(anchors, sequences)
        return 0.0

    def time_ps(self, attention: AttentionTable, n: int, mean: float, greatest: float) -> float:
        """Time of n decode sequences with some mean and greatest context."""
        even = attention.decode_ps(n, mean)
        gap = attention.decode_ps(n, greatest) - even
        if n < 2 or gap <= 0:
            return even
        return even + gap * self.share(gap / even, n)


def _nearest(anchors: Sequence[tuple[int, float]], sequences: int) -> float:
    best = anchors[0]
    for anchor in anchors[1:]:
        # The middle of two anchors is their geometric mean.
        if sequences * sequences > best[0] * anchor[0]:
            best = anchor
    return best[1]


@dataclass(frozen=True, kw_only=True)
class MixedSkew:
    """Decode in one batch with prefill: the longest sequence ends last.

    There, a sequence is not cut along its context, so beside the even batch a part of the
    time that the longest sequence takes longer than a mean one, each alone, is added.

    Attributes
    ----------
    share : float
        That part.
    error : ErrorSummary
        Errors of the model on the rows that it was fitted to.
    even_error : ErrorSummary
        Errors if all lengths are taken as the mean.
    """

    share: float
    error: ErrorSummary
    even_error: ErrorSummary

    def time_ps(
        self,
        attention: AttentionTable,
        chunk: int,
        context: float,
        n: int,
        mean: float,
        greatest: float,
    ) -> float:
        """Time of a chunk and n decode sequences with some mean and greatest context."""
        even = attention.mixed_ps(chunk, context, n, mean)
        if n < 2 or greatest <= mean:
            return even
        return even + self.share * _tail(attention, chunk, context, mean, greatest)


def _tail(
    attention: AttentionTable, chunk: int, context: float, mean: float, greatest: float
) -> float:
    longest = attention.mixed_ps(chunk, context, 1, greatest)
    return max(0.0, longest - attention.mixed_ps(chunk, context, 1, mean))


@dataclass(frozen=True, kw_only=True, slots=True)
class SkewRow:
    """A measured batch of short and long sequences beside a prefill chunk."""

    chunk: int
    sequences: int
    long: int
    short_context: int
    long_context: int
    time_ps: float

    @property
    def mean_context(self) -> float:
        """Mean context of the sequences."""
        short = (self.sequences - self.long) * self.short_context
        return (short + self.long * self.long_context) / self.sequences


def fit_mixed_skew(rows: Sequence[SkewRow], attention: AttentionTable) -> MixedSkew:
    """Fit the share of `MixedSkew` to measured batches: the least mean relative error."""
    even = np.array([attention.mixed_ps(r.chunk, 0, r.sequences, r.mean_context) for r in rows])
    tail = np.array([_tail(attention, r.chunk, 0, r.mean_context, r.long_context) for r in rows])
    measured = np.array([row.time_ps for row in rows])

    def loss(share: float) -> float:
        return float(np.abs((even + share * tail) / measured - 1).mean())

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
    share = round(float(found.x), 3)
    return MixedSkew(
        share=share,
        error=relative_errors(even + share * tail, measured),
        even_error=relative_errors(even, measured),
    )


def _table(path: Path, columns: Sequence[str]) -> list[list[float]]:
    """Columns of a CSV as numbers; an empty cell is infinity."""
    try:
        with path.open(newline="") as stream:
            return [
                [float(row[name] or "inf") for name in columns] for row in csv.DictReader(stream)
            ]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: expected the columns {', '.join(columns)}: {error}") from error


def read_decode_skew(path: Path) -> DecodeSkew:
    """Read ``lever_up_to,n_decode,share``; an empty end is infinity.

    Raises
    ------
    InputError
        If it cannot be read or a field is no number.
    """
    rows = _table(path, ("lever_up_to", "n_decode", "share"))
    return DecodeSkew((lever, int(n), share) for lever, n, share in rows)


def read_rows(path: Path) -> list[SkewRow]:
    """Read ``prefill_chunk,n_decode,n_long,kv_short,kv_long,time_us``.

    Raises
    ------
    InputError
        If it cannot be read or a field is no number.
    """
    columns = ("prefill_chunk", "n_decode", "n_long", "kv_short", "kv_long", "time_us")
    return [
        SkewRow(
            chunk=int(chunk),
            sequences=int(n),
            long=int(long),
            short_context=int(short),
            long_context=int(longest),
            time_ps=time * 1e6,
        )
        for chunk, n, long, short, longest, time in _table(path, columns)
    ]
