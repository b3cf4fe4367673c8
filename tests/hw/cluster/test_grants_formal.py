"""Grants serve one of those that ask, leave who holds the lock alone, and let nobody wait long.

Proved for ever, by induction; who asks does so until it is served.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.cluster.grants import Grants
from fanweave.sim.formal import prove


class Rules(wiring.Component):
    """Holds grants between arbitrary requests."""

    def __init__(self, grants):
        self.grants = grants
        count = grants.count
        super().__init__({"requests": In(count), "locks": In(count), "accept": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.grants = dut = self.grants
        count = dut.count
        kept, owner, served = Signal(count), Signal(count), Signal(count)
        allowed = Mux(owner.any(), self.requests & owner, self.requests)
        m.d.comb += [
            dut.requests.eq(self.requests),
            dut.locks.eq(self.locks),
            dut.accept.eq(self.accept),
            served.eq(Mux(self.accept, dut.grants, 0)),
            Assume((kept & ~self.requests) == 0),
            # One, of those that may; nobody only if none may.
            Assert((dut.grants & (dut.grants - 1)) == 0),
            Assert((dut.grants & ~allowed) == 0),
            Assert(dut.grants.any() == allowed.any()),
        ]
        m.d.sync += kept.eq(self.requests & ~served)
        with m.If(served.any()):
            m.d.sync += owner.eq(served & self.locks)
        # What holds in every state: one owner, and an order that begins behind the last.
        m.d.comb += [
            Assert(owner == dut.holder),
            Assert((owner & (owner - 1)) == 0),
            Assert((~dut.above & (~dut.above + 1)) == 0),
        ]
        with m.If(owner.any()):
            m.d.comb += Assert(dut.above == ~(owner | (owner - 1))[:count])
        for number in range(count):
            self._waits(m, number, served, owner)
        return m

    def _waits(self, m, number, served, owner):
        """It sees each of the others begin once at most, with what follows under its lock."""
        above, count = self.grants.above, self.grants.count
        others = Signal(range(count + 1), name=f"others_{number}")
        before = Signal(count, name=f"before_{number}")
        lower = (1 << number) - 1
        with m.If(above[number]):
            m.d.comb += before.eq(above & lower)
        with m.Else():
            m.d.comb += before.eq(above | lower)
        with m.If(served[number] | ~self.requests[number]):
            m.d.sync += others.eq(0)
        with m.Elif(served.any() & ~owner.any()):
            m.d.sync += others.eq(others + 1)
        m.d.comb += Assert(others < count)
        with m.If(others != 0):
            m.d.comb += Assert(others + sum(before[place] for place in range(count)) < count)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_grants_are_proved_for_ever(count):
    prove(Rules(Grants(count=count)), name=f"cluster-grants-{count}", depth=3, timeout=100)


class Unfair(Grants):
    """Begins with the first each time."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.above.eq((1 << self.count) - 1)
        return m


class Open(Grants):
    """Forgets who holds the lock."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.holder.eq(0)
        return m


@pytest.mark.parametrize("broken", [Unfair, Open])
def test_broken_grants_are_found(broken):
    rules = Rules(broken(count=3))
    with pytest.raises(FaultError):
        prove(rules, name=f"cluster-grants-{broken.__name__}", mode="bmc", depth=8, timeout=100)
