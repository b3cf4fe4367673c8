"""What every cost model of a device answers."""

from typing import Protocol

from fanweave.golden.dops.graph import OperatorClass
from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.dops.work import Step

__all__ = ["DeviceCosts", "join", "picoseconds"]


class DeviceCosts(Protocol):
    """Times of one device in picoseconds.

    `layout` is an index into `fanweave.golden.dops.layouts.Layout`: how the weights are stored
    at the host.
    """

    #: Whether `compute` of QK and SV contains the reading of keys and values that live here.
    reads_history: bool

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """Time of an operator whose weights are in the device's memory."""
        ...

    def load_local(self, size: int, layout: int) -> int:
        """Time to bring weights of `size` bytes that have arrived into place."""
        ...

    def read(self, size: int) -> int:
        """Time to read activations, keys or values out of its memory before they are sent."""
        ...


def picoseconds(seconds: float) -> int:
    """Round to whole picoseconds."""
    return round(seconds * PICOSECONDS)


def join(first: int, second: int, overlap: float) -> int:
    """Time of two parts of which the share `overlap` of the shorter one is hidden."""
    return first + second - round(overlap * min(first, second))
