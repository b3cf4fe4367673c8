"""Layouts in which weights are stored at the host, and what bringing them into place costs."""

from enum import IntEnum
from fractions import Fraction

__all__ = [
    "LAYOUTS",
    "Layout",
    "host_bytes",
    "npu_conversion",
    "pim_placing",
    "storage_bytes",
]


class Layout(IntEnum):
    """Layout of a weight matrix at the host."""

    LINEAR = 0  # row by row ("ND")
    NPU = 1  # in the NPU's tiles ("NZ")
    PIM = 2  # as a PIM's banks want it ("PIM-OPT")
    DUAL = 3  # two copies: each device gets its own


LAYOUTS = tuple(Layout)

#: Bytes that are stored and sent for each byte of weights: the newest stored configuration of
#: the published model; an older one has 1.2 for linear and 1 for tiles.
_SIZE = {
    Layout.LINEAR: Fraction(1),
    Layout.NPU: Fraction(9, 10),
    Layout.PIM: Fraction(1),
    Layout.DUAL: Fraction(1),
}

#: Steps of a conversion: microseconds of overhead and 1e9 bytes a second. The table of the
#: published model is not public. 16.2 GB/s and 2 us are exact in its traces; the two steps on
#: the NPU are half each of what its traces have together; those from and to other layouts are
#: fallbacks in its code (PIM, tiles) or assumed to be like them (back from PIM on the NPU).
_STEPS = {
    "linear to pim": (2.0, 16.2),
    "pim to pim": (1.0, 1920.0),
    "tiles to linear": (4.0, 480.0),
    "linear to tiles": (0.0, 746.0),
    "tiles to compute": (0.0, 746.0),
    "pim to linear": (4.0, 480.0),
}
_NPU_CHAIN = {
    Layout.LINEAR: ("linear to tiles", "tiles to compute"),
    Layout.NPU: ("tiles to compute",),
    Layout.PIM: ("pim to linear", "linear to tiles", "tiles to compute"),
    Layout.DUAL: ("tiles to compute",),
}
_PIM_CHAIN = {
    Layout.LINEAR: ("linear to pim",),
    Layout.NPU: ("tiles to linear", "linear to pim"),
    Layout.PIM: ("pim to pim",),
    Layout.DUAL: ("pim to pim",),
}


def storage_bytes(size: int, layout: int) -> int:
    """Bytes that are sent of weights of `size` bytes in a layout."""
    return int(size * _SIZE[Layout(layout)])


def host_bytes(size: int, layout: int) -> int:
    """Bytes that weights of `size` bytes take at the host: of two copies, both."""
    if layout == Layout.DUAL:
        return storage_bytes(size, Layout.NPU) + storage_bytes(size, Layout.PIM)
    return storage_bytes(size, layout)


def npu_conversion(size: int, layout: int) -> float:
    """Seconds that an NPU converts weights for, each time it uses them."""
    return _chain(size, _NPU_CHAIN[Layout(layout)])


def pim_placing(size: int, layout: int) -> float:
    """Seconds that a PIM needs to put weights that have arrived into its banks."""
    return _chain(size, _PIM_CHAIN[Layout(layout)])


def _chain(size: int, steps: tuple[str, ...]) -> float:
    return sum(_STEPS[step][0] * 1e-6 + size / (_STEPS[step][1] * 1e9) for step in steps)
