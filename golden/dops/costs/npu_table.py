"""Surrogate of an NPU's table of measured operators, with the published interpolation."""

import functools
import tomllib
from importlib import resources
from typing import Any

from fanweave.golden.dops.costs.device import picoseconds
from fanweave.golden.dops.costs.roofline import Roofline, arithmetic_seconds
from fanweave.golden.dops.graph import COLLECTIVES, Kind, OperatorClass
from fanweave.golden.dops.layouts import npu_conversion
from fanweave.golden.dops.platforms import GIB, Device
from fanweave.golden.dops.work import Step, byte_count, flops, traffic

__all__ = ["TableNpu", "product_microseconds"]


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("npu_table.toml").read_text())


@functools.cache
def product_microseconds(rows: int, columns: int, depth: int) -> float:
    """Time of a matrix product: a point of the table, or the two nearest ones.

    The distance of a point is the sum over the three sizes of the relative difference in tiles,
    and a little for sizes that do not fill their tiles; the two are weighted by its inverse.
    """
    tile = _table()["tile"]
    size = (rows, columns, depth)
    residue = 0.05 * sum((value % tile) / tile for value in size)
    near: list[tuple[float, float]] = []
    for *point, time in _table()["products"]:
        if tuple(point) == size:
            return float(time)
        tiles = [
            (-(-value // tile), -(-other // tile)) for value, other in zip(size, point, strict=True)
        ]
        near.append((residue + sum(abs(a - b) / a for a, b in tiles), float(time)))
    near.sort()
    (first, time), (second, other) = near[:2]
    if first == 0:
        return time
    return (time / first + other / second) / (1 / first + 1 / second)


class TableNpu:
    """Conversion of the weights on every use, then the table; the rest is bound by memory."""

    reads_history = False

    def __init__(self, device: Device, bits: int) -> None:
        self.device, self.bits = device, bits
        self._roofline = Roofline(device, bits)

    def compute(self, work: OperatorClass, step: Step, layout: int) -> int:
        """See `DeviceCosts`."""
        if work.kind in COLLECTIVES:
            return 0
        if work.kind is Kind.ROUTER:
            size = sum(byte_count(elements, self.bits) for elements in traffic(work, step))
            memory = size / (self.device.bandwidth_gib * GIB)
            return picoseconds(max(memory, arithmetic_seconds(self.device, flops(work, step))))
        if work.weights:
            inner = self._depth(work)
            lookup = product_microseconds(step.tokens, work.weights // inner, inner)
            size = byte_count(work.weights, self.bits)
            return picoseconds(npu_conversion(size, layout) + lookup * 1e-6)
        size = sum(byte_count(elements, self.bits) for elements in traffic(work, step))
        least = _table()["least"].get(work.kind.value, 0.0) * 1e-6
        return picoseconds(max(least, size / (self.device.bandwidth_gib * GIB)))

    @staticmethod
    def _depth(work: OperatorClass) -> int:
        if work.kind is Kind.O:
            return work.heads * work.head_size
        return work.intermediate if work.kind is Kind.W2 else work.hidden

    def load_local(self, size: int, layout: int) -> int:
        """Weights are converted when they are used."""
        return 0

    def read(self, size: int) -> int:
        """Sending reads at the speed of the link."""
        return 0
