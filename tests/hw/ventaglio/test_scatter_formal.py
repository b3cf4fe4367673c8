"""Every product reaches its bank once and in order, whatever comes and whichever banks stall.

The solver picks a bank and one product for it, and marks that product. Products of one bank must
leave in the order in which they came, by group and within a group by lane; that implies that none
is lost, doubled, invented or sent elsewhere. A bank is offered a product whenever one waits for
it, so nothing can be stuck.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.reduction import sum_tree
from fanweave.hw.ventaglio.scatter import Scatter
from fanweave.sim.formal import prove

LANES = 2
BANKS = 2


class Follower(wiring.Component):
    """A scatter unit among arbitrary groups and arbitrary banks."""

    def __init__(self, scatter):
        self.scatter = scatter
        super().__init__(
            {
                "valid": In(1),
                "lanes_valid": In(LANES),
                "lane_banks": In(LANES),
                "mark": In(LANES),
                "bank_ready": In(BANKS),
                "choice": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.scatter = scatter = self.scatter
        followed, chosen = Signal(), Signal()
        m.d.sync += chosen.eq(1)
        with m.If(~chosen):
            m.d.sync += followed.eq(self.choice)
        group = scatter.products.payload
        m.d.comb += [
            scatter.products.valid.eq(self.valid & chosen),
            group.valid.eq(self.lanes_valid),
            scatter.bank_ready.eq(self.bank_ready),
        ]
        enters = Signal()
        m.d.comb += enters.eq(scatter.products.valid & scatter.products.ready)
        mine = Signal(LANES)
        for lane in range(LANES):
            m.d.comb += [
                group.banks[lane].eq(self.lane_banks[lane]),
                group.lanes[lane].product.significand.eq(self.mark[lane]),
                mine[lane].eq(self.lanes_valid[lane] & (self.lane_banks[lane] == followed)),
            ]
        # One product of the followed bank is marked at most, ever.
        marks = self.mark & mine
        used = Signal()
        m.d.comb += Assume(~(enters & marks.any() & used))
        m.d.comb += Assume((self.mark & ~mine) == 0)
        m.d.comb += Assume((marks & (marks - 1)[:LANES]) == 0)

        count = Signal(4)  # products that wait for the followed bank
        ahead = Signal(4)  # those of them before the marked one
        waits = Signal()
        offered = Signal()
        leaves = Signal()
        shown = Signal()
        m.d.comb += [
            offered.eq(Mux(followed, scatter.bank_valid[1], scatter.bank_valid[0])),
            leaves.eq(offered & Mux(followed, self.bank_ready[1], self.bank_ready[0])),
            shown.eq(
                Mux(
                    followed,
                    scatter.bank_products[1].product.significand[0],
                    scatter.bank_products[0].product.significand[0],
                )
            ),
        ]
        entering = Mux(enters, sum_tree([mine[lane] for lane in range(LANES)]), 0)
        m.d.sync += count.eq(count + entering - leaves)
        m.d.comb += Assert(offered == (count != 0))
        with m.If(offered):
            m.d.comb += Assert(shown == (waits & (ahead == 0)))
        with m.If(waits & leaves):
            m.d.sync += [ahead.eq(ahead - 1), waits.eq(ahead != 0)]
        with m.If(enters & marks.any()):
            before = Cat(mine[lane] & ((marks >> lane + 1) != 0) for lane in range(LANES))
            m.d.sync += [
                used.eq(1),
                waits.eq(1),
                ahead.eq(count - leaves + sum_tree([before[lane] for lane in range(LANES)])),
            ]
        with m.If(count == 0):
            m.d.comb += Assert(~scatter.empty | (count == 0))
        with m.Else():
            m.d.comb += Assert(~scatter.empty)
        return m


def config_of(window):
    config = VentaglioConfig(
        formats=(ElementFormat.FP32,),
        beat_bits=64,
        accumulators=8,
        banks=BANKS,
        window=window,
        mask_columns=32,
    )
    assert config.lanes == LANES
    return config


@pytest.mark.parametrize(("window", "depth"), [(1, 7), (2, 6)])
def test_products_reach_their_banks_in_order(window, depth):
    board = Follower(Scatter(config=config_of(window)))
    prove(board, name=f"scatter-{window}", mode="bmc", depth=depth, timeout=180)


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


@pytest.mark.parametrize("broken", [Overtaking, Doubling])
def test_a_broken_scatter_is_found(broken):
    board = Follower(broken(config=config_of(2)))
    with pytest.raises(FaultError, match="test_scatter_formal"):
        prove(board, name=f"scatter-{broken.__name__}", mode="bmc", depth=8, timeout=180)
