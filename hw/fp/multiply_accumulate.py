"""Multiplier and accumulator in one pipeline."""

from collections.abc import Iterable

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike, NDArray

from fanweave.golden.fp import multiply, multiply_accumulate
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp.accumulator import Accumulator
from fanweave.hw.fp.multiplier import Multiplier, check_formats
from fanweave.hw.fp.pipeline import check_latency
from fanweave.hw.fp.product import Product

__all__ = ["MultiplyAccumulate"]


class MultiplyAccumulate(wiring.Component):
    """``addend + a * b``, rounded once.

    A pipeline without enable: ``sum`` belongs to the inputs of ``latency - 1`` cycles before.
    From a latency of 2 on, the first register lies after the multiplier; the rest are those of
    an `Accumulator` with a latency of one less.

    Parameters
    ----------
    formats : iterable of ElementFormat
        Formats of the elements.
    latency : int
        From 1 to 5.

    Members
    -------
    a, b : ``In``, bits of the widest format
        Raw elements, low-aligned.
    addend : ``In``, 32 bits
        FP32, or INT32 for INT8 elements.
    multiply : ``In``, 1 bit
        The addend does not count.
    format : ``In``, 3 bits
        Code of the format of a and b.
    sum : ``Out``, 32 bits
        Rounded sum.

    Raises
    ------
    InputError
        If ``formats`` or ``latency`` is not as described.
    """

    def __init__(self, *, formats: Iterable[ElementFormat], latency: int):
        self.formats = check_formats(formats)
        self.latency = check_latency(latency, 5)
        bits = max(element_format.bits for element_format in self.formats)
        super().__init__(
            {
                "a": In(bits),
                "b": In(bits),
                "addend": In(32),
                "multiply": In(1),
                "format": In(3),
                "sum": Out(32),
            }
        )

    @staticmethod
    def model(
        a: ArrayLike, b: ArrayLike, addend: ArrayLike | None, element_format: ElementFormat
    ) -> NDArray[np.uint32]:
        """Sums of arrays of raw elements and accumulators; products if ``addend`` is None."""
        if addend is None:
            return multiply(a, b, element_format)
        return multiply_accumulate(addend, a, b, element_format)

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiplier = multiplier = Multiplier(formats=self.formats)
        m.submodules.accumulator = accumulator = Accumulator(
            latency=max(self.latency - 1, 1), integer=ElementFormat.INT8 in self.formats
        )
        product = Signal(Product)
        addend = Signal(32)
        multiply_only = Signal()
        integer = Signal()
        domain = m.d.comb if self.latency == 1 else m.d.sync
        domain += [
            product.eq(multiplier.product),
            addend.eq(self.addend),
            multiply_only.eq(self.multiply),
            integer.eq(self.format == ElementFormat.INT8),
        ]
        m.d.comb += [
            multiplier.a.eq(self.a),
            multiplier.b.eq(self.b),
            multiplier.format.eq(self.format),
            accumulator.product.eq(product),
            accumulator.addend.eq(addend),
            accumulator.multiply.eq(multiply_only),
            accumulator.integer.eq(integer),
            self.sum.eq(accumulator.sum),
        ]
        return m
