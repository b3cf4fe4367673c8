"""Where a program goes on, and where it stands still."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.address_map import can_fetch
from fanweave.hw.core.payloads import Fetched, Halt

__all__ = ["Flow"]


class Flow(wiring.Component):
    """The address behind an instruction, against the one that was fetched there.

    Members
    -------
    fetched : In of `Fetched`
        The instruction in execution.
    retired, trapped : In(1); cause : In(4); value : In(32)
        What becomes of it in this cycle.
    jumps : In(1); jump_target : In(32)
        It jumps.
    returns : In(1); return_pc, handler : In(32)
        It returns from a trap; ``mepc`` and ``mtvec``.
    refetches : In(1)
        What comes behind it must be fetched anew.
    redirect : Out(1); target : Out(32); update, taken : Out(1)
        See `Fetch`.
    takes_trap : Out(1)
        It traps, and there is a handler.
    halt : Out of `Halt`
    """

    fetched: In(Fetched)
    retired: In(1)
    trapped: In(1)
    cause: In(4)
    value: In(32)
    jumps: In(1)
    jump_target: In(32)
    returns: In(1)
    return_pc: In(32)
    handler: In(32)
    refetches: In(1)
    redirect: Out(1)
    target: Out(32)
    update: Out(1)
    taken: Out(1)
    takes_trap: Out(1)
    halt: Out(Halt)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        handled, following, differs = Signal(), Signal(32), Signal()
        m.d.comb += [
            handled.eq(can_fetch(self.handler)),
            following.eq(
                Mux(
                    self.returns,
                    self.return_pc,
                    Mux(self.jumps, self.jump_target, self.fetched.pc + 4),
                )
            ),
            differs.eq(following != self.fetched.following),
            self.taken.eq(self.jumps | self.returns),
            self.takes_trap.eq(self.trapped & handled),
            self.target.eq(Mux(self.trapped, self.handler, following)),
            self.redirect.eq(self.takes_trap | (self.retired & (differs | self.refetches))),
            self.update.eq(self.retired & (self.taken | differs)),
        ]
        with m.If(self.trapped & ~handled):
            m.d.sync += [
                self.halt.halted.eq(1),
                self.halt.cause.eq(self.cause),
                self.halt.pc.eq(self.fetched.pc),
                self.halt.value.eq(self.value),
            ]
        return m
