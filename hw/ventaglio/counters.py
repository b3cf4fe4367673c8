"""Event counters of the unit."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import COUNTERS

__all__ = ["Counters"]

_EVENT_BITS = 12


class Counters(wiring.Component):
    """One 32-bit counter for each of ``COUNTERS``; it adds its event input every cycle.

    Members
    -------
    event_<name> : In
        What to add in this cycle.
    count_<name> : Out(32)
    clear : In(1)
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                **{f"event_{name}": In(_EVENT_BITS) for name, _ in COUNTERS},
                **{f"count_{name}": Out(32) for name, _ in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, _ in COUNTERS:
            count: Signal = getattr(self, f"count_{name}")
            with m.If(self.clear):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(count + getattr(self, f"event_{name}"))
        return m
