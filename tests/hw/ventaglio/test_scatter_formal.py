"""Every product reaches its bank once and in order, whatever comes and whichever banks stall.

The solver picks a bank and one product for it, and marks that product. Products of one bank must
leave in the order in which they came, by group and within a group by lane; that implies that none
is lost, doubled, invented or sent elsewhere. A bank is offered a product whenever one waits for
it, so nothing can be stuck. These assertions look at ports only; for the induction, the scatter
unit also asserts how its window stands for the products that wait.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.reduction import count_ones
from fanweave.hw.ventaglio.scatter import Scatter
from fanweave.sim.formal import prove

LANES = 2


class Follower(wiring.Component):
    """A scatter unit among arbitrary groups and arbitrary banks."""

    def __init__(self, scatter):
        self.scatter = scatter
        banks = scatter.config.banks
        self.followed, self.chosen = Signal(range(banks)), Signal()
        self.count = Signal(4)  # products that wait for the followed bank
        self.waits = Signal()  # the marked product is one of them
        self.ahead = Signal(4)  # those of them before the marked one
        self.flags = Signal(2)  # its group's
        self.used = Signal()
        scatter.follower = self
        super().__init__(
            {
                "valid": In(1),
                "lanes_valid": In(LANES),
                "lane_banks": In(data.ArrayLayout(range(banks), LANES)),
                "mark": In(LANES),
                "multiply": In(1),
                "integer": In(1),
                "bank_ready": In(banks),
                "choice": In(range(banks)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.scatter = scatter = self.scatter
        m.d.sync += self.chosen.eq(1)
        with m.If(~self.chosen):
            m.d.sync += self.followed.eq(self.choice)
        group = scatter.products.payload
        m.d.comb += [
            scatter.products.valid.eq(self.valid & self.chosen),
            group.valid.eq(self.lanes_valid),
            group.multiply.eq(self.multiply),
            group.integer.eq(self.integer),
            scatter.bank_ready.eq(self.bank_ready),
        ]
        mine = Signal(LANES)
        for lane in range(LANES):
            m.d.comb += [
                group.banks[lane].eq(self.lane_banks[lane]),
                group.lanes[lane].product.significand.eq(self.mark[lane]),
                mine[lane].eq(self.lanes_valid[lane] & (self.lane_banks[lane] == self.followed)),
            ]
        enters = Signal()
        m.d.comb += enters.eq(scatter.products.valid & scatter.products.ready)
        m.d.comb += [
            # One product of the followed bank is marked at most, ever.
            Assume((self.mark & ~mine) == 0),
            Assume((self.mark & (self.mark - 1)[:LANES]) == 0),
            Assume(~(enters & self.mark.any() & self.used)),
            Assert(scatter.empty == ~scatter.bank_valid.any()),
        ]
        leaves = self._assert_order(m)
        m.d.sync += self.count.eq(self.count + Mux(enters, count_ones(mine), 0) - leaves)
        with m.If(enters & self.mark.any()):
            before = Cat(mine[lane] & ((self.mark >> lane + 1) != 0) for lane in range(LANES))
            m.d.sync += [
                self.used.eq(1),
                self.waits.eq(1),
                self.flags.eq(Cat(self.multiply, self.integer)),
                self.ahead.eq(self.count - leaves + count_ones(before)),
            ]
        return m

    def _assert_order(self, m):
        """The marked product shows when those before it have left, and not before or after."""
        scatter = self.scatter
        offered, leaves = Signal(), Signal()
        shown, flags = Signal(), Signal(2)
        marks = Array(routed.product.significand[0] for routed in scatter.bank_products)
        m.d.comb += [
            offered.eq(scatter.bank_valid.bit_select(self.followed, 1)),
            leaves.eq(offered & self.bank_ready.bit_select(self.followed, 1)),
            shown.eq(marks[self.followed]),
            flags[0].eq(scatter.bank_multiply.bit_select(self.followed, 1)),
            flags[1].eq(scatter.bank_integer.bit_select(self.followed, 1)),
            Assert(offered == (self.count != 0)),
        ]
        with m.If(offered):
            m.d.comb += Assert(shown == (self.waits & (self.ahead == 0)))
            with m.If(shown):
                m.d.comb += Assert(flags == self.flags)
        with m.If(self.waits & leaves):
            m.d.sync += [self.ahead.eq(self.ahead - 1), self.waits.eq(self.ahead != 0)]
        return leaves


class Inductive(Scatter):
    """Asserts which places of the window, from the oldest on, hold what the harness counts."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        follower, window, banks = self.follower, self.config.window, self.config.banks
        wanting = []
        for age in range(window):
            slot = Signal(range(max(window, 2)), name=f"proof_slot_{age}")
            m.d.comb += slot.eq(self._wrap(self._oldest + age))
            pending = Array(self._pending)[slot]
            flags = Cat(Array(self._multiply)[slot], Array(self._integer)[slot])
            with m.If(age >= self._count):
                m.d.comb += Assert(pending == 0)
            for lane in range(LANES):
                wish = Signal(banks, name=f"proof_wish_{age}_{lane}")
                m.d.comb += wish.eq(Array(wishes[lane] for wishes in self._wishes)[slot])
                with m.If(pending[lane]):
                    m.d.comb += Assert((wish != 0) & ((wish & (wish - 1)[:banks]) == 0))
                wants = Signal(name=f"proof_wants_{age}_{lane}")
                m.d.comb += wants.eq(pending[lane] & wish.bit_select(follower.followed, 1))
                stored = self._storage.read_port(domain="comb")
                m.d.comb += stored.addr.eq(slot * LANES + lane)
                marked = stored.data.product.significand[0]
                before = count_ones(Cat(wanting)) if wanting else 0
                with m.If(wants):
                    m.d.comb += Assert(marked == (follower.waits & (follower.ahead == before)))
                    with m.If(marked):
                        m.d.comb += Assert(flags == follower.flags)
                wanting.append(wants)
        m.d.comb += [
            Assert(self._count <= window),
            Assert(self._next == self._wrap(self._oldest + self._count)),
            Assert(self._oldest < window),
            Assert(follower.count == count_ones(Cat(wanting))),
            Assert(~follower.waits | (follower.used & (follower.ahead < follower.count))),
        ]
        with m.If(~follower.chosen):
            m.d.comb += Assert(self._count == 0)
        return m


def config_of(window, banks):
    config = VentaglioConfig(
        formats=(ElementFormat.FP32,),
        beat_bits=64,
        accumulators=8,
        banks=banks,
        window=window,
        mask_columns=32,
    )
    assert config.lanes == LANES
    return config


@pytest.mark.parametrize(("window", "banks"), [(1, 4), (2, 4), (4, 2)])
def test_products_reach_their_banks_in_order(window, banks):
    board = Follower(Inductive(config=config_of(window, banks)))
    prove(board, name=f"scatter-{window}", depth=1, timeout=180)


class Overtaking(Scatter):
    """The younger group's products go first."""

    def _wrap(self, number):
        return super()._wrap(number + 1) if self.swaps else super()._wrap(number)

    swaps = False

    def _arbitrate(self, m):
        self.swaps = True
        try:
            return super()._arbitrate(m)
        finally:
            self.swaps = False


class Doubling(Scatter):
    """A product that has left stays when its lane is the first one."""

    def _fill(self, m, left, accepted):
        kept = [
            Cat(pending[0], lanes[1:]) for pending, lanes in zip(self._pending, left, strict=True)
        ]
        super()._fill(m, kept, accepted)


class Losing(Scatter):
    """A group that enters a full window when its oldest slot frees drops its last lane."""

    def _fill(self, m, left, accepted):
        super()._fill(m, left, accepted)
        for i, pending in enumerate(self._pending):
            with m.If(accepted & (self._next == i) & (self._count == self.config.window)):
                m.d.sync += pending[LANES - 1].eq(0)


class Flagging(Scatter):
    """A product leaves with the flags of the oldest group."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        oldest = Array(self._multiply)[self._oldest]
        m.d.comb += self.bank_multiply.eq(oldest.replicate(self.config.banks))
        return m


@pytest.mark.parametrize("broken", [Overtaking, Doubling, Losing, Flagging])
def test_a_broken_scatter_is_found(broken):
    board = Follower(broken(config=config_of(2, banks=4)))
    with pytest.raises(FaultError, match="test_scatter_formal"):
        prove(board, name=f"scatter-{broken.__name__}", mode="bmc", depth=8, timeout=180)
