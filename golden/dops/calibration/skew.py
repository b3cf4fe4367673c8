"""What sequences of unequal length do to the time of decode attention."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fanweave.golden.errors import InputError

__all__ = ["SkewTable", "read_skew"]


@dataclass(frozen=True)
class _Cell:
    """Shares at some numbers of sequences, for one range of prefill tokens and of levers."""

    prefill_up_to: float
    lever_up_to: float
    anchors: tuple[tuple[int, float], ...]


class SkewTable:
    """Share of the way from the time at the mean length to that at the greatest length.

    Attention over n sequences is measured with n equal lengths. With unequal ones it takes
    ``mean + share * (greatest - mean)``, where both times are those of n equal lengths: the mean
    and the greatest of the batch. The share was fitted to measured batches of unequal lengths, by
    prefill tokens beside the batch, by the lever ``greatest / mean - 1`` of the two times, and by
    n (the nearest measured n on a logarithmic scale).

    Parameters
    ----------
    rows : iterable of (prefill_up_to, lever_up_to, n, share)
        Ranges are named by their upper ends, the last one by infinity.
    """

    def __init__(self, rows: Iterable[tuple[float, float, int, float]]) -> None:
        cells: dict[tuple[float, float], list[tuple[int, float]]] = {}
        for prefill, lever, n, share in rows:
            cells.setdefault((prefill, lever), []).append((n, share))
        self._cells = [
            _Cell(prefill, lever, tuple(sorted(anchors)))
            for (prefill, lever), anchors in sorted(cells.items())
        ]

    def share(self, prefill_tokens: int, lever: float, sequences: int) -> float:
        """Share of the way from the mean to the greatest length; 0 where nothing is known."""
        for cell in self._cells:
            if prefill_tokens <= cell.prefill_up_to and lever <= cell.lever_up_to:
                return _nearest(cell.anchors, sequences)
        return 0.0

    def stretched(
        self, mean_time: float, greatest_time: float, prefill_tokens: int, sequences: int
    ) -> float:
        """Time of a batch of unequal lengths from those of two batches of equal ones."""
        gap = greatest_time - mean_time
        if sequences < 2 or gap <= 0:
            return mean_time
        return mean_time + gap * self.share(prefill_tokens, gap / mean_time, sequences)


def _nearest(anchors: tuple[tuple[int, float], ...], sequences: int) -> float:
    best = anchors[0]
    for anchor in anchors[1:]:
        # The middle of two anchors is their geometric mean.
        if sequences * sequences > best[0] * anchor[0]:
            best = anchor
    return best[1]


def read_skew(path: Path) -> SkewTable:
    """Read ``prefill_tokens_up_to,lever_up_to,n_decode,share``; an empty end is infinity.

    Raises
    ------
    InputError
        If it cannot be read or a field is no number.
    """
    infinity = float("inf")
    rows = []
    try:
        with path.open(newline="") as stream:
            for row in csv.DictReader(stream):
                rows.append(
                    (
                        float(row["prefill_tokens_up_to"] or infinity),
                        float(row["lever_up_to"] or infinity),
                        int(row["n_decode"]),
                        float(row["share"]),
                    )
                )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: not a table of skews: {error}") from error
    return SkewTable(rows)
