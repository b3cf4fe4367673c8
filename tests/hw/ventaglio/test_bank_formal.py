"""No accumulation is lost, doubled or misplaced, whatever comes in whatever order, for ever.

The arithmetic is proved elsewhere; here a stand-in with the same timing adds small integers, so
that the solver sees only the bank. The harness follows one accumulator of the solver's choice
through every sequence of products, clears and reads. Its assertions look at the bank's ports
only; for the induction, the bank also asserts how its registers stand for the followed sum.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
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


def added(base, value, *, multiply, integer):
    """The stand-in's sum; integers count negative, so that no flag can be mistaken for another."""
    base = Mux(multiply, 0, base)
    return Mux(integer, base - value, base + value)[:SUM_BITS]


class SmallAdder(wiring.Component):
    """Adds or subtracts the low bits of the product, with the latency of the real stage."""

    def __init__(self, *, latency, integer):
        self.latency = latency
        self.sums = [Signal(SUM_BITS, name=f"sum_{i}") for i in range(latency - 1)]
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
        total = added(
            self.addend,
            self.product.significand[:VALUE_BITS],
            multiply=self.multiply,
            integer=self.integer,
        )
        for delayed in self.sums:
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
    integer: In(1)
    clear: In(1)
    read_entry: In(1)
    read_clear: In(1)
    choice: In(1)

    def __init__(self, bank, *, latency):
        self.bank = bank
        self.latency = latency
        self.followed, self.chosen = Signal(), Signal()
        self.expected = Signal(SUM_BITS)
        self.waits = Signal()  # a product for the followed accumulator, in the input register
        self.flies = Signal(latency - 1)  # such a product, in each stage
        bank.follower = self
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.bank = bank = self.bank
        m.d.sync += self.chosen.eq(1)
        with m.If(~self.chosen):
            m.d.sync += self.followed.eq(self.choice)
        m.d.comb += [
            bank.valid.eq(self.valid & self.chosen),
            bank.product.product.significand.eq(self.value),
            bank.product.entry.eq(self.entry),
            bank.multiply.eq(self.multiply),
            bank.integer.eq(self.integer),
            bank.clear.eq(self.clear),
            bank.read_entry.eq(self.read_entry),
            bank.read_clear.eq(self.read_clear),
        ]
        accepted = Signal()
        m.d.comb += accepted.eq(bank.valid & bank.ready & (self.entry == self.followed))
        starts = self.waits & ~bank.hazard
        m.d.sync += self.flies.eq(Cat(starts, self.flies))
        m.d.sync += self.waits.eq(accepted | (self.waits & bank.hazard))
        in_flight = self.waits | self.flies.any()
        reads_followed = self.read_entry == self.followed
        m.d.comb += [
            # The rules: all is cleared while idle, one while nothing of it is in flight.
            Assume(~self.clear | bank.idle),
            Assume(~(self.read_clear & reads_followed & in_flight)),
        ]
        self._assert_sum(m, accepted, reads_followed, in_flight)
        self._assert_progress(m)
        return m

    def _assert_sum(self, m, accepted, reads_followed, in_flight):
        """A read shows exactly the products that were accepted since the last clear."""
        cleared = Signal(SUM_BITS)
        zeroed = self.clear | (self.read_clear & reads_followed)
        m.d.comb += cleared.eq(Mux(zeroed, 0, self.expected))
        m.d.sync += self.expected.eq(cleared)
        with m.If(accepted):
            m.d.sync += self.expected.eq(
                added(cleared, self.value, multiply=self.multiply, integer=self.integer)
            )
        with m.If(~in_flight & reads_followed):
            m.d.comb += Assert(self.bank.read_data[:SUM_BITS] == self.expected)
        with m.If(in_flight):
            m.d.comb += Assert(~self.bank.idle)

    def _assert_progress(self, m):
        """Nothing waits longer than an accumulation takes."""
        waited = Signal(4)
        m.d.sync += waited.eq(Mux(self.bank.hazard, waited + 1, 0))
        m.d.comb += Assert(waited < self.latency)
        quiet = Signal(4)
        m.d.sync += quiet.eq(Mux(self.bank.valid, 0, quiet + ~quiet.all()))
        with m.If(quiet > 2 * self.latency):
            m.d.comb += Assert(self.bank.idle)


class Inductive(Bank):
    """Asserts where the followed sum is: in its register, or in one stage of the adder."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        follower = self.follower
        followed = follower.followed
        mine = [valid & (entry == followed) for valid, entry in self._stages]
        latest = Mux(
            self._written.bit_select(followed, 1),
            Mux(followed, self._stored[1], self._stored[0])[:SUM_BITS],
            Const(0, SUM_BITS),
        )
        for here, total in zip(mine, m.submodules.accumulator.sums, strict=True):
            latest = Mux(here, total, latest)
        waits = self._held_valid & (self._held.entry == followed)
        with_held = added(
            latest,
            self._held.product.significand[:VALUE_BITS],
            multiply=self._held_multiply,
            integer=self._held_integer,
        )
        m.d.comb += [
            Assert(follower.expected == Mux(waits, with_held, latest)),
            Assert(follower.waits == waits),
            Assert(follower.flies == Cat(mine)),
            Assert((follower.flies & (follower.flies - 1)) == 0),
        ]
        with m.If(~follower.chosen):
            m.d.comb += [Assert(self.idle), Assert(self._written == 0)]
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
    board = follower(Inductive, latency, monkeypatch)
    prove(board, name=f"bank-{latency}", depth=2 * latency + 2, timeout=120)


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


class Doubling(Bank):
    """Starts a product again when none follows it."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        again = Signal()
        m.d.sync += again.eq(0)
        with m.If(self.ready & self._held_valid & ~self.valid & ~again):
            m.d.sync += [self._held_valid.eq(1), again.eq(1)]
        return m


class Overclearing(Bank):
    """A read that clears loses the first sum of a neighbour that ends in the same cycle."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.read_clear):
            m.d.sync += self._written.eq(self._written & ~(1 << self.read_entry))
        return m


class Unclearing(Bank):
    """A read that clears has no effect while others are in flight."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.read_clear & ~self.idle & ~self._stages[-1][0]):
            m.d.sync += self._written.eq(self._written)
        return m


@pytest.mark.parametrize(
    ("broken", "latency"),
    [
        (Careless, 2),
        (Careless, 4),
        (Forgetful, 3),
        (Doubling, 1),
        (Overclearing, 2),
        (Unclearing, 3),
    ],
)
def test_a_bank_that_loses_or_doubles_one_is_found(broken, latency, monkeypatch):
    board = follower(broken, latency, monkeypatch)
    with pytest.raises(FaultError, match="test_bank_formal"):
        prove(
            board,
            name=f"bank-{broken.__name__}-{latency}",
            mode="bmc",
            depth=6 + 2 * latency,
            timeout=120,
        )
