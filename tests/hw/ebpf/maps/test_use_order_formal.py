"""The order of use is that of a list that is kept by hand, for every sequence of changes."""

# amaranth: UnusedElaboratable=no
import os

import pytest
from amaranth.hdl import Array, Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.ebpf.maps.use_order import Ends, OrderChange, UseOrder
from fanweave.sim.formal import prove

SLOTS = 4
#: Each change takes five cycles from one start to the next: three of them, or four in a long run.
CYCLES = 22 if "FANWEAVE_LONG" in os.environ else 17


class ListByHand(wiring.Component):
    """Holds the block beside an array of slots, oldest last."""

    start: In(1)
    change: In(OrderChange)
    slot: In(2)

    def __init__(self, order):
        self.order = order
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = order = self.order
        ends = Signal(Ends, init={"empty": 1})
        slots = Array(Signal(2, name=f"slot_{n}") for n in range(SLOTS))
        count = Signal(range(SLOTS + 1))
        begins = Signal()
        m.d.comb += [
            begins.eq(self.start & order.ready),
            order.start.eq(begins),
            order.change.eq(self.change),
            order.slot.eq(self.slot),
            order.ends.eq(ends),
        ]
        with m.If(order.done):
            m.d.sync += ends.eq(order.ends_after)
        at = Signal(range(SLOTS + 1), init=SLOTS)  # where the slot is, if it is anywhere
        m.d.comb += at.eq(SLOTS)
        for n in reversed(range(SLOTS)):
            with m.If((n < count) & (slots[n] == self.slot)):
                m.d.comb += at.eq(n)
        inserts = self.change == OrderChange.INSERT
        removes = self.change == OrderChange.REMOVE
        with m.If(self.start):
            m.d.comb += [
                Assume(self.change.as_value() != 3),
                Assume(inserts == (at == SLOTS)),
            ]
        with m.If(begins):
            self._by_hand(m, slots, count, at, inserts, removes)
        self._compare(m, ends, slots, count)
        return m

    def _by_hand(self, m, slots, count, at, inserts, removes):
        with m.If(removes):
            m.d.sync += count.eq(count - 1)
            for n in range(SLOTS - 1):
                with m.If(n >= at):
                    m.d.sync += slots[n].eq(slots[n + 1])
        with m.Else():
            with m.If(inserts):
                m.d.sync += count.eq(count + 1)
            m.d.sync += slots[0].eq(self.slot)
            for n in range(1, SLOTS):
                with m.If(n <= at):
                    m.d.sync += slots[n].eq(slots[n - 1])

    def _compare(self, m, ends, slots, count):
        with m.If(self.order.ready):
            m.d.comb += Assert(ends.empty == (count == 0))
            with m.If(count != 0):
                m.d.comb += [
                    Assert(ends.youngest == slots[0]),
                    Assert(ends.oldest == slots[(count - 1)[:2]]),
                ]


def test_the_order_is_that_of_a_list():
    board = ListByHand(UseOrder(slots=SLOTS))
    prove(board, name="use-order", mode="bmc", depth=CYCLES, timeout=150)


class Forgetful(UseOrder):
    """Does not see that the oldest slot leaves."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.ends_after.oldest.eq(self.ends.oldest)
        return m


def test_a_broken_order_is_found():
    board = ListByHand(Forgetful(slots=SLOTS))
    with pytest.raises(FaultError):
        prove(board, name="use-order-broken", mode="bmc", depth=16, timeout=150)
