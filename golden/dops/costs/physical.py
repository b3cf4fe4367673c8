"""Times that no peak of a device is too low for: what sound mode counts with."""

import math

from fanweave.golden.dops.costs.pim_line import line_time
from fanweave.golden.dops.costs.roofline import arithmetic_seconds
from fanweave.golden.dops.graph import COLLECTIVES, Kind, OperatorClass
from fanweave.golden.dops.layouts import storage_bytes
from fanweave.golden.dops.platforms import GIB, Device
from fanweave.golden.dops.work import Step, byte_count, flops, kv_elements, touched_weights, traffic

__all__ = ["Physical", "least_time"]

_PS = 10**12


def _bytes(work: OperatorClass, step: Step, bits: int) -> int:
    """All that an operator reads and writes: weights, activations, keys and values."""
    read, write = traffic(work, step)
    history = kv_elements(work, step)
    weights = touched_weights(work, step)
    return sum(byte_count(each, bits) for each in (weights, read, write, history))


def least_time(device: Device, work: OperatorClass, step: Step, bits: int) -> int:
    """Picoseconds that the peaks of a device allow for an operator, whole ones begun."""
    if work.kind in COLLECTIVES:
        return 0
    arithmetic = flops(work, step) / (device.peak_tflops * 1e12)
    memory = _bytes(work, step, bits) / (device.bandwidth_gib * GIB)
    return math.ceil(max(arithmetic, memory) * _PS)


class Physical:
    """The longer of arithmetic and memory traffic, all of it: weights, activations, history.

    A PIM streams weights, keys and values at its bandwidth and activations by lines.

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
        if work.kind is Kind.REDUCE:
            return math.ceil(arithmetic_seconds(self.device, step.tokens * work.hidden) * _PS)
        if work.kind in COLLECTIVES:
            return 0
        time = math.ceil(arithmetic_seconds(self.device, flops(work, step)) * _PS)
        return max(time, self._memory(work, step), least_time(self.device, work, step, self.bits))

    def _memory(self, work: OperatorClass, step: Step) -> int:
        if not self.device.line_bytes:
            return 0  # the peak is all that is known
        stored = byte_count(touched_weights(work, step) + kv_elements(work, step), self.bits)
        stream = math.ceil(stored / (self.device.bandwidth_gib * GIB) * _PS)
        return stream + line_time(
            self.device, *(byte_count(elements, self.bits) for elements in traffic(work, step))
        )

    def load_local(self, size: int, layout: int) -> int:
        """Weights are written at the memory's speed; a PIM writes lines."""
        size = storage_bytes(size, layout)
        if self.device.line_bytes:
            return line_time(self.device, 0, size)
        return math.ceil(size / (self.device.bandwidth_gib * GIB) * _PS)

    def read(self, size: int) -> int:
        """See `DeviceCosts`; elsewhere sending reads at the speed of the link."""
        return line_time(self.device, size, 0) if self.device.line_bytes else 0
