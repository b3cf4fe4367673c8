# amaranth: UnusedElaboratable=no
import random
from itertools import pairwise

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.ventaglio.bank import Bank

ENTRIES = 4


def to_int32(value):
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def product_of(value):
    """An integer product as the multiplier gives it."""
    return {"significand": value & 0xFFFF}


@pytest.mark.parametrize("latency", [1, 2, 3, 4])
@pytest.mark.parametrize("pace", [0.3, 1.0])
def test_no_sum_is_lost(simulate, small, latency, pace):
    seed = latency
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(
        formats=(ElementFormat.INT8,),
        accumulators=8 * ENTRIES,
        banks=8,
        accumulate_latency=latency,
    )
    dut = Bank(config=config)
    sums = [0] * ENTRIES

    async def products(ctx, count):
        """Random products, most of them dependent; a hazard lasts less than the latency."""
        hazards = 0
        while count:
            valid = generator.random() < pace
            entry = generator.choice([0, 0, 1, generator.randrange(ENTRIES)])
            value = generator.randint(-(127 * 127), 128 * 128)
            multiply = generator.random() < 0.2
            ctx.set(dut.valid, valid)
            ctx.set(dut.product, {"product": product_of(value), "entry": entry})
            ctx.set(dut.multiply, multiply)
            ctx.set(dut.integer, 1)
            hazards = hazards + 1 if ctx.get(dut.hazard) else 0
            assert hazards < latency
            accepted = valid and ctx.get(dut.ready)
            assert ctx.get(dut.ready) == (not ctx.get(dut.hazard))
            await ctx.tick()
            if accepted:
                sums[entry] = to_int32(value + (0 if multiply else sums[entry]))
                count -= 1
        ctx.set(dut.valid, 0)

    async def settle(ctx):
        for _ in range(2 * latency + 1):
            if ctx.get(dut.idle):
                break
            await ctx.tick()
        assert ctx.get(dut.idle)

    async def bench(ctx):
        for round_number in range(12):
            await products(ctx, generator.choice([1, 3, 40]))
            await settle(ctx)
            if round_number % 4 == 3:
                ctx.set(dut.clear, 1)
                await ctx.tick()
                ctx.set(dut.clear, 0)
                sums[:] = [0] * ENTRIES
            for entry in generator.sample(range(ENTRIES), ENTRIES):
                ctx.set(dut.read_entry, entry)
                assert to_int32(ctx.get(dut.read_data)) == sums[entry]
                if generator.random() < 0.5:
                    ctx.set(dut.read_clear, 1)
                    await ctx.tick()
                    ctx.set(dut.read_clear, 0)
                    sums[entry] = 0
                    assert ctx.get(dut.read_data) == 0

    simulate(dut, bench)


@pytest.mark.parametrize("latency", [1, 2, 3, 4])
def test_dependent_products_start_every_latency_cycles(simulate, small, latency):
    config = small(
        formats=(ElementFormat.INT8,), accumulators=32, banks=8, accumulate_latency=latency
    )
    dut = Bank(config=config)

    async def bench(ctx):
        for entries, spacing in (((2, 2, 2, 2, 2), latency), ((0, 1, 2, 3), 1)):
            accepted = []
            left = list(entries)
            cycle = 0
            ctx.set(dut.valid, 1)
            while left:
                ctx.set(dut.product, {"product": product_of(1), "entry": left[0]})
                if ctx.get(dut.ready):
                    accepted.append(cycle)
                    left.pop(0)
                await ctx.tick()
                cycle += 1
            ctx.set(dut.valid, 0)
            # The first goes from the input register while the second enters it.
            assert [b - a for a, b in pairwise(accepted[1:])] == [spacing] * (len(entries) - 2)
            await ctx.tick().repeat(2 * latency)

    simulate(dut, bench)


def test_a_drain_may_clear_while_others_are_accumulated(simulate, small):
    config = small(formats=(ElementFormat.INT8,), accumulators=32, banks=8, accumulate_latency=2)
    dut = Bank(config=config)

    async def bench(ctx):
        ctx.set(dut.valid, 1)
        ctx.set(dut.integer, 1)
        ctx.set(dut.read_entry, 1)
        for turn in range(8):
            ctx.set(dut.product, {"product": product_of(5), "entry": 0 if turn else 1})
            ctx.set(dut.read_clear, turn >= 4)
            await ctx.tick()
        ctx.set(dut.valid, 0)
        ctx.set(dut.read_clear, 0)
        await ctx.tick().repeat(10)
        assert ctx.get(dut.read_data) == 0
        ctx.set(dut.read_entry, 0)
        assert ctx.get(dut.read_data) % 5 == 0
        assert ctx.get(dut.read_data) >= 4 * 5

    simulate(dut, bench)
