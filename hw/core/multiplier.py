"""Products of integers."""

from amaranth import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.operations import MultiplyOperation

__all__ = ["IntegerMultiplier", "IntegerOperands", "IntegerResult"]


class IntegerOperands(data.Struct):
    """Operands for register ``register``; ``operation`` is a code of the unit's."""

    operation: unsigned(2)
    a: unsigned(32)
    b: unsigned(32)
    register: unsigned(5)


class IntegerResult(data.Struct):
    """A result and its register."""

    value: unsigned(32)
    register: unsigned(5)


class IntegerMultiplier(wiring.Component):
    """A product a cycle, shown in the cycle after its operands; it stays until it is taken.

    Members
    -------
    i : stream in of `IntegerOperands`
        ``operation`` is a `MultiplyOperation`.
    o : stream out of `IntegerResult`
    """

    i: In(stream.Signature(IntegerOperands))
    o: Out(stream.Signature(IntegerResult))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = self.i.payload
        a, b = Signal(signed(33)), Signal(signed(33))
        product = Signal(signed(66))
        high = Signal()
        m.d.comb += [
            a.eq(
                Cat(
                    operands.a,
                    operands.a[31] & (operands.operation != MultiplyOperation.MULHU),
                )
            ),
            b.eq(Cat(operands.b, operands.b[31] & ~operands.operation[1])),
            product.eq(a * b),
            high.eq(operands.operation != MultiplyOperation.MUL),
            self.i.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                self.o.valid.eq(self.i.valid),
                self.o.payload.value.eq(Mux(high, product[32:64], product[:32])),
                self.o.payload.register.eq(operands.register),
            ]
        return m
