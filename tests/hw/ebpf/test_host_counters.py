"""Counters that a host reads."""

import random

from amaranth.hdl import Module
from amaranth.sim import Simulator

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_registers import COUNTERS
from fanweave.hw.ebpf.host_counters import HostCounters
from fanweave.sim.benches.ebpf.host_registers import play_registers


def test_counters_count_all_engines():
    config = EbpfConfig(engines=3, returns_context=True)
    generator = random.Random(5)
    expected = dict.fromkeys((name for name, _ in COUNTERS), 0)

    async def scenario(registers):
        ctx, port = registers.bench.ctx, registers.bench.port
        for _ in range(300):
            for engine in range(3):
                happens = [generator.randrange(2) for _ in range(3)]
                cause = generator.choice(list(FaultCause))
                ctx.set(port.event_taken[engine], happens[0])
                ctx.set(port.instructions[engine], happens[1])
                ctx.set(port.verdict_valid[engine], happens[2])
                ctx.set(port.verdict_cause[engine], cause.value)
                expected["events"] += happens[0]
                expected["instructions"] += happens[1]
                expected[f"verdicts_{cause.name.lower()}"] += happens[2]
            await ctx.tick()
        for engine in range(3):
            for name in ("event_taken", "instructions", "verdict_valid"):
                ctx.set(getattr(port, name)[engine], 0)
        for name, count in expected.items():
            assert await registers.read(f"counter_{name}", 0) == count, name
            assert await registers.read(f"counter_{name}", 1) == 0

    play_registers(scenario, config)


def test_halves_of_a_counter_belong_together():
    dut = HostCounters(engines=1)
    top = Module()
    top.submodules.dut = dut
    simulator = Simulator(top)
    simulator.add_clock(1e-6)

    async def bench(ctx):
        counter = dut.counters["events"]
        ctx.set(counter, 0x1_FFFF_FFFF)
        ctx.set(dut.word, 0)
        ctx.set(dut.read, 1)
        assert ctx.get(dut.data) == 0xFFFF_FFFF
        await ctx.tick()
        ctx.set(dut.read, 0)
        ctx.set(dut.event_taken[0], 1)
        await ctx.tick().repeat(3)
        assert ctx.get(counter) > 0x2_0000_0000 - 1
        ctx.set(dut.word, 1)
        ctx.set(dut.read, 1)
        for _ in range(2):  # reading it changes nothing
            assert ctx.get(dut.data) == 1
            await ctx.tick()
        ctx.set(dut.word, 0)
        await ctx.tick()
        ctx.set(dut.read, 0)
        ctx.set(dut.word, 1)
        assert ctx.get(dut.data) == 2

    simulator.add_testbench(bench)
    simulator.run()
