"""Division against golden, its latency, and a result that nobody takes."""

import itertools
import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.arithmetic import alu
from fanweave.golden.isa.ebpf import AluOperation
from fanweave.hw.ebpf.divider import Divider
from fanweave.hw.stream.testing import stream_get, stream_put

CORNERS = (0, 1, 3, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 63, (1 << 64) - 1)


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("wide", [1, 0])
@pytest.mark.parametrize("signed", [1, 0])
@pytest.mark.parametrize("modulo", [1, 0])
def test_quotients_and_rests(wide, signed, modulo):
    dut = Divider()
    generator = random.Random(wide << 2 | signed << 1 | modulo)
    operands = list(itertools.product(CORNERS, CORNERS))
    for _ in range(25):
        size = generator.choice([4, 20, 32, 64])
        operands.append((generator.getrandbits(64), generator.getrandbits(size)))
    operation = AluOperation.MOD if modulo else AluOperation.DIV

    async def bench(ctx):
        for number, (dst, src) in enumerate(operands):
            request = {"dst": dst, "src": src, "wide": wide, "signed": signed, "modulo": modulo}
            await stream_put(ctx, dut.i, {**request, "thread": number % 16})
            result = await stream_get(ctx, dut.o)
            expected = alu(operation, dst, src, offset=signed, bits=64 if wide else 32)
            assert (result.value, result.thread) == (expected, number % 16), (hex(dst), hex(src))

    simulate(dut, bench)


def test_a_division_takes_at_most_34_cycles():
    dut = Divider()

    async def bench(ctx):
        zero = {"wide": 1, "signed": 0, "modulo": 0, "thread": 0}
        await stream_put(ctx, dut.i, {"dst": (1 << 64) - 1, "src": 1, **zero})
        cycles = 1
        while not ctx.get(dut.o.valid):
            await ctx.tick()
            cycles += 1
        assert cycles == 33

    simulate(dut, bench)


def test_a_result_waits_until_it_is_taken():
    dut = Divider()

    async def bench(ctx):
        one = {"wide": 1, "signed": 0, "modulo": 0, "thread": 5}
        await stream_put(ctx, dut.i, {"dst": 100, "src": 7, **one})
        for _ in range(60):
            await ctx.tick()
        assert ctx.get(dut.o.valid)
        assert not ctx.get(dut.i.ready)
        result = await stream_get(ctx, dut.o)
        assert result.value == 14
        assert ctx.get(dut.i.ready)

    simulate(dut, bench)
