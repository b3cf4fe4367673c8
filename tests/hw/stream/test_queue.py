# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from fanweave.hw.stream import Queue, SkidBuffer, StallInjector, StreamChecker
from fanweave.hw.stream.testing import stream_assert, stream_get, stream_put, stream_source

BLOCKS = {
    "depth 1": lambda: Queue(shape=8, depth=1),
    "depth 2": lambda: Queue(shape=8, depth=2),
    "depth 5": lambda: Queue(shape=8, depth=5),
    "depth 5 in block RAM": lambda: Queue(shape=8, depth=5, block_ram=True),
    "skid buffer": lambda: SkidBuffer(shape=8),
}
FULL_RATE = [name for name in BLOCKS if name != "depth 1"]


def simulate(top, *testbenches):
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize("name", BLOCKS)
def test_order_and_protocol_survive_random_stalls(name):
    m = Module()
    m.submodules.block = block = BLOCKS[name]()
    m.submodules.stall = stall = StallInjector(shape=8, seed=11)
    m.submodules.checker = checker = StreamChecker(shape=8)
    checker.watch(m, block.o)
    m.d.comb += [
        stall.i.payload.eq(block.o.payload),
        stall.i.valid.eq(block.o.valid),
        block.o.ready.eq(stall.i.ready),
    ]

    async def source(ctx):
        ctx.set(stall.probability, 120)
        await stream_source(ctx, block.i, range(200), seed=3)

    async def sink(ctx):
        for expected in range(200):
            await stream_assert(ctx, stall.o, expected)
        assert ctx.get(checker.violation) == 0
        assert ctx.get(checker.transfers) == 200

    simulate(m, source, sink)


@pytest.mark.parametrize("name", FULL_RATE)
def test_one_payload_a_cycle(name):
    m = Module()
    m.submodules.block = block = BLOCKS[name]()
    cycle = Signal(16)
    m.d.sync += cycle.eq(cycle + 1)
    taken = []

    async def source(ctx):
        for payload in range(50):
            await stream_put(ctx, block.i, payload)

    async def sink(ctx):
        for expected in range(50):
            await stream_assert(ctx, block.o, expected)
            taken.append(ctx.get(cycle))

    simulate(m, source, sink)
    assert taken[-1] - taken[0] == 49


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_level_counts_and_a_full_queue_refuses(depth):
    queue = Queue(shape=8, depth=depth)

    async def bench(ctx):
        for held in range(depth):
            assert ctx.get(queue.level) == held
            assert ctx.get(queue.i.ready) == 1
            await stream_put(ctx, queue.i, held)
        assert ctx.get(queue.level) == depth
        assert ctx.get(queue.i.ready) == 0
        assert await stream_get(ctx, queue.o) == 0
        assert ctx.get(queue.level) == depth - 1

    simulate(queue, bench)


@pytest.mark.parametrize(
    ("depth", "error", "message"),
    [
        (0, ValueError, "Depth of a queue must be at least 1, not 0"),
        ("4", TypeError, "Depth of a queue must be an integer, not '4'"),
    ],
)
def test_an_illegal_depth_is_refused(depth, error, message):
    with pytest.raises(error) as caught:
        Queue(shape=8, depth=depth)
    assert str(caught.value) == message
