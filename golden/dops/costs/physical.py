"""Times that no peak of a device is too low for: what sound mode counts with."""

import math

import numpy as np

from fanweave.golden.dops.costs.pim_line import line_time
from fanweave.golden.dops.costs.roofline import arithmetic_seconds
from fanweave.golden.dops.graph import COLLECTIVES, Kind, OperatorClass
from fanweave.golden.dops.layouts import storage_bytes
from fanweave.golden.dops.platforms import GIB, PICOSECONDS, Device
from fanweave.golden.dops.work import Step, byte_count, flops, kv_elements, touched_weights, traffic

__all__ = ["Physical", "least_time", "memory_bytes", "operations", "weight_bytes"]


def operations(device: Device, work: OperatorClass, step: Step) -> int:
    """Floating-point operations that a device carries out: all, or those without a zero."""
    whole = flops(work, step)
    if not device.skips_zeros:
        return whole
    return math.ceil(whole * work.weight_density * work.activation_density)


def weight_bytes(device: Device, work: OperatorClass, step: Step, bits: int) -> int:
    """Bytes of weights that a device reads.

    One that skips zeros reads a bit a weight and those that are not zero, of rows for which some
    token has an input.
    """
    elements = touched_weights(work, step)
    if not device.skips_zeros or work.weight_density == work.activation_density == 1.0:
        return byte_count(elements, bits)
    asked = elements * (1.0 - (1.0 - work.activation_density) ** step.tokens)
    return math.ceil(asked * (work.weight_density * bits + 1) / 8)


def memory_bytes(device: Device, work: OperatorClass, step: Step, bits: int) -> int:
    """All that an operator reads and writes: weights, activations, keys and values."""
    others = (*traffic(work, step), kv_elements(work, step))
    return weight_bytes(device, work, step, bits) + sum(byte_count(each, bits) for each in others)


def _rate(device: Device, work: OperatorClass, phase: str) -> float:
    """Share of the peak that a Ventaglio cluster was measured to reach: for this kind of operator
    in this phase, or else at its density."""
    for kind, when, share in device.busy_of:
        if (kind, when) == (work.kind, phase):
            return share
    densities, shares = zip(*device.busy, strict=True)
    return float(np.interp(work.weight_density, densities, shares))


def least_time(device: Device, work: OperatorClass, step: Step, bits: int) -> int:
    """Picoseconds that the peaks of a device allow for an operator, whole ones begun."""
    if work.kind in COLLECTIVES:
        return 0
    arithmetic = 0.0
    if device.computes:
        arithmetic = operations(device, work, step) / (device.peak_tflops * 1e12)
    memory = memory_bytes(device, work, step, bits) / (device.bandwidth_gib * GIB)
    return math.ceil(max(arithmetic, memory) * PICOSECONDS)


class Physical:
    """The longer of arithmetic and memory traffic, all of it: weights, activations, history.

    A PIM streams weights, keys and values at its bandwidth and activations by lines. A Ventaglio
    cluster leaves out zeros on both sides, at the rate that was measured in RTL.

    Parameters
    ----------
    device : Device
    bits : int
        Bits of an element.
    """

    reads_history = True

    def __init__(self, device: Device, bits: int) -> None:
        self.device, self.bits = device, bits

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`; of a reduction, the time to add one piece."""
        if work.kind is Kind.REDUCE and self.device.computes:
            return math.ceil(
                arithmetic_seconds(self.device, step.tokens * work.hidden) * PICOSECONDS
            )
        if work.kind in COLLECTIVES:
            return 0
        if not self.device.computes:  # it stores keys and values
            return least_time(self.device, work, step, self.bits)
        seconds = arithmetic_seconds(self.device, operations(self.device, work, step))
        time = math.ceil(seconds * PICOSECONDS)
        if self.device.busy:
            time = math.ceil(seconds / _rate(self.device, work, step.phase) * PICOSECONDS)
        return max(time, self._memory(work, step), least_time(self.device, work, step, self.bits))

    def _memory(self, work: OperatorClass, step: Step) -> int:
        if not self.device.line_bytes:
            return 0  # the peak is all that is known
        stored = byte_count(touched_weights(work, step) + kv_elements(work, step), self.bits)
        stream = math.ceil(stored / (self.device.bandwidth_gib * GIB) * PICOSECONDS)
        return stream + line_time(
            self.device, *(byte_count(elements, self.bits) for elements in traffic(work, step))
        )

    def load_local(self, size: int, layout: int) -> int:
        """Weights are written at the memory's speed; a PIM writes lines."""
        size = storage_bytes(size, layout)
        if self.device.line_bytes:
            return line_time(self.device, 0, size)
        return math.ceil(size / (self.device.bandwidth_gib * GIB) * PICOSECONDS)

    def read(self, size: int) -> int:
        """See `DeviceCosts`; elsewhere sending reads at the speed of the link."""
        return line_time(self.device, size, 0) if self.device.line_bytes else 0
