"""Quotients and rests of one, two or four integers in 32 bits at a time."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.integer_operations import IntegerControls
from fanweave.hw.vector.simd import (
    add_elements,
    at_tops,
    by_element,
    by_width,
    is_top,
    named,
    select_bytes,
)

__all__ = ["IntegerDivision"]


class IntegerDivision(wiring.Component):
    """A bit of each quotient a cycle, so as many cycles as an element has bits, and four.

    A quotient by zero is all ones and a rest by zero the dividend: the algorithm gives both if
    the sign of such a quotient is left alone. A rest that is to be shifted is shorter than the
    dividend, so its highest bit is 0. The least number divided by -1 is itself. One adder
    makes operands positive, subtracts, and gives results their signs.

    Members
    -------
    start : In(1)
        The operands are there; they stay until ``taken``.
    taken : In(1)
        With ``done``: the result is taken.
    controls : In of `IntegerControls`
    vs1, vs2 : In(32)
        Divisors and dividends.
    done : Out(1)
    result : Out(32)
    """

    start: In(1)
    taken: In(1)
    controls: In(IntegerControls)
    vs1: In(32)
    vs2: In(32)
    done: Out(1)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.controls.width
        tops = named(m, "tops", is_top(width))
        is_signed = self.controls.vs2_signed.replicate(4)
        divisor, rest = Signal(32), Signal(32)
        quotient = Signal(32)  # dividends move out at their tops, quotients in at their bottoms
        steps = Signal(range(33))
        a, b = Signal(32), Signal(32)
        negative_vs2 = named(m, "negative_vs2", is_signed & at_tops(width, self.vs2))
        negative_vs1 = named(m, "negative_vs1", is_signed & at_tops(width, self.vs1))
        total, carried = add_elements(m, "step", width, a, ~b, Const(0b1111, 4))
        moved = named(m, "moved", _shifted(rest, tops, at_tops(width, quotient)))
        fits = named(m, "fits", by_element(width, carried))
        with m.FSM(name="division"):
            with m.State("IDLE"):
                m.d.comb += b.eq(self.vs2)
                with m.If(self.start):
                    m.d.sync += [
                        quotient.eq(select_bytes(negative_vs2, total, self.vs2)),
                        rest.eq(0),
                        steps.eq(by_width(width, (Const(8, 6), Const(16, 6), Const(32, 6)))),
                    ]
                    m.next = "DIVISOR"
            with m.State("DIVISOR"):
                m.d.comb += b.eq(self.vs1)
                m.d.sync += divisor.eq(select_bytes(negative_vs1, total, self.vs1))
                m.next = "ITERATE"
            with m.State("ITERATE"):
                m.d.comb += [a.eq(moved), b.eq(divisor)]
                m.d.sync += [
                    rest.eq(select_bytes(fits, total, moved)),
                    quotient.eq(_shifted(quotient, tops, fits)),
                    steps.eq(steps - 1),
                ]
                with m.If(steps == 1):
                    m.next = "SIGN"
            with m.State("SIGN"):
                found = named(m, "found", Mux(self.controls.remainder, rest, quotient))
                none = Cat(~self.vs1.word_select(place, 8).any() for place in range(4))
                halves = Cat(none[:2].all().replicate(2), none[2:].all().replicate(2))
                by_zero = by_width(width, (none, halves, none.all().replicate(4)))
                negative = Mux(
                    self.controls.remainder,
                    negative_vs2,
                    (negative_vs2 ^ negative_vs1) & ~by_zero,
                )
                m.d.comb += b.eq(found)
                m.d.sync += self.result.eq(select_bytes(negative, total, found))
                m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                with m.If(self.taken):
                    m.next = "IDLE"
        return m


def _shifted(value: Value, tops: Value, entering: Value) -> Value:
    """Elements one bit to the left; of what enters, each byte has the bit of its element."""
    shifted = []
    for place in range(4):
        bit = Mux(tops[place - 1], entering[place], value[8 * place - 1]) if place else entering[0]
        shifted.append(Cat(bit, value[8 * place : 8 * place + 7]))
    return Cat(shifted)
