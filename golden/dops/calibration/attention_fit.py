"""Rooflines of attention, fitted to measured batches of prefill alone and of decode alone.

Batches of both at once are left to the table: no such curve came within 10% of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from fanweave.golden.dops.calibration.attention_table import AttentionRow
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError

__all__ = ["DECODE_PARAMETERS", "PREFILL_PARAMETERS", "AttentionFit", "fit_attention"]

DECODE_PARAMETERS = ("start_s", "bytes_per_s", "keys_per_s_alone", "corner", "sequence_s")
PREFILL_PARAMETERS = ("start_s", "flops_per_s", "keys_per_s_alone", "corner", "ramp_keys")
_QUERY_TILES = (64, 128)
_BYTES = 2
_LEAST_ROWS = 8

Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class AttentionFit:
    """A fitted curve of attention of one layer.

    Attributes
    ----------
    prefill : bool
        Whether it is that of prefill chunks, and not of decode.
    card : ModelCard
        The measured model.
    processors : int
        Streaming multiprocessors of the device.
    values : tuple of float
        Logarithms of the parameters.
    """

    prefill: bool
    card: ModelCard
    processors: int
    values: tuple[float, ...]

    def seconds(self, sizes: Sequence[tuple[int, int]]) -> np.ndarray:
        """Predicted times of some (chunk or sequences, context)."""
        predict = _prefill(self.card, self.processors) if self.prefill else _decode(self.card)
        return predict(np.asarray(self.values), np.asarray(sizes, np.float64).reshape(-1, 2))

    @property
    def parameters(self) -> dict[str, float]:
        """Physical parameters by name."""
        names = PREFILL_PARAMETERS if self.prefill else DECODE_PARAMETERS
        physical = [math.exp(value) for value in self.values]
        physical[3] += 1
        return dict(zip(names, physical, strict=True))


def _join(parts: list[np.ndarray], corner: float) -> np.ndarray:
    """The largest part, with a smooth corner where two are alike."""
    stacked = np.stack(parts)
    top = stacked.max(axis=0)
    return top * ((stacked / top) ** corner).sum(axis=0) ** (1 / corner)


def _decode(card: ModelCard) -> Predict:
    """Starting, reading all keys and values, and the longest chain of one sequence."""
    token = 2 * card.kv_heads * card.head_size * _BYTES

    def predict(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        sequences, context = sizes.T
        start, rate, alone, corner, each = np.exp(values)
        parts = [start + sequences * each, sequences * context * token / rate, context / alone]
        return _join(parts, 1 + corner)

    return predict


def _prefill(card: ModelCard, processors: int) -> Predict:
    """Waves of tiles of queries, one head each, over the keys before them."""

    def predict(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        chunk, context = sizes.T
        start, rate, alone, corner, ramp = np.exp(values)
        compute = np.full_like(chunk, np.inf)
        for queries in _QUERY_TILES:
            waves = np.ceil(np.ceil(chunk / queries) * card.heads / processors)
            flops = waves * processors * queries * 4 * card.head_size
            compute = np.minimum(compute, flops * (context + chunk / 2 + ramp) / rate)
        return start + _join([compute, (context + chunk) / alone], 1 + corner)

    return predict


def fit_attention(
    rows: Sequence[AttentionRow], card: ModelCard, *, prefill: bool, processors: int
) -> AttentionFit:
    """Fit attention of prefill alone or of decode alone.

    Parameters
    ----------
    rows : sequence of AttentionRow
        Measured batches; those of the other kind, or of both at once, are left out.
    card : ModelCard
        The measured model.
    prefill : bool
        Which kind.
    processors : int
        Streaming multiprocessors of the device.

    Raises
    ------
    InputError
        If fewer than 8 rows are of this kind.
    """
    kept = [
        ((chunk, context) if prefill else (n, decode_context), time)
        for chunk, context, n, decode_context, time in rows
        if (n == 0 if prefill else chunk == 0)
    ]
    if len(kept) < _LEAST_ROWS:
        raise InputError(
            f"fit of attention: {len(kept)} rows of {'prefill' if prefill else 'decode'} alone; "
            f"at least {_LEAST_ROWS} are needed"
        )
    sizes = np.array([size for size, _ in kept], np.float64)
    measured = np.array([time for _, time in kept]) * 1e-12
    predict = _prefill(card, processors) if prefill else _decode(card)
    guess = _first_guess(sizes, measured, card, prefill)

    def residuals(values: np.ndarray) -> np.ndarray:
        return np.log(predict(values, sizes) / measured)

    solution = least_squares(
        residuals, guess, loss="soft_l1", f_scale=0.05, bounds=(guess - 8.0, guess + 8.0)
    )
    return AttentionFit(
        prefill=prefill,
        card=card,
        processors=processors,
        values=tuple(float(value) for value in solution.x),
    )


def _first_guess(
    sizes: np.ndarray, measured: np.ndarray, card: ModelCard, prefill: bool
) -> np.ndarray:
    first, context = sizes.T
    start = 0.5 * measured.min()
    alone = ((context + first) / measured)[first == first.min()].max()
    if prefill:
        pairs = first * (context + first / 2) * card.heads
        rate = (pairs * 4 * card.head_size / measured).max()
        return np.log([start, rate, alone, 1.0, 64.0])
    token = 2 * card.kv_heads * card.head_size * _BYTES
    rate = (first * context * token / measured).max()
    return np.log([start, rate, alone, 1.0, start / first.max()])
