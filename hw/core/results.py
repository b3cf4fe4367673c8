"""Registers that an instruction in execution writes: now, or later."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.issue import Issued, Pending, Write
from fanweave.hw.core.operations import Unit

__all__ = ["Results"]


class Results(wiring.Component):
    """Combinational.

    Members
    -------
    instruction : In of `Issued`
    valid, retired : In(1)
        It is there; it completes in this cycle.
    offloaded : In(1)
        A vector unit has it.
    answered : In(1)
        A load has its response already.
    integer, csr, compared, atomic : In(32)
        Results by unit.
    x : Out of `Write`; ahead, begins : Out of `Pending`
        See `Issue`.
    """

    instruction: In(Issued)
    valid: In(1)
    retired: In(1)
    offloaded: In(1)
    answered: In(1)
    integer: In(32)
    csr: In(32)
    compared: In(32)
    atomic: In(32)
    x: Out(Write)
    ahead: Out(Pending)
    begins: Out(Pending)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, controls = self.instruction, self.instruction.controls
        later, rd = Signal(), held.fetched.word[7:12]
        with m.Switch(controls.unit):
            for unit, value in (
                (Unit.CSR, self.csr),
                (Unit.COMPARE, self.compared),
                (Unit.ATOMIC, self.atomic),
            ):
                with m.Case(unit):
                    m.d.comb += self.x.value.eq(value)
            with m.Default():
                m.d.comb += self.x.value.eq(self.integer)
        now = controls.post_increment | (controls.writes_x & ~later)
        m.d.comb += [
            later.eq(controls.unit.matches(Unit.MULTIPLY, Unit.DIVIDE, Unit.LOAD) | self.offloaded),
            self.x.enable.eq(self.retired & now & (held.register != 0)),
            self.x.register.eq(held.register),
            self.ahead.x.eq(self.valid & controls.writes_x & later & (rd != 0)),
            self.ahead.f.eq(self.valid & controls.writes_f),
            self.ahead.load.eq(controls.unit == Unit.LOAD),
            self.ahead.register.eq(rd),
            self.begins.eq(self.ahead),
            self.begins.x.eq(self.retired & self.ahead.x & ~self.answered),
            self.begins.f.eq(self.retired & self.ahead.f & ~self.answered),
        ]
        return m
