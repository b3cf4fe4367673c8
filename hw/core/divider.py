"""Quotients and rests of integers, a bit of the quotient a cycle."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.multiplier import IntegerOperands, IntegerResult

__all__ = ["IntegerDivider"]

_STEPS = 32


class IntegerDivider(wiring.Component):
    """One division at a time; its result 33 cycles after its operands, whatever they are.

    A quotient by zero is all ones and a rest by zero the dividend: the algorithm gives both if
    the sign of such a quotient is left alone. The least number divided by -1 is itself.

    Members
    -------
    i : stream in of `IntegerOperands`
        ``operation`` is a `DivideOperation`.
    o : stream out of `IntegerResult`
    """

    i: In(stream.Signature(IntegerOperands))
    o: Out(stream.Signature(IntegerResult))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = self.i.payload
        signed = ~operands.operation[0]
        rest, divisor = Signal(32), Signal(32)
        quotient = Signal(32)  # the dividend moves out at its top, the quotient in at its bottom
        steps = Signal(range(_STEPS + 1))
        busy, wants_rest = Signal(), Signal()
        negative_quotient, negative_rest = Signal(), Signal()
        a_negative, b_negative = Signal(), Signal()
        m.d.comb += [
            a_negative.eq(signed & operands.a[31]),
            b_negative.eq(signed & operands.b[31]),
            self.i.ready.eq(~busy),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                busy.eq(1),
                steps.eq(_STEPS),
                rest.eq(0),
                quotient.eq(Mux(a_negative, -operands.a, operands.a)),
                divisor.eq(Mux(b_negative, -operands.b, operands.b)),
                negative_quotient.eq((a_negative ^ b_negative) & operands.b.any()),
                negative_rest.eq(a_negative),
                wants_rest.eq(operands.operation[1]),
                self.o.payload.register.eq(operands.register),
            ]

        shifted, left, fits = Signal(33), Signal(33), Signal()
        m.d.comb += [
            shifted.eq(Cat(quotient[31], rest)),
            left.eq(shifted - divisor),
            fits.eq(shifted >= divisor),
            self.o.valid.eq(busy & (steps == 0)),
            self.o.payload.value.eq(
                Mux(
                    wants_rest,
                    Mux(negative_rest, -rest, rest),
                    Mux(negative_quotient, -quotient, quotient),
                )
            ),
        ]
        with m.If(busy & (steps != 0)):
            m.d.sync += [
                steps.eq(steps - 1),
                rest.eq(Mux(fits, left, shifted)),
                quotient.eq(Cat(fits, quotient)),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += busy.eq(0)
        return m
