"""Quotients and roots of the elements of 32 bits of a beat."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.fp.float_divider import FloatDivider
from fanweave.hw.vector.float_operations import FloatControls
from fanweave.hw.vector.float_slice import Quotient

__all__ = ["FloatDivision"]

#: Bits of a significand above the one that stands for all bits below, where an FP16 adder sees it.
_HALF_TOP = 17


class FloatDivision(wiring.Component):
    """One FP32 element, or the odd and then the even one of two of FP16; inactive ones never.

    Members
    -------
    start : In(1)
        The operands are there; they stay until ``taken``.
    taken : In(1)
        With ``done``: what was found is taken.
    controls : In of `FloatControls`
    vs1, vs2 : In(32)
    active : In(2)
        Of the element or the even one, and of the odd one.
    done : Out(1)
    wide, narrow : Out of `Quotient`
        Of the element or the even one, and of the odd one.
    """

    start: In(1)
    taken: In(1)
    controls: In(FloatControls)
    vs1: In(32)
    vs2: In(32)
    active: In(2)
    done: Out(1)
    wide: Out(Quotient)
    narrow: Out(Quotient)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.divider = divider = FloatDivider()
        asked, found = divider.i.payload, divider.o.payload
        controls, odd = self.controls, Signal()
        a = Mux(controls.swapped, self.vs1, self.vs2)
        b = Mux(controls.swapped, self.vs2, self.vs1)
        kept = Signal(Quotient)
        number = found.number
        significand = number.significand
        m.d.comb += [
            asked.a.eq(Mux(odd, a >> 16, a)),
            asked.b.eq(Mux(odd, b >> 16, b)),
            asked.half.eq(controls.half),
            asked.root.eq(controls.root),
            self.wide.number.eq(number),
            self.wide.flags.eq(found.flags),
            self.narrow.eq(kept),
        ]
        with m.FSM(name="division"):
            with m.State("IDLE"):
                with m.If(self.start & controls.pairs & self.active[1]):
                    m.next = "ODD"
                with m.Elif(self.start & self.active[0]):
                    m.next = "EVEN"
                with m.Elif(self.start):
                    m.next = "DONE"
            with m.State("ODD"):
                m.d.comb += [odd.eq(1), divider.i.valid.eq(1)]
                m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += divider.o.ready.eq(1)
                with m.If(divider.o.valid):
                    m.d.sync += [
                        kept.number.eq(number),
                        kept.number.significand.eq(
                            Cat(
                                Const(0, len(significand) - _HALF_TOP - 1),
                                significand[0],
                                significand[-_HALF_TOP:],
                            )
                        ),
                        kept.flags.eq(found.flags),
                    ]
                    with m.If(self.active[0]):
                        m.next = "EVEN"
                    with m.Else():
                        m.next = "DONE"
            with m.State("EVEN"):
                m.d.comb += divider.i.valid.eq(1)
                m.next = "HOLD"
            with m.State("HOLD"):
                m.d.comb += [self.done.eq(divider.o.valid), divider.o.ready.eq(self.taken)]
                with m.If(divider.o.valid & self.taken):
                    m.next = "IDLE"
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                with m.If(self.taken):
                    m.next = "IDLE"
        return m
