"""No payload is lost, doubled, invented or overtaken, and the protocol holds.

The solver picks one payload to follow. The blocks do not look at payloads, so a single bit is as
good as any width. Blocks whose whole state shows at their ports are proved for ever; queues over
a memory are proved for every behaviour of both sides over a number of cycles that lets each
place of the memory be used more than once.
"""

# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanweave.golden.errors import FaultError
from fanweave.hw.stream import Queue, SkidBuffer
from fanweave.sim.formal import prove


class Scoreboard(wiring.Component):
    """Holds a block between an arbitrary source and sink, and follows one payload through it."""

    valid: In(1)
    ready: In(1)
    payload: In(1)
    follow: In(1)

    def __init__(self, block, *, capacity):
        self.block = block
        self.capacity = capacity
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self.block
        count = Signal(range(self.capacity + 2))
        enters, leaves = Signal(), Signal()
        m.d.comb += [
            block.i.valid.eq(self.valid),
            block.i.payload.eq(self.payload),
            block.o.ready.eq(self.ready),
            enters.eq(block.i.valid & block.i.ready),
            leaves.eq(block.o.valid & block.o.ready),
        ]
        m.d.sync += count.eq(count + enters - leaves)
        level = block.level if isinstance(block, Queue) else block.o.valid + ~block.i.ready
        m.d.comb += [Assert(count <= self.capacity), Assert(count == level)]
        self._assert_order(m, count, enters, leaves)
        self._assert_protocol(m)
        self._assert_progress(m, count)
        return m

    def _assert_order(self, m, count, enters, leaves):
        """The followed payload comes out after exactly those that were inside before it."""
        following, value = Signal(), Signal()
        ahead = Signal.like(count)
        with m.If(~following & enters & self.follow):
            m.d.sync += [following.eq(1), value.eq(self.payload), ahead.eq(count - leaves)]
        with m.If(following):
            with m.If(leaves):
                m.d.sync += [ahead.eq(ahead - 1), following.eq(ahead != 0)]
            m.d.comb += Assert(ahead < count)
            with m.If((ahead == 0) & self.block.o.valid):
                m.d.comb += Assert(self.block.o.payload == value)
            if isinstance(self.block, SkidBuffer):
                with m.If(ahead == 1):
                    m.d.comb += Assert(self.block.skid == value)

    def _assert_protocol(self, m):
        shown, pending = Signal(), Signal()
        m.d.sync += [
            shown.eq(self.block.o.payload),
            pending.eq(self.block.o.valid & ~self.block.o.ready),
        ]
        with m.If(pending):
            m.d.comb += [Assert(self.block.o.valid), Assert(self.block.o.payload == shown)]

    def _assert_progress(self, m, count):
        """What is inside shows within two cycles, and an empty block takes something."""
        hidden = Signal(2)
        m.d.sync += hidden.eq(Mux((count != 0) & ~self.block.o.valid, hidden + 1, 0))
        m.d.comb += Assert(hidden < 2)
        with m.If(count == 0):
            m.d.comb += Assert(self.block.i.ready)


def test_a_queue_of_one_is_proved_for_ever():
    board = Scoreboard(Queue(shape=1, depth=1), capacity=1)
    prove(board, name="stream-queue-1", depth=4, timeout=60)


@pytest.mark.parametrize(
    ("depth", "block_ram", "cycles"), [(2, False, 10), (3, False, 9), (3, True, 9)]
)
def test_a_queue_over_a_memory_is_proved_for_many_cycles(depth, block_ram, cycles):
    board = Scoreboard(Queue(shape=1, depth=depth, block_ram=block_ram), capacity=depth)
    name = f"stream-queue-{depth}{'-block-ram' if block_ram else ''}"
    prove(board, name=name, mode="bmc", depth=cycles, timeout=60)


def test_a_skid_buffer_is_proved_for_ever():
    board = Scoreboard(SkidBuffer(shape=1), capacity=2)
    prove(board, name="stream-skid-buffer", depth=4, timeout=60)


class Lossy(SkidBuffer):
    """Forgets a payload that comes in while two wait."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.i.ready.eq(1)
        return m


class Overtaking(SkidBuffer):
    """Shows the younger of two payloads."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.eq(self.skid)
        return m


@pytest.mark.parametrize("broken", [Lossy, Overtaking])
def test_a_broken_block_is_found(broken):
    board = Scoreboard(broken(shape=1), capacity=2)
    with pytest.raises(FaultError, match="test_queue_formal"):
        prove(board, name=f"stream-{broken.__name__}", mode="bmc", depth=8, timeout=60)
