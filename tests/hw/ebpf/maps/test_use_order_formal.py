# amaranth: UnusedElaboratable=no
"""The order of use is that of a list, for ever, and its end is what was not used for longest.

Two maps share the memories of links. Beside them are two lists that are kept by hand, oldest
last. Proved is that both orders are always those of the lists, link by link; that a list is a
permutation of the slots that are in it; and, without the lists, that of a slot of the solver's
choice all others were used since when it is the oldest, and none when it is the youngest.

A change takes three cycles after its start, so that an induction over four always sees a moment
between two changes; nothing needs to be said about what happens within one.
"""

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.ebpf.maps.use_order import Ends, OrderChange, UseOrder
from fanweave.sim.formal import prove

SLOTS = 4  # of each map
#: Cycles of the induction: from one moment between two changes to the next.
DEPTH = 4


class Watched(UseOrder):
    """An order whose links can be looked at."""

    def __init__(self, *, slots):
        super().__init__(slots=slots)
        bits = range(slots)
        self.links = {
            name: Array(Signal(bits, name=f"{name}_{place}") for place in range(slots))
            for name in ("younger", "older")
        }

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for name, links in self.links.items():
            memory = getattr(m.submodules, name)
            for place, link in enumerate(links):
                port = memory.read_port(domain="comb")
                m.d.comb += [port.addr.eq(place), link.eq(port.data)]
        return m


class ListByHand:
    """Slots of a map by their use, the youngest first."""

    def __init__(self, name):
        self.slots = Array(Signal(range(SLOTS), name=f"{name}_slot_{n}") for n in range(SLOTS))
        self.count = Signal(range(SLOTS + 1), name=f"{name}_count")
        self.ends = Signal(Ends, init={"empty": 1}, name=f"{name}_ends")

    def place_of(self, slot):
        """Where a slot is; `SLOTS` if it is nowhere."""
        place = Const(SLOTS, 3)
        for n in reversed(range(SLOTS)):
            place = Mux((n < self.count) & (self.slots[n] == slot), n, place)
        return place

    def has(self, slot):
        return self.place_of(slot) != SLOTS

    def remove(self, m, slot):
        m.d.sync += self.count.eq(self.count - 1)
        for n in range(SLOTS - 1):
            with m.If(n >= self.place_of(slot)):
                m.d.sync += self.slots[n].eq(self.slots[n + 1])

    def use(self, m, slot):
        m.d.sync += [
            self.count.eq(self.count + ~self.has(slot)),
            self.slots[0].eq(slot),
        ]
        for n in range(1, SLOTS):
            with m.If(n <= self.place_of(slot)):
                m.d.sync += self.slots[n].eq(self.slots[n - 1])


class Rules(wiring.Component):
    """Changes of the solver's choice, within the rules, on an order and on lists beside it."""

    def __init__(self, order):
        self.order = order
        self.maps = order.slots // SLOTS
        super().__init__(
            {
                "start": In(1),
                "change": In(OrderChange),
                "map": In(range(self.maps)),
                "slot": In(range(SLOTS)),
                "followed_map": In(range(self.maps)),
                "followed": In(range(SLOTS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = order = self.order
        self._lists = [ListByHand(f"map_{n}") for n in range(self.maps)]
        busy_with = Signal(range(self.maps))
        begins = Signal()
        m.d.comb += [
            begins.eq(self.start & order.ready),
            order.start.eq(begins),
            order.change.eq(self.change),
            order.base.eq(self.map * SLOTS),
            order.slot.eq(self.slot),
        ]
        with m.If(begins):
            m.d.sync += busy_with.eq(self.map)
        for number, by_hand in enumerate(self._lists):
            with m.If(self.map == number):
                m.d.comb += order.ends.eq(by_hand.ends)
                with m.If(self.start):
                    inserts = self.change == OrderChange.INSERT
                    m.d.comb += Assume(inserts != by_hand.has(self.slot))
                with m.If(begins):
                    self._change(m, by_hand)
            with m.If(order.done & (busy_with == number)):
                m.d.sync += by_hand.ends.eq(order.ends_after)
            with m.If(order.ready):
                self._compare(m, number, by_hand)
        m.d.comb += Assume(self.change.as_value() != 3)
        self._follow(m, begins)
        return m

    def _change(self, m, by_hand):
        with m.If(self.change == OrderChange.REMOVE):
            by_hand.remove(m, self.slot)
        with m.Else():
            by_hand.use(m, self.slot)

    def _compare(self, m, number, by_hand):
        slots, count, ends = by_hand.slots, by_hand.count, by_hand.ends
        m.d.comb += [Assert(count <= SLOTS), Assert(ends.empty == (count == 0))]
        with m.If(count != 0):
            m.d.comb += [
                Assert(ends.youngest == slots[0]),
                Assert(ends.oldest == slots[(count - 1)[:2]]),
            ]
        links = self.order.links
        for n in range(SLOTS):
            for other in range(n):
                with m.If(n < count):
                    m.d.comb += Assert(slots[n] != slots[other])
            if n:
                older, younger = number * SLOTS + slots[n], number * SLOTS + slots[n - 1]
                with m.If(n < count):
                    m.d.comb += [
                        Assert(links["older"][younger] == slots[n]),
                        Assert(links["younger"][older] == slots[n - 1]),
                    ]

    def _follow(self, m, begins):
        """Which slots were used since the followed one was, however it is ordered."""
        before, started = Signal(3), Signal()
        choice = Cat(self.followed, self.followed_map)
        m.d.sync += [before.eq(choice), started.eq(1)]
        m.d.comb += Assume(~started | (choice == before))
        used_since = Signal(SLOTS)
        with m.If(begins & (self.map == self.followed_map)):
            with m.If((self.change != OrderChange.REMOVE) & (self.slot == self.followed)):
                m.d.sync += used_since.eq(0)
            with m.Elif(self.change != OrderChange.REMOVE):
                m.d.sync += used_since.bit_select(self.slot, 1).eq(1)
        for number, by_hand in enumerate(self._lists):
            others = Cat(by_hand.has(n) & (self.followed != n) for n in range(SLOTS))
            younger = Cat(
                by_hand.has(n) & (by_hand.place_of(n) < by_hand.place_of(self.followed))
                for n in range(SLOTS)
            )
            here = (self.followed_map == number) & by_hand.has(self.followed)
            with m.If(self.order.ready & here):
                # Why: the lists say the same.
                m.d.comb += Assert((used_since & others) == younger)
                with m.If(by_hand.ends.oldest == self.followed):
                    m.d.comb += Assert((used_since & others) == others)
                with m.If(by_hand.ends.youngest == self.followed):
                    m.d.comb += Assert((used_since & others) == 0)


def test_the_order_is_proved_for_ever():
    prove(Rules(Watched(slots=2 * SLOTS)), name="use-order", depth=DEPTH, timeout=150)


class Forgetful(Watched):
    """Does not see that the oldest slot leaves."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.ends_after.oldest.eq(self.ends.oldest)
        return m


class Unmoved(Watched):
    """Leaves a slot that is used again where it was."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        ends, unmoved = Signal(Ends), Signal()
        with m.If(self.start):
            m.d.sync += [ends.eq(self.ends), unmoved.eq(self.change == OrderChange.TOUCH)]
        with m.If(unmoved):
            m.d.comb += self.ends_after.eq(ends)
        return m


@pytest.mark.parametrize("broken", [Forgetful, Unmoved])
def test_a_broken_order_is_found(broken):
    rules = Rules(broken(slots=SLOTS))
    with pytest.raises(FaultError, match="the assertion at"):
        prove(rules, name=f"use-order-{broken.__name__}", mode="bmc", depth=14, timeout=150)
