# amaranth: UnusedElaboratable=no
import random

import numpy as np
import pytest
from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.golden.fp import convert_accumulator
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.stream import StallInjector, StreamChecker
from fanweave.hw.ventaglio.drain import Drain

ACCUMULATORS = 32


class Bench:
    """A drain over a plain memory, with stalls behind it."""

    def __init__(self, config, seed):
        self.config = config
        self.generator = random.Random(seed)
        self.m = m = Module()
        m.submodules.dut = self.dut = dut = Drain(config=config)
        words = [Signal(32, name=f"word_{i}") for i in range(ACCUMULATORS + config.drain_lanes)]
        self.words = words
        for lane in range(config.drain_lanes):
            m.d.comb += dut.read_data[32 * lane : 32 * lane + 32].eq(
                Array(words)[dut.read_from + lane]
            )
        shape = dut.results.payload.shape()
        m.submodules.stall = self.stall = StallInjector(shape=shape, seed=seed + 1)
        m.submodules.checker = self.checker = StreamChecker(shape=shape)
        wiring.connect(m, dut.results, self.stall.i)
        self.checker.watch(m, dut.results)

    def run(self, *testbenches):
        simulator = Simulator(self.m)
        simulator.add_clock(1e-6)
        for testbench in testbenches:
            simulator.add_testbench(testbench)
        simulator.run()


def random_drain(generator, lanes):
    raw = generator.random() < 0.2
    base = lanes * generator.randrange(ACCUMULATORS // lanes)
    return {
        "element": generator.choice([ElementFormat.FP16, ElementFormat.INT8]),
        "target": generator.choice(list(ElementFormat)),
        "raw": raw,
        "clear": generator.getrandbits(1),
        "scale": generator.choice([0x3F800000, 0x3F000000, 0xC0490FDB]),
        "base": base,
        "count": generator.randint(0, ACCUMULATORS - base),
    }


def expected_of(drain, values):
    bits = convert_accumulator(
        np.array(values, dtype=np.uint32),
        scale=drain["scale"],
        source_is_integer=drain["element"].is_integer,
        target=None if drain["raw"] else drain["target"],
    )
    return bits.tolist()


@pytest.mark.parametrize("beat_bits", [64, 128])
@pytest.mark.parametrize("stall", [0, 180])
def test_targets_tails_and_back_pressure(small, beat_bits, stall):
    seed = beat_bits + stall
    print(f"seed {seed}")
    bench = Bench(small(beat_bits=beat_bits, banks=4), seed)
    dut, generator, lanes = bench.dut, bench.generator, bench.config.drain_lanes
    drains = [random_drain(generator, lanes) for _ in range(40)]
    drains += [
        {**random_drain(generator, lanes), "base": 0, "count": count} for count in (0, 1, lanes)
    ]
    expected = []

    async def start(ctx):
        ctx.set(bench.stall.probability, stall)
        for drain in drains:
            values = []
            for word in bench.words:
                value = generator.getrandbits(32)
                if generator.random() < 0.7:
                    value = int(np.float32(generator.uniform(-300, 300)).view(np.uint32))
                ctx.set(word, value)
                values.append(value)
            base, count = drain["base"], drain["count"]
            if count:
                expected.append((drain, expected_of(drain, values[base : base + count])))
            ctx.set(dut.operation, drain)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.operation, {})  # it keeps its own
            reads = 0
            while ctx.get(dut.busy):
                assert ctx.get(dut.read_to) == base + count
                assert ctx.get(dut.read_from) == base + reads * lanes
                assert ctx.get(dut.read_clear) == (ctx.get(dut.read) and drain["clear"])
                reads += ctx.get(dut.read)
                await ctx.tick()
            assert reads == -(-count // lanes)
            # The next one may begin while results are on their way.

    async def take(ctx):
        ctx.set(bench.stall.o.ready, 1)
        number = 0
        elements, beats = [], 0
        for _ in range(6000):
            *_, valid, payload = await ctx.tick().sample(bench.stall.o.valid, bench.stall.o.payload)
            if not valid:
                continue
            drain, values = expected[number]
            bits = 32 if drain["raw"] else drain["target"].bits
            count = payload.elements
            per_beat = beat_bits // bits
            assert 1 <= count <= per_beat
            assert count == per_beat or payload.last
            assert payload.data >> count * bits == 0
            elements += [payload.data >> e * bits & (1 << bits) - 1 for e in range(count)]
            beats += 1
            if payload.last:
                assert elements == values, drain
                number, elements, beats = number + 1, [], 0
                if number == sum(drain["count"] != 0 for drain in drains):
                    break
        assert number == len(expected)
        await ctx.tick()
        assert not ctx.get(dut.active)
        assert not ctx.get(bench.checker.violation)

    bench.run(start, take)


def test_a_read_a_cycle_when_nothing_stalls(small):
    bench = Bench(small(), 1)
    dut = bench.dut

    async def start(ctx):
        ctx.set(bench.stall.o.ready, 1)
        ctx.set(dut.operation, {"raw": 1, "count": 32})
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        for _ in range(16):
            assert ctx.get(dut.read)
            await ctx.tick()
        assert not ctx.get(dut.busy)

    bench.run(start)


@pytest.mark.parametrize("reads", [1, 2, 3, 5])
def test_an_aborted_drain_leaves_nothing_to_the_next(small, reads):
    """Four reads of bytes fill a beat; an abort finds one that is begun."""
    bench = Bench(small(), 1)
    dut = bench.dut
    operation = {"element": ElementFormat.INT8, "target": ElementFormat.INT8, "scale": 0x3F800000}

    async def start(ctx):
        for place, word in enumerate(bench.words):
            ctx.set(word, place)
        ctx.set(dut.operation, {**operation, "count": 32})
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        await ctx.tick().repeat(reads)
        ctx.set(dut.abort, 1)
        assert not ctx.get(dut.read)
        await ctx.tick().repeat(2)
        ctx.set(dut.abort, 0)
        assert not ctx.get(dut.busy)
        await ctx.tick().repeat(6)
        ctx.set(dut.operation, {**operation, "base": 8, "count": 3})
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)

    async def take(ctx):
        ctx.set(bench.stall.o.ready, 1)
        beats = []
        for _ in range(40):
            *_, valid, payload = await ctx.tick().sample(bench.stall.o.valid, bench.stall.o.payload)
            if valid:
                beats.append((payload.elements, payload.last, payload.data))
        whole = [(8, 0, 0x0706050403020100)] if reads >= 4 else []
        assert beats == [*whole, (3, 1, 0x0A0908)]

    bench.run(start, take)
