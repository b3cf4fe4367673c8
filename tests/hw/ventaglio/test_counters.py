# amaranth: UnusedElaboratable=no
from fanweave.golden.isa.ventaglio import COUNTERS
from fanweave.hw.ventaglio.counters import Counters


def test_each_counter_adds_its_events_and_clears(simulate):
    dut = Counters()
    names = [name for name, _ in COUNTERS]

    async def bench(ctx):
        for place, name in enumerate(names):
            ctx.set(getattr(dut, f"event_{name}"), 100 * place)
        await ctx.tick().repeat(3)
        for place, name in enumerate(names):
            assert ctx.get(getattr(dut, f"count_{name}")) == 300 * place
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert all(ctx.get(getattr(dut, f"count_{name}")) == 0 for name in names)
        await ctx.tick()
        assert ctx.get(getattr(dut, f"count_{names[-1]}")) == 100 * (len(names) - 1)

    simulate(dut, bench)
