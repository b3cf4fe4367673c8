"""Surrogate of a trace-driven simulation of processing in memory.

Fitted to two stored traces of the published model (Qwen-1.8B at fp16 and Mixtral-8x7B at int8,
a context of about 2048): a transcription, good near those shapes. Every token of every sequence
repeats the whole operator; nothing is shared in a batch, and bytes of an element do not matter.
"""

import math

from fanweave.golden.dops.costs.device import picoseconds
from fanweave.golden.dops.costs.pim_line import LinePim, line_time
from fanweave.golden.dops.costs.roofline import arithmetic_seconds
from fanweave.golden.dops.graph import COLLECTIVES, KV_WRITERS, Kind, OperatorClass
from fanweave.golden.dops.layouts import pim_placing
from fanweave.golden.dops.platforms import Device
from fanweave.golden.dops.work import Step, byte_count, flops, traffic

__all__ = ["TracePim"]

#: Microseconds a token of a matrix-vector product: a constant, and elements a microsecond.
_PRODUCTS = {
    Kind.Q: (0.687, 1.72e6),
    Kind.K: (0.76, 1.72e6),
    Kind.V: (0.76, 1.72e6),
    Kind.O: (0.249, 1.72e6),
    Kind.W1: (1.699, 1.72e6),
    Kind.W3: (1.095, 1.83e6),
    Kind.W2: (1.074, 1.72e6),
}
#: Keys of one row of the simulated memory: attention goes in steps of these.
_ROW = 512


class TracePim:
    """Times by surrogate; see the module."""

    reads_history = True

    def __init__(self, device: Device, bits: int) -> None:
        self.device, self.bits = device, bits
        self._lines = LinePim(device, bits)

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`."""
        if work.kind in COLLECTIVES:
            return 0
        if work.kind in KV_WRITERS:
            return self._lines.compute(work, step, layout)
        if work.kind is Kind.ROUTER:
            # Not simulated: activations by lines, the weights for nothing.
            read, write = (byte_count(elements, self.bits) for elements in traffic(work, step))
            memory = line_time(self.device, read, write)
            return max(memory, picoseconds(arithmetic_seconds(self.device, flops(work, step))))
        return picoseconds(step.tokens * self._a_token(work, step.context) * 1e-6)

    @staticmethod
    def _a_token(work: OperatorClass, context: int) -> float:
        """Microseconds of one token of one sequence."""
        if work.kind in _PRODUCTS:
            constant, rate = _PRODUCTS[work.kind]
            return constant + work.weights / rate
        rows = math.ceil(context / _ROW)
        group = work.heads // work.kv_heads
        match work.kind:
            case Kind.QK:
                # Heads of keys go at once, the queries of one group one after the other.
                return 1.04 * group * rows
            case Kind.SV:
                return 1.528 * group * rows
            case Kind.SOFTMAX:
                share = max(0.1333 * rows, 0.1333 * rows + 3.2e-4 * context - 0.188)
                return (3.90 + 0.304 * work.heads) * share
            case Kind.LN:
                return 1.324 + 7.7e-5 * work.hidden
            case Kind.SWIGLU:
                return 0.296 + 7.42e-5 * work.intermediate
        return 0.00375  # Add

    def load_local(self, size: int, layout: int) -> int:
        """Weights are converted while they are written."""
        return picoseconds(pim_placing(size, layout))

    def read(self, size: int) -> int:
        """See `DeviceCosts`."""
        return line_time(self.device, size, 0)
