"""No accumulation is lost, doubled or misplaced, whatever comes in whatever order.

The arithmetic is proved elsewhere; here a stand-in with the same timing adds small integers, so
that the solver sees only the bank. It follows one accumulator, of its own choice, through every
sequence of products, clears and reads, over more cycles than the stage is long.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.fp.product import Product
from fanweave.hw.ventaglio import bank as bank_module
from fanweave.hw.ventaglio.bank import Bank
from fanweave.sim.formal import prove

VALUE_BITS = 2
SUM_BITS = 4


class SmallAdder(wiring.Component):
    """Adds the low bits of the product, with the latency of the real stage."""

    def __init__(self, *, latency, integer):
        self.latency = latency
        super().__init__(
            {
                "product": In(Product),
                "addend": In(32),
                "multiply": In(1),
                "integer": In(1),
                "sum": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        total = Signal(SUM_BITS)
        m.d.comb += total.eq(
            Mux(self.multiply, 0, self.addend[:SUM_BITS]) + self.product.significand[:VALUE_BITS]
        )
        for number in range(self.latency - 1):
            delayed = Signal(SUM_BITS, name=f"sum_{number}")
            m.d.sync += delayed.eq(total)
            total = delayed
        m.d.comb += self.sum.eq(total)
        return m


class Follower(wiring.Component):
    """A bank among arbitrary neighbours that keep its rules, and what its accumulator should be."""

    valid: In(1)
    value: In(VALUE_BITS)
    entry: In(1)
    multiply: In(1)
    clear: In(1)
    read_entry: In(1)
    read_clear: In(1)
    choice: In(1)

    def __init__(self, bank, *, latency):
        self.bank = bank
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.bank = bank = self.bank
        followed, chosen = Signal(), Signal()
        m.d.sync += chosen.eq(1)
        with m.If(~chosen):
            m.d.sync += followed.eq(self.choice)
        m.d.comb += [
            bank.valid.eq(self.valid & chosen),
            bank.product.product.significand.eq(self.value),
            bank.product.entry.eq(self.entry),
            bank.multiply.eq(self.multiply),
            bank.clear.eq(self.clear),
            bank.read_entry.eq(self.read_entry),
            bank.read_clear.eq(self.read_clear),
            # The rules: all is cleared while idle, one while nothing of it is in flight.
            Assume(~self.clear | bank.idle),
        ]
        accepted = Signal()
        m.d.comb += accepted.eq(bank.valid & bank.ready & (self.entry == followed))
        recent = Signal(2 * self.latency + 1)
        m.d.sync += recent.eq(recent << 1 | accepted)
        reads_followed = self.read_entry == followed
        m.d.comb += Assume(~(self.read_clear & reads_followed & recent.any()))

        expected, cleared = Signal(SUM_BITS), Signal(SUM_BITS)
        zeroed = self.clear | (self.read_clear & reads_followed)
        m.d.comb += cleared.eq(Mux(zeroed, 0, expected))
        m.d.sync += expected.eq(cleared)
        with m.If(accepted):
            m.d.sync += expected.eq(Mux(self.multiply, 0, cleared) + self.value)
        with m.If(bank.idle & reads_followed):
            m.d.comb += Assert(bank.read_data[:SUM_BITS] == expected)

        # Nothing waits longer than an accumulation takes.
        waited = Signal(4)
        m.d.sync += waited.eq(Mux(bank.hazard, waited + 1, 0))
        m.d.comb += Assert(waited < max(self.latency, 2))
        quiet = Signal(4)
        m.d.sync += quiet.eq(Mux(bank.valid, 0, quiet + ~quiet.all()))
        with m.If(quiet > 2 * self.latency):
            m.d.comb += Assert(bank.idle)
        return m


def follower(kind, latency, monkeypatch):
    monkeypatch.setattr(bank_module, "Accumulator", SmallAdder)
    config = VentaglioConfig(
        formats=(ElementFormat.FP32,),
        beat_bits=64,
        accumulators=8,
        banks=4,
        accumulate_latency=latency,
        mask_columns=32,
    )
    assert config.entries == 2
    return Follower(kind(config=config), latency=latency)


@pytest.mark.parametrize("latency", [1, 2, 3, 4])
def test_every_accumulation_counts_once(latency, monkeypatch):
    board = follower(Bank, latency, monkeypatch)
    prove(board, name=f"bank-{latency}", mode="bmc", depth=6 + 2 * latency, timeout=120)


class Careless(Bank):
    """Starts although an accumulation of the same accumulator is in flight."""

    def _track(self, m, start, entry):
        end_valid, end_entry, _, flying = super()._track(m, start, entry)
        return end_valid, end_entry, Signal(), flying


class Forgetful(Bank):
    """Looks only at the last stage for conflicts."""

    def _track(self, m, start, entry):
        end_valid, end_entry, _, flying = super()._track(m, start, entry)
        return end_valid, end_entry, end_valid & (end_entry == entry), flying


@pytest.mark.parametrize(("broken", "latency"), [(Careless, 2), (Careless, 4), (Forgetful, 3)])
def test_a_bank_that_loses_one_is_found(broken, latency, monkeypatch):
    board = follower(broken, latency, monkeypatch)
    with pytest.raises(FaultError, match="test_bank_formal"):
        prove(
            board,
            name=f"bank-{broken.__name__}-{latency}",
            mode="bmc",
            depth=6 + 2 * latency,
            timeout=120,
        )
