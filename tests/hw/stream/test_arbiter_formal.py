"""The arbiter loses, doubles and invents nothing, and lets nobody wait for long.

Proved for ever, by induction; the sources and the sink do what they like within the rules of
streams.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.stream.arbiter import Arbiter
from fanweave.sim.formal import prove


class Rules(wiring.Component):
    """Holds an arbiter between arbitrary sources and an arbitrary sink."""

    def __init__(self, arbiter):
        self.arbiter = arbiter
        count = arbiter.count
        super().__init__({"valid": In(count), "payload": In(2 * count), "ready": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        count = arbiter.count
        out = arbiter.o
        m.d.comb += out.ready.eq(self.ready)
        for number, source in enumerate(arbiter.sources):
            m.d.comb += [
                source.valid.eq(self.valid[number]),
                source.payload.eq(self.payload.word_select(number, 2)),
            ]
            self._keep_offer(m, source)
        taken = Cat(source.valid & source.ready for source in arbiter.sources)
        moves = out.valid & out.ready
        m.d.comb += [
            Assert(out.valid == self.valid.any()),
            # One is taken exactly when one leaves, and it is that one.
            Assert(taken == Mux(moves, 1 << out.payload.source, 0)),
            Assert(out.payload.source < count),
        ]
        with m.If(out.valid):
            m.d.comb += [
                Assert(self.valid.bit_select(out.payload.source, 1)),
                Assert(out.payload.payload == self.payload.word_select(out.payload.source, 2)),
            ]
        self._stays(m, out)
        for number in range(count):
            self._waits(m, number, moves)
        return m

    @staticmethod
    def _keep_offer(m, source):
        """What a source offers, it offers until it is taken."""
        pending, shown = Signal(), Signal(2)
        m.d.sync += [pending.eq(source.valid & ~source.ready), shown.eq(source.payload)]
        with m.If(pending):
            m.d.comb += [Assume(source.valid), Assume(source.payload == shown)]

    @staticmethod
    def _stays(m, out):
        """So does the arbiter."""
        pending, shown = Signal(), Signal.like(out.payload.as_value())
        m.d.sync += [pending.eq(out.valid & ~out.ready), shown.eq(out.payload)]
        with m.If(pending):
            m.d.comb += [Assert(out.valid), Assert(out.payload.as_value() == shown)]

    def _waits(self, m, number, moves):
        """A source sees each of the others served once at most before it is served."""
        arbiter, count = self.arbiter, self.arbiter.count
        others = Signal(range(count + 1), name=f"others_{number}")
        before = Signal(range(2 * count), name=f"before_{number}")
        held_before = Signal(range(2 * count), name=f"held_before_{number}")
        m.d.comb += [
            before.eq(self._distance(number, arbiter.last)),
            held_before.eq(self._distance(arbiter.held, arbiter.last)),
            Assert(arbiter.last < count),
            Assert(arbiter.held < count),
            Assert(others < count),
        ]
        own = moves & (arbiter.o.payload.source == number)
        with m.If(own | ~self.valid[number]):
            m.d.sync += others.eq(0)
        with m.Elif(moves):
            m.d.sync += others.eq(others + 1)
        with m.If(others != 0):
            m.d.comb += Assert(others + before < count)
            # A choice that is kept was made while this one waited already.
            with m.If(arbiter.kept):
                m.d.comb += Assert(held_before <= before)
        with m.If(arbiter.kept):
            m.d.comb += Assert(self.valid.bit_select(arbiter.held, 1))

    def _distance(self, number, last):
        """How many come before it in the order."""
        count = self.arbiter.count
        ahead = Mux(number > last, number - last - 1, number + count - last - 1)
        return ahead[: count.bit_length()]


@pytest.mark.parametrize("sources", [2, 3, 4, 5, 8, 9])
def test_an_arbiter_is_proved_for_ever(sources):
    rules = Rules(Arbiter(shape=2, sources=sources))
    prove(rules, name=f"stream-arbiter-{sources}", depth=4, timeout=100)


class Unfair(Arbiter):
    """Begins with the first source each time."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.last.eq(self.count - 1)
        return m


class Fickle(Arbiter):
    """Forgets what it offered."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.kept.eq(0)
        return m


@pytest.mark.parametrize("broken", [Unfair, Fickle])
def test_a_broken_arbiter_is_found(broken):
    rules = Rules(broken(shape=2, sources=3))
    with pytest.raises(FaultError):
        prove(rules, name=f"stream-arbiter-{broken.__name__}", mode="bmc", depth=8, timeout=100)
