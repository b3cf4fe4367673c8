"""One measured operator, and how well something else agrees with many of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fanweave.golden.errors import InputError

__all__ = ["ErrorSummary", "Sample", "merge_duplicates", "relative_errors"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A measured time of one operator.

    Attributes
    ----------
    operator : str
        Its name in the measurements, such as ``"qkv_proj"``.
    kind : str
        ``"gemm"`` or ``"rowwise"``: which fit describes it.
    m, n, k : int
        A product of M x K by K x N; for a row-wise operator M rows of N elements and K = 0.
    time_ps : int
        Picoseconds.

    Raises
    ------
    InputError
        If a size or the time is not positive.
    """

    operator: str
    kind: str
    m: int
    n: int
    k: int
    time_ps: int

    def __post_init__(self) -> None:
        least_k = 1 if self.kind == "gemm" else 0
        if self.m < 1 or self.n < 1 or self.k < least_k:
            raise InputError(
                f"operator {self.operator!r}: sizes m = {self.m}, n = {self.n}, k = {self.k} "
                "must be positive"
            )
        if self.time_ps <= 0:
            raise InputError(
                f"operator {self.operator!r}, m = {self.m}: time {self.time_ps} ps must be positive"
            )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N and K."""
        return self.m, self.n, self.k


@dataclass(frozen=True, kw_only=True)
class ErrorSummary:
    """Relative errors of predicted times: |predicted / measured - 1|.

    Attributes
    ----------
    count : int
        Pairs that were compared.
    mean, p95, worst : float
        Mean, 95th percentile and maximum; 0 without pairs.
    bias : float
        Mean of the signed errors.
    """

    count: int
    mean: float
    p95: float
    worst: float
    bias: float


def relative_errors(
    predicted: Sequence[float] | np.ndarray, measured: Sequence[float] | np.ndarray
) -> ErrorSummary:
    """Summarize how far predictions are from measurements."""
    if len(measured) == 0:
        return ErrorSummary(count=0, mean=0.0, p95=0.0, worst=0.0, bias=0.0)
    signed = np.asarray(predicted, np.float64) / np.asarray(measured, np.float64) - 1.0
    size = np.abs(signed)
    return ErrorSummary(
        count=len(signed),
        mean=float(size.mean()),
        p95=float(np.percentile(size, 95)),
        worst=float(size.max()),
        bias=float(signed.mean()),
    )


def merge_duplicates(samples: Sequence[Sample]) -> list[Sample]:
    """Replace measurements of one operator at one size by their median, sorted by size.

    A size that stands in a file twice would otherwise be on both sides of a held-out split.
    """
    groups: dict[tuple[str, str, int, int, int], list[int]] = {}
    for sample in samples:
        key = (sample.operator, sample.kind, *sample.sizes)
        groups.setdefault(key, []).append(sample.time_ps)
    return [
        Sample(operator=name, kind=kind, m=m, n=n, k=k, time_ps=round(float(np.median(times))))
        for (name, kind, m, n, k), times in sorted(groups.items())
    ]
