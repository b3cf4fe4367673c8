"""Chooses which of several requests for one thing is served in a cycle."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Grants"]


class Grants(wiring.Component):
    """Round robin with a lock: who was served last comes last; who holds the lock is alone.

    A request that is served with its lock bit set takes the lock, or keeps it; one without it
    gives it back. While nobody holds it long, nobody waits long: each other is served once, with
    what follows under its lock, before one that asks is served.

    Combinational from the requests to the grants: the order is that of registers only.

    Parameters
    ----------
    count : int
        Requests to choose from, 1 or more.

    Members
    -------
    requests, locks : In(count)
        Who asks, and whether it wants to be alone afterwards.
    accept : In(1)
        The one that is chosen is served in this cycle.
    grants : Out(count)
        Who is chosen; one bit at most.

    Attributes
    ----------
    above, holder : Signal
        Those that come before the others, and who is alone; for proofs.
    """

    def __init__(self, *, count: int) -> None:
        if count < 1:
            raise ValueError(f"count = {count} must be at least 1")
        self.count = count
        self.above = Signal(count, init=(1 << count) - 1)
        self.holder = Signal(count)
        super().__init__(
            {"requests": In(count), "locks": In(count), "accept": In(1), "grants": Out(count)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self.count
        allowed, preferred, chosen = Signal(count), Signal(count), Signal(count)
        m.d.comb += [
            allowed.eq(Mux(self.holder.any(), self.requests & self.holder, self.requests)),
            preferred.eq(allowed & self.above),
            chosen.eq(Mux(preferred.any(), preferred, allowed)),
            # The lowest bit.
            self.grants.eq(chosen & ~(chosen - 1)),
        ]
        with m.If(self.accept & self.grants.any()):
            m.d.sync += [
                self.above.eq(~(self.grants | (self.grants - 1))),
                self.holder.eq(self.grants & self.locks),
            ]
        return m
