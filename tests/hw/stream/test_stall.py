# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from fanweave.hw.stream import StallInjector, StreamChecker
from fanweave.hw.stream.testing import stream_get, stream_put


def run(*, probability, count=60, seed_value=7, pauses=(), seed=1):
    """Send 0..count-1 through an injector; return payloads, cycles taken, and violations."""
    m = Module()
    m.submodules.stall = stall = StallInjector(shape=8, seed=seed)
    m.submodules.checker = checker = StreamChecker(shape=8)
    checker.watch(m, stall.o)
    cycle = Signal(16)
    m.d.sync += cycle.eq(cycle + 1)
    received = []
    transfers_at = []

    async def source(ctx):
        ctx.set(stall.probability, probability)
        ctx.set(stall.seed_value, seed_value)
        ctx.set(stall.seed_load, 1)
        await ctx.tick()
        ctx.set(stall.seed_load, 0)
        for payload in range(count):
            await stream_put(ctx, stall.i, payload)

    async def sink(ctx):
        for index in range(count):
            for _ in range(pauses[index % len(pauses)] if pauses else 0):
                await ctx.tick()
            received.append(await stream_get(ctx, stall.o))
            transfers_at.append(ctx.get(cycle))
        violation = ctx.get(checker.violation)
        assert ctx.get(checker.transfers) == count
        received.append(("violation", violation))

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(source)
    simulator.add_testbench(sink)
    simulator.run()
    return received, transfers_at


def test_probability_zero_is_transparent():
    received, transfers_at = run(probability=0)
    assert received == [*range(60), ("violation", 0)]
    assert transfers_at[-1] - transfers_at[0] == 59


@pytest.mark.parametrize("pauses", [(), (0, 3, 1)])
@pytest.mark.parametrize("probability", [64, 200])
def test_stalls_keep_the_order_and_the_protocol(probability, pauses):
    received, transfers_at = run(probability=probability, pauses=pauses)
    assert received == [*range(60), ("violation", 0)]
    assert transfers_at[-1] - transfers_at[0] > 65


def test_the_rate_follows_the_probability():
    _, transfers_at = run(probability=128, count=250)
    assert 400 < transfers_at[-1] - transfers_at[0] < 600


def test_a_seed_replays_and_another_differs():
    assert run(probability=128)[1] == run(probability=128)[1]
    assert run(probability=128)[1] != run(probability=128, seed_value=8)[1]
    assert run(probability=128)[1] != run(probability=128, seed=2)[1]


def test_a_seed_that_cancels_to_zero_still_runs():
    _, transfers_at = run(probability=128, seed=7, seed_value=7)
    assert transfers_at[-1] - transfers_at[0] > 70


@pytest.mark.parametrize("seed", [-1, 1 << 32, "x"])
def test_an_illegal_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"Seed of a stall injector must be an integer in 0\.\."):
        StallInjector(shape=8, seed=seed)
