"""Event counters of the unit."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import COUNTERS, register

__all__ = ["Counters"]

_EVENT_BITS = 12


class Counters(wiring.Component):
    """One 32-bit counter for each of ``COUNTERS``; it adds its event input every cycle.

    Events come from the ends of long paths, so each waits in a register before it is added; what
    waits is part of what is read.

    Members
    -------
    event_<name> : In
        What to add in this cycle.
    clear : In(1)
    read_address : In(8); read_data : Out(32)
        The counter whose register stands there, combinational; 0 if none does.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                **{f"event_{name}": In(_EVENT_BITS) for name, _ in COUNTERS},
                "read_address": In(8),
                "read_data": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        added = Signal(32)
        waiting = Signal(_EVENT_BITS)
        for name, _ in COUNTERS:
            count = Signal(32, name=f"count_{name}")
            event = Signal(_EVENT_BITS, name=f"waiting_{name}")
            with m.If(self.clear):
                m.d.sync += [count.eq(0), event.eq(0)]
            with m.Else():
                m.d.sync += [count.eq(count + event), event.eq(getattr(self, f"event_{name}"))]
            with m.If(self.read_address == register(f"counter_{name}").address):
                m.d.comb += [added.eq(count), waiting.eq(event)]
        m.d.comb += self.read_data.eq(added + waiting)
        return m
