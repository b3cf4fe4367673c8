"""Processing in memory by lines: each access to all banks has a fixed time."""

from fanweave.golden.dops.costs.device import picoseconds
from fanweave.golden.dops.costs.roofline import arithmetic_seconds
from fanweave.golden.dops.graph import COLLECTIVES, OperatorClass
from fanweave.golden.dops.layouts import Layout, storage_bytes
from fanweave.golden.dops.platforms import GIB, Device
from fanweave.golden.dops.work import Step, byte_count, flops, traffic

__all__ = ["LinePim", "line_time"]


def line_time(device: Device, read: int, write: int) -> int:
    """Picoseconds to read and write so many bytes, in whole lines."""
    lines = -(-read // device.line_bytes), -(-write // device.line_bytes)
    return round((lines[0] * device.read_ns + lines[1] * device.write_ns) * 1000)


class LinePim:
    """The published fast model: weights stream at full bandwidth, activations go by lines."""

    reads_history = False

    def __init__(self, device: Device, bits: int) -> None:
        self.device, self.bits = device, bits

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`; weights are always in the device's own layout when they compute."""
        if work.kind in COLLECTIVES:
            return 0
        read, write = (byte_count(elements, self.bits) for elements in traffic(work, step))
        if work.weights:
            size = byte_count(work.weights, self.bits) + read + write
            memory = picoseconds(size / (self.device.bandwidth_gib * GIB))
        else:
            memory = line_time(self.device, read, write)
        return max(memory, picoseconds(arithmetic_seconds(self.device, flops(work, step))))

    def load_local(self, size: int, layout: int) -> int:
        """Weights are written by lines, without conversion."""
        stored = Layout.PIM if layout == Layout.DUAL else layout
        return line_time(self.device, 0, storage_bytes(size, stored))

    def read(self, size: int) -> int:
        """See `DeviceCosts`."""
        return line_time(self.device, size, 0)
