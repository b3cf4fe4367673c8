"""Carries measured operators over to sizes and splits that were not measured."""

import functools

from fanweave.golden.dops.calibration.operator_table import OperatorTable
from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.dops.calibration.roofline_fit import OperatorFit, fit_operators
from fanweave.golden.dops.calibration.samples import Sample
from fanweave.golden.dops.calibration.shapes import GEMM, operator_shape
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.timing.deployment import Deployment

__all__ = ["OperatorScaling"]

#: Products whose sums are cut by tensor parallelism; the others lose columns.
_CUT_ALONG_K = ("o_proj", "down_proj")
#: Row-wise operators whose rows are cut.
_CUT_ROWS = ("act_fn", "rotary_emb", "sampler")
_ACTIVATION_BYTES = 2


class OperatorScaling:
    """Times of operators under a deployment, from a profile of one device.

    - A product of other sizes takes its measured time multiplied by the ratio of the fitted
      times of both sizes.
    - What tensor parallelism cuts of a row-wise operator or of attention shortens its time
      beyond its start.
    - Decode attention reads the cache, so its time beyond its start goes with the bits of it.
    - Each layer has two ring all-reduces over the devices of its stage.

    Parameters
    ----------
    profile : DeviceProfile
        Measured operators.
    deployment : Deployment
        Devices and precision.
    """

    def __init__(self, profile: DeviceProfile, deployment: Deployment) -> None:
        self._profile, self._deployment = profile, deployment
        self._tensor = deployment.tensor

    def operator_ps(self, name: str, table: OperatorTable, size: int) -> int:
        """Time of an operator at some tokens or sequences."""
        shape = operator_shape(name, self._profile.card)
        if shape is None or (self._tensor == 1 and size <= table.largest):
            return table.time_ps(size)
        kind, n, k = shape
        if kind == GEMM:
            cut_n = n if name in _CUT_ALONG_K else -(-n // self._tensor)
            cut_k = -(-k // self._tensor) if name in _CUT_ALONG_K else k
            known = min(size, table.largest)
            fit = self._fit
            ratio = fit.time_ps(size, cut_n, cut_k) / fit.time_ps(known, n, k)
            return round(table.time_ps(known) * ratio)
        time = table.time_ps(size)
        if name in _CUT_ROWS:
            start = min(table.times_ps)
            return start + (time - start) // self._tensor
        return time

    @functools.cached_property
    def _fit(self) -> OperatorFit:
        """Fit of all products of the profile."""
        samples = []
        for name, table in {**self._profile.dense, **self._profile.per_sequence}.items():
            shape = operator_shape(name, self._profile.card)
            if shape is None or shape[0] != GEMM:
                continue
            for size, time in zip(table.sizes, table.times_ps, strict=True):
                samples.append(
                    Sample(operator=name, kind=GEMM, m=size, n=shape[1], k=shape[2], time_ps=time)
                )
        return fit_operators(samples, processors=self._profile.processors)

    def prefill_attention_ps(self, time: float) -> int:
        """Attention of prefill chunks, with the heads of one device."""
        start = self._profile.attention.floor_ps
        return round(start + (time - start) / self._tensor)

    def decode_attention_ps(self, time: float, *, floor: float | None = None) -> int:
        """Attention of decode sequences, with the heads of one device and the cache's bits."""
        start = min(time, self._profile.attention.floor_ps) if floor is None else floor
        return round(start + (time - start) / self._tensor * self._deployment.kv_bits / 16)

    def all_reduce_ps(self, tokens: int) -> int:
        """Both all-reduces of one layer."""
        devices = self._tensor
        if devices == 1:
            return 0
        size = tokens * self._profile.card.hidden * _ACTIVATION_BYTES
        hops = 2 * (devices - 1)
        one = hops * self._deployment.link_latency_ps + round(
            hops * size / devices / self._deployment.link_bytes_per_s * PICOSECONDS
        )
        return 2 * one

    def transfer_ps(self, tokens: int) -> int:
        """Sending the activations of a step from one stage to the next."""
        if self._deployment.pipeline == 1:
            return 0
        size = tokens * self._profile.card.hidden * _ACTIVATION_BYTES
        return self._deployment.link_latency_ps + round(
            size / self._deployment.link_bytes_per_s * PICOSECONDS
        )
