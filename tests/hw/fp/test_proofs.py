# amaranth: UnusedElaboratable=no
"""Rules of signs, zeros and NaNs that hold for every input, proved."""

from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import Accumulator, Multiplier, Product
from fanweave.hw.fp.product import SIGNIFICAND_BITS, ZERO_EXPONENT
from fanweave.sim.formal import prove

NAN = 0x7FC00000


def is_nan(bits):
    return bits[23:31].all() & bits[:23].any()


class ZeroRules(wiring.Component):
    """What a product of zero does to an accumulator, and what NaNs there can be."""

    def __init__(self):
        super().__init__({"product": In(Product), "addend": In(32), "multiply": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.accumulator = accumulator = Accumulator(latency=1, integer=False)
        zero = Signal()
        m.d.comb += [
            accumulator.product.eq(self.product),
            accumulator.addend.eq(self.addend),
            accumulator.multiply.eq(self.multiply),
            zero.eq(self.product.zero & ~self.product.nan & ~self.product.infinity),
        ]
        with m.If(zero):
            m.d.comb += [
                Assume(self.product.significand == 0),
                Assume(self.product.exponent == ZERO_EXPONENT),
            ]
        total = accumulator.sum
        with m.If(zero & self.multiply):
            m.d.comb += Assert(total == self.product.sign << 31)
        with m.Elif(zero & is_nan(self.addend)):
            m.d.comb += Assert(total == NAN)
        with m.Elif(zero & self.addend[:31].any()):
            m.d.comb += Assert(total == self.addend)
        with m.Elif(zero):
            m.d.comb += Assert(total == (self.product.sign & self.addend[31]) << 31)
        m.d.comb += Assert(~is_nan(total) | (total == NAN))
        return m


class ProductRules(wiring.Component):
    """What every product of two elements satisfies."""

    def __init__(self, formats):
        self.formats = formats
        super().__init__({"a": In(16), "b": In(16), "format": In(3)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiplier = multiplier = Multiplier(formats=self.formats)
        product = multiplier.product
        m.d.comb += [
            multiplier.a.eq(self.a),
            multiplier.b.eq(self.b),
            multiplier.format.eq(self.format),
        ]
        codes = [self.format == element_format for element_format in self.formats]
        m.d.comb += Assume(sum(codes) == 1)
        finite = ~product.nan & ~product.infinity
        with m.If(finite & product.zero):
            m.d.comb += [
                Assert(product.significand == 0),
                Assert(product.exponent == ZERO_EXPONENT),
            ]
        with m.If(finite & ~product.zero):
            m.d.comb += [
                Assert(product.significand[SIGNIFICAND_BITS - 1]),
                Assert(product.exponent > ZERO_EXPONENT),
            ]
        return m


def test_zeros_add_nothing_and_nans_are_canonical():
    assert prove(ZeroRules(), name="fp-zero-rules", depth=1).properties == 5


def test_products_are_normalised():
    formats = (ElementFormat.FP16, ElementFormat.E4M3, ElementFormat.E5M2)
    prove(ProductRules(formats), name="fp-products", depth=1)
