"""Rows leave the buffer in their order, one or two at a time; none is lost, doubled or invented.

The harness looks at the ports only; for the induction, the buffer also asserts where the followed
row stands.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Array, Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.ventaglio.row_buffer import RowBuffer
from fanweave.sim.formal import prove


class Follower(wiring.Component):
    """A buffer between an arbitrary source and sink; follows one entry of the solver's choice."""

    valid: In(1)
    payload: In(1)
    follow: In(1)
    pop: In(2)

    def __init__(self, buffer):
        self.buffer = buffer
        self.count = Signal(range(buffer.depth + 2))
        self.following, self.value = Signal(), Signal()
        self.ahead = Signal.like(self.count)  # rows before the followed one
        buffer.follower = self
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        m.d.comb += [
            buffer.i.valid.eq(self.valid),
            buffer.i.payload.eq(self.payload),
            buffer.pop.eq(self.pop),
            Assume(self.pop <= buffer.first_valid + buffer.second_valid),
        ]
        enters = Signal()
        count = self.count
        m.d.comb += enters.eq(self.valid & buffer.i.ready)
        m.d.sync += count.eq(count + enters - self.pop)
        m.d.comb += [
            Assert(count <= buffer.depth),
            Assert(buffer.first_valid == (count >= 1)),
            Assert(buffer.second_valid == (count >= 2)),
            Assert(buffer.i.ready == (count != buffer.depth)),
        ]
        following, value, ahead = self.following, self.value, self.ahead
        with m.If(~following & enters & self.follow):
            m.d.sync += [following.eq(1), value.eq(self.payload), ahead.eq(count - self.pop)]
        with m.If(following):
            m.d.comb += Assert(ahead < count)
            with m.If(ahead < 2):
                m.d.comb += Assert(Mux(ahead == 0, buffer.first, buffer.second) == value)
            with m.If(ahead < self.pop):
                m.d.sync += following.eq(0)
            with m.Else():
                m.d.sync += ahead.eq(ahead - self.pop)
        return m


class Inductive(RowBuffer):
    """Asserts that the followed row stands behind as many as the harness counts."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        follower = self.follower
        m.d.comb += Assert(self._level == follower.count)
        with m.If(follower.following):
            m.d.comb += Assert(Array(self._entries)[follower.ahead] == follower.value)
        return m


@pytest.mark.parametrize("depth", [3, 4, 9])
def test_rows_leave_in_order(depth):
    board = Follower(Inductive(shape=1, depth=depth))
    prove(board, name=f"row-buffer-{depth}", depth=2, timeout=120)


class Sticky(RowBuffer):
    """Takes a row although it is full when one leaves, and forgets its place."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.i.ready.eq(1)
        return m


class Swapped(RowBuffer):
    """Shows the second row as the first when there are two."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.second_valid):
            m.d.comb += self.first.eq(self.second)
        return m


@pytest.mark.parametrize("broken", [Sticky, Swapped])
def test_a_broken_buffer_is_found(broken):
    board = Follower(broken(shape=1, depth=3))
    with pytest.raises(FaultError, match="test_row_buffer_formal"):
        prove(board, name=f"row-buffer-{broken.__name__}", mode="bmc", depth=8, timeout=60)
