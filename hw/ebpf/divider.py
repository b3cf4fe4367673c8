"""Division and modulo, two bits of the quotient a cycle."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Divider", "Division", "Quotient"]

_STEPS = 32


class Division(data.Struct):
    """What is to be divided.

    ``wide`` chooses 64 bits over 32, ``signed`` truncation towards zero, ``modulo`` the rest.
    ``thread`` comes back with the result.
    """

    dst: unsigned(64)
    src: unsigned(64)
    wide: unsigned(1)
    signed: unsigned(1)
    modulo: unsigned(1)
    thread: unsigned(4)


class Quotient(data.Struct):
    """What came of a division."""

    value: unsigned(64)
    thread: unsigned(4)


class Divider(wiring.Component):
    """One division at a time: a result 34 cycles after its operands, whatever they are.

    A quotient by zero is 0 and a rest by zero the dividend; the least number divided by -1 is
    itself, with the rest 0. That is what the algorithm gives if a divisor of zero takes the
    place of nothing but the quotient.

    Members
    -------
    i : stream in of `Division`
    o : stream out of `Quotient`
    """

    def __init__(self) -> None:
        super().__init__(
            {"i": In(stream.Signature(Division)), "o": Out(stream.Signature(Quotient))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = self.i.payload
        rest = Signal(64)
        quotient = Signal(64)  # the dividend moves out at its top, the quotient in at its bottom
        divisor = Signal(64)
        triple = Signal(66)
        steps = Signal(range(_STEPS + 1))
        busy = Signal()
        done = Signal()
        wide, modulo, by_zero = Signal(), Signal(), Signal()
        negative_quotient, negative_rest = Signal(), Signal()

        dst, src = Signal(64), Signal(64)
        dst_negative, src_negative = Signal(), Signal()
        m.d.comb += [
            dst_negative.eq(
                operands.signed & Mux(operands.wide, operands.dst[63], operands.dst[31])
            ),
            src_negative.eq(
                operands.signed & Mux(operands.wide, operands.src[63], operands.src[31])
            ),
            dst.eq(_magnitude(operands.dst, operands.wide, dst_negative)),
            src.eq(_magnitude(operands.src, operands.wide, src_negative)),
            self.i.ready.eq(~busy),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                busy.eq(1),
                steps.eq(_STEPS),
                rest.eq(0),
                quotient.eq(dst),
                divisor.eq(src),
                triple.eq(src + (src << 1)),
                wide.eq(operands.wide),
                modulo.eq(operands.modulo),
                by_zero.eq(src == 0),
                negative_quotient.eq(dst_negative ^ src_negative),
                negative_rest.eq(dst_negative),
                self.o.payload.thread.eq(operands.thread),
            ]

        # One step: the largest multiple of the divisor, 0 to 3 times, that fits.
        shifted = Signal(66)
        m.d.comb += shifted.eq(Cat(quotient[62:], rest))
        digit = Signal(2)
        left = Signal(66)
        twice = divisor << 1
        with m.If(shifted >= triple):
            m.d.comb += [digit.eq(3), left.eq(shifted - triple)]
        with m.Elif(shifted >= twice):
            m.d.comb += [digit.eq(2), left.eq(shifted - twice)]
        with m.Elif(shifted >= divisor):
            m.d.comb += [digit.eq(1), left.eq(shifted - divisor)]
        with m.Else():
            m.d.comb += left.eq(shifted)
        m.d.comb += done.eq(busy & (steps == 0))
        with m.If(busy & (steps != 0)):
            # By zero, every bit of the dividend would leave the rest at the top.
            m.d.sync += [
                steps.eq(steps - 1),
                rest.eq(Mux(by_zero, shifted, left)),
                quotient.eq(Cat(Mux(by_zero, 0, digit), quotient[:62])),
            ]

        value = Signal(64)
        m.d.comb += [
            value.eq(
                Mux(
                    modulo,
                    Mux(negative_rest, -rest, rest),
                    Mux(negative_quotient, -quotient, quotient),
                )
            ),
            self.o.payload.value.eq(Mux(wide, value, value[:32])),
            self.o.valid.eq(done),
        ]
        with m.If(done & self.o.ready):
            m.d.sync += busy.eq(0)
        return m


def _magnitude(value: Value, wide: Value, negative: Value) -> Value:
    """Absolute value of a number of 64 or 32 bits."""
    kept = Mux(wide, value, value[:32])
    negated = Mux(wide, -value, (-value)[:32])
    return Mux(negative, negated, kept)
