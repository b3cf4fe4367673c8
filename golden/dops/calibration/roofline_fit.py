"""Rooflines with efficiency curves, fitted to measured operators of one device."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from fanweave.golden.dops.calibration.samples import Sample
from fanweave.golden.dops.calibration.shapes import GEMM
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError

__all__ = [
    "GEMM_PARAMETERS",
    "ROWWISE_PARAMETERS",
    "WIDE_PARAMETERS",
    "OperatorFit",
    "fit_operators",
]

#: Tiles of a result that a matrix product may be cut into, rows by columns.
_TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
_LARGEST_TILE = 128 * 256
#: Names of the parameters in their order.
GEMM_PARAMETERS = (
    "start_s",
    "flops_per_s",
    "bytes_per_s",
    "ramp_k",
    "corner",
    "wave_share",
    "tile_loss",
)
ROWWISE_PARAMETERS = (
    "start_s",
    "elements_per_s",
    "cached_elements_per_s",
    "cached_elements",
    "sharpness",
)
#: Further ones, if rows of several widths were measured.
WIDE_PARAMETERS = ("wide_loss", "wide_elements")
#: Processors of a device that work on tiles at the same time, if not known.
_PROCESSORS = 128
_BYTES = 2
_LEAST_SAMPLES = 8
#: Widths of rows that tell what width does.
_LEAST_WIDTHS = 4

Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class OperatorFit:
    """A fitted curve.

    Attributes
    ----------
    kind : str
        ``"gemm"`` or ``"rowwise"``.
    processors : int
        Streaming multiprocessors of the device (matrix products only).
    values : tuple of float
        The solver's parameters; see `parameters` for their physical form.
    """

    kind: str
    processors: int
    values: tuple[float, ...]

    def seconds(self, sizes: Sequence[tuple[int, int, int]]) -> np.ndarray:
        """Predicted times of some (M, N, K)."""
        predict = _gemm(self.processors) if self.kind == GEMM else _rowwise
        return predict(np.asarray(self.values), np.asarray(sizes, np.float64).reshape(-1, 3))

    def time_ps(self, m: int, n: int, k: int) -> int:
        """Predicted time of one operator in picoseconds."""
        return round(float(self.seconds([(m, n, k)])[0]) * PICOSECONDS)

    @property
    def parameters(self) -> dict[str, float]:
        """Physical parameters by name."""
        if self.kind == GEMM:
            start, rate, traffic, ramp, corner, share, loss = self.values
            physical = (
                math.exp(start),
                math.exp(rate),
                math.exp(traffic),
                math.exp(ramp),
                1 + math.exp(corner),
                _share(share),
                math.exp(loss),
            )
            return dict(zip(GEMM_PARAMETERS, physical, strict=True))
        names = (*ROWWISE_PARAMETERS, *WIDE_PARAMETERS)[: len(self.values)]
        return dict(zip(names, map(math.exp, self.values), strict=True))


def _share(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _gemm(processors: int) -> Predict:
    """Roofline of a product whose arithmetic comes in waves of tiles.

    ``start + (compute^q + memory^q)^(1/q)``. Memory is all operands once at the fitted rate.
    Compute is the best choice of a tile: its work, for whole or fractional waves of tiles over
    the processors (mixed by a share), with a start-up of the sums (K + ramp), and the less
    efficient the smaller the tile.
    """

    def predict(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        m, n, k = sizes.T
        start, rate, traffic, ramp = np.exp(values[:4])
        corner, share, loss = 1 + np.exp(values[4]), _share(values[5]), np.exp(values[6])
        memory = _BYTES * (m * k + k * n + m * n) / traffic
        compute = np.full_like(m, np.inf)
        for rows, columns in _TILES:
            waves = np.ceil(m / rows) * np.ceil(n / columns) / processors
            waves = share * np.ceil(waves) + (1 - share) * waves
            work = waves * processors * rows * columns * 2 * (k + ramp) / rate
            compute = np.minimum(compute, work * (_LARGEST_TILE / (rows * columns)) ** loss)
        top = np.maximum(compute, memory)
        both = top * ((compute / top) ** corner + (memory / top) ** corner) ** (1 / corner)
        return start + both

    return predict


def _rowwise(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A start, and elements at a rate that falls once they no longer fit into the cache.

    If widths differ, rows that are too wide to stay near a processor cost more.
    """
    start, rate, cached_rate, cached, sharpness = np.exp(values[:5])
    elements = sizes[:, 0] * sizes[:, 1]
    outside = 1 / (1 + (cached / elements) ** min(sharpness, 50.0))
    body = elements * (outside / rate + (1 - outside) / cached_rate)
    if len(values) > len(ROWWISE_PARAMETERS):
        loss, wide = np.exp(values[5:])
        body = body * (1 + loss / (1 + (wide / sizes[:, 1]) ** 2))
    return np.hypot(start, body)


def _first_guess(samples: Sequence[Sample], kind: str) -> list[float]:
    seconds = np.array([sample.time_ps for sample in samples]) * 1e-12
    m, n, k = np.array([sample.sizes for sample in samples], np.float64).T
    start = 0.5 * seconds.min()
    if kind == GEMM:
        rate = (2 * m * n * k / seconds).max()
        traffic = (_BYTES * (m * k + k * n + m * n) / seconds).max()
        return [*np.log([start, 1.2 * rate, traffic, 64.0]), math.log(2.0), 0.0, math.log(0.1)]
    rate = (m * n / seconds).max()
    guess = [start, 0.5 * rate, rate, np.median(m * n), 4.0]
    if len(np.unique(n)) >= _LEAST_WIDTHS:
        guess += [0.3, 8192.0]
    return list(np.log(guess))


def fit_operators(samples: Sequence[Sample], *, processors: int = _PROCESSORS) -> OperatorFit:
    """Fit the curve of one kind of operator on one device.

    The relative error is minimized, with less weight on outliers.

    Parameters
    ----------
    samples : sequence of Sample
        Measurements of one kind, at least 8.
    processors : int
        Streaming multiprocessors of the device.

    Raises
    ------
    InputError
        If there are too few, or of two kinds.
    """
    kinds = {sample.kind for sample in samples}
    if len(samples) < _LEAST_SAMPLES or len(kinds) != 1:
        raise InputError(
            f"fit: {len(samples)} measurements of {len(kinds)} kinds; at least {_LEAST_SAMPLES} "
            "of one kind are needed"
        )
    (kind,) = kinds
    sizes = np.array([sample.sizes for sample in samples], np.float64)
    measured = np.log(np.array([sample.time_ps for sample in samples]) * 1e-12)
    predict = _gemm(processors) if kind == GEMM else _rowwise

    def residuals(values: np.ndarray) -> np.ndarray:
        return np.log(predict(values, sizes)) - measured

    guess = np.array(_first_guess(samples, kind))
    solution = least_squares(
        residuals, guess, loss="soft_l1", f_scale=0.05, bounds=(guess - 8.0, guess + 8.0)
    )
    return OperatorFit(
        kind=kind, processors=processors, values=tuple(float(value) for value in solution.x)
    )
