"""Roofline with a utilisation that grows with the size of the operator."""

import math

from fanweave.golden.dops.costs.device import picoseconds
from fanweave.golden.dops.graph import COLLECTIVES, KV_WRITERS, Kind, OperatorClass
from fanweave.golden.dops.layouts import storage_bytes
from fanweave.golden.dops.platforms import GIB, Device, Utilisation
from fanweave.golden.dops.work import Step, byte_count, flops, traffic

__all__ = ["Host", "Roofline", "arithmetic_seconds", "utilisation"]


def utilisation(curve: Utilisation | None, operations: int) -> float:
    """Share of the peak that so many floating-point operations reach."""
    if curve is None:
        return 1.0
    if operations <= curve.flops_low:
        return curve.low
    if operations >= curve.flops_high:
        return curve.high
    distance = math.log10(operations) - math.log10(curve.knee_flops)
    return curve.low + (curve.high - curve.low) / (1.0 + math.exp(-curve.slope * distance))


def arithmetic_seconds(device: Device, operations: int) -> float:
    """Seconds that the arithmetic alone takes."""
    if operations <= 0:
        return 0.0
    rate = device.peak_tflops * 1e12 * utilisation(device.utilisation, operations)
    return operations / rate


class Roofline:
    """The longer of arithmetic and memory traffic.

    Parameters
    ----------
    device : Device
    bits : int
        Bits of an element.
    activations : bool
        Whether an operator with weights also pays for the activations it reads and writes;
        the two stored versions of the published model differ in this.
    """

    reads_history = False

    def __init__(self, device: Device, bits: int, *, activations: bool = True) -> None:
        self.device, self.bits, self.activations = device, bits, activations

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`; the layout only changes the bytes of the weights."""
        if work.kind in COLLECTIVES:
            return 0
        size = storage_bytes(byte_count(work.weights, self.bits), layout)
        if self.activations or not work.weights:
            size += sum(byte_count(elements, self.bits) for elements in traffic(work, step))
        memory = size / (self.device.bandwidth_gib * GIB)
        return picoseconds(max(arithmetic_seconds(self.device, flops(work, step)), memory))

    def load_local(self, size: int, layout: int) -> int:
        """Weights arrive where they are used."""
        return 0

    def read(self, size: int) -> int:
        """Sending reads at the speed of the link."""
        return 0


class Host(Roofline):
    """The host: it stores keys and values for nothing and adds up pieces."""

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`; of a reduction, the time to add one piece."""
        if work.kind in KV_WRITERS:
            return 0
        if work.kind is Kind.REDUCE:
            return picoseconds(arithmetic_seconds(self.device, step.tokens * work.hidden))
        return super().compute(work, step, layout)
