# amaranth: UnusedElaboratable=no
from fanweave.golden.isa.ventaglio import COUNTERS, REGISTERS, register
from fanweave.hw.ventaglio.counters import Counters

NAMES = [name for name, _ in COUNTERS]


def read(ctx, dut, name):
    ctx.set(dut.read_address, register(f"counter_{name}").address)
    return ctx.get(dut.read_data)


def test_each_counter_adds_its_events_and_clears(simulate):
    dut = Counters()

    async def bench(ctx):
        for place, name in enumerate(NAMES):
            ctx.set(getattr(dut, f"event_{name}"), 100 * place)
        for cycles in range(1, 4):
            await ctx.tick()
            # Also what came in the last cycle counts.
            for place, name in enumerate(NAMES):
                assert read(ctx, dut, name) == 100 * place * cycles
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert all(read(ctx, dut, name) == 0 for name in NAMES)
        await ctx.tick()
        assert read(ctx, dut, NAMES[-1]) == 100 * (len(NAMES) - 1)

    simulate(dut, bench)


def test_other_addresses_read_as_nothing(simulate):
    dut = Counters()
    counters = {register(f"counter_{name}").address for name in NAMES}

    async def bench(ctx):
        for name in NAMES:
            ctx.set(getattr(dut, f"event_{name}"), 7)
        await ctx.tick().repeat(2)
        others = {entry.address for entry in REGISTERS} - counters
        for address in others:
            ctx.set(dut.read_address, address)
            assert ctx.get(dut.read_data) == 0

    simulate(dut, bench)
