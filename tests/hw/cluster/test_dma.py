# amaranth: UnusedElaboratable=no
"""Random transfers between the memories, overlapping ones and impossible ones, as golden's."""

import random

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.golden.isa.cluster import DMA, REGIONS, RegionName, peripheral_address
from fanweave.golden.riscv.devices import Dma as GoldenDma
from fanweave.golden.riscv.memory import Memory
from fanweave.hw.cluster.banked_memory import BankedMemory
from fanweave.hw.cluster.config import ClusterConfig
from fanweave.hw.cluster.dma import Dma
from fanweave.hw.cluster.dma_local import LANES
from fanweave.hw.cluster.instruction_memory import InstructionMemory

L1, CODE, OUTER = (
    next(region for region in REGIONS if region.name is name)
    for name in (RegionName.L1, RegionName.INSTRUCTIONS, RegionName.OUTER)
)
#: Bytes of each memory that transfers touch.
SPAN = 2048
NUMBERS = {entry.name: entry.address for entry in DMA.registers}
FIELDS = ("source", "destination", "bytes", "rows", "source_stride", "destination_stride")
MASK = 0xFFFFFFFF


class Bench:
    """A DMA with small memories, and outer memory of some latency."""

    def __init__(self, *, seed, latency=3, pause=0.0, rows=4, rival=False):
        self.random = random.Random(seed)
        self.latency, self.pause = latency, pause
        config = ClusterConfig(rows=rows, transfers=2, beats=16)
        self.dut = Dma(config=config)
        self.l1 = BankedMemory(size=SPAN, banks=16, ports=1, lanes=LANES)
        self.code = InstructionMemory(size=4096, banks=2, cores=1, sources=2)
        self.top = Module()
        self.top.submodules.dma, self.top.submodules.l1 = self.dut, self.l1
        self.top.submodules.code = self.code
        for lane in range(LANES):
            wiring.connect(self.top, self.dut.l1[lane], self.l1.requests[1 + lane])
            answer, sink = self.l1.responses[1 + lane], self.dut.l1_answers[lane]
            self.top.d.comb += [sink.valid.eq(answer.valid), sink.payload.eq(answer.payload)]
        wiring.connect(self.top, self.dut.code, self.code.requests[0])
        wiring.connect(self.top, self.code.answers[0], self.dut.code_answers)
        self.rival = rival
        self.outer = bytearray(SPAN)
        self.waiting = []
        self.cycle = 0
        self.golden = Memory()
        self.golden_dma = GoldenDma(self.golden)

    def run(self, program, limit=20000):
        """`program` is a coroutine that uses `store`, `load` and `access`; returns its result."""
        result = []

        async def loop(ctx):
            result.append(await program(ctx))

        simulator = Simulator(self.top)
        simulator.add_clock(1e-9)
        simulator.add_testbench(loop)
        self.limit = limit
        simulator.run()
        return result[0]

    async def tick(self, ctx):
        """A cycle, with outer memory, and a rival at the L1."""
        dut = self.dut
        if self.rival:
            port = self.l1.requests[0]
            ctx.set(port.valid, 1)
            ctx.set(port.payload.write, 0)
            ctx.set(port.payload.address, 8 * self.random.randrange(16))
        answers, goes = dut.outer_answers, self.random.random() >= self.pause
        shows = bool(self.waiting) and self.waiting[0][0] <= self.cycle
        ctx.set(answers.valid, shows)
        if shows:
            _, write, word = self.waiting[0]
            ctx.set(answers.payload.write, write)
            ctx.set(answers.payload.data, word)
        ctx.set(dut.outer.ready, goes)
        if shows and ctx.get(answers.ready):
            self.waiting.pop(0)
        if goes and ctx.get(dut.outer.valid):
            self.waiting.append((self.cycle + self.latency, *self.move(ctx.get(dut.outer.payload))))
        await ctx.tick()
        self.cycle += 1
        assert self.cycle < self.limit, "no end"

    def move(self, request):
        at = request.address - OUTER.base
        assert 0 <= at <= SPAN - 64
        assert at % 64 == 0
        if not request.write:
            return 0, int.from_bytes(self.outer[at : at + 64], "little")
        for byte in range(64):
            if request.mask >> byte & 1:
                self.outer[at + byte] = request.data >> 8 * byte & 0xFF
        return 1, 0

    async def bus(self, ctx, name, write, data=0):
        bus = self.dut.bus
        ctx.set(bus.select, 1)
        ctx.set(bus.write, write)
        ctx.set(bus.number, NUMBERS[name])
        ctx.set(bus.data, data)
        while not ctx.get(bus.ready):
            await self.tick(ctx)
        value = ctx.get(bus.value)
        assert ctx.get(bus.known)
        await self.tick(ctx)
        ctx.set(bus.select, 0)
        return value

    async def start(self, ctx, transfer):
        """Program both."""
        for name, value in zip(FIELDS, transfer, strict=True):
            await self.bus(ctx, name, 1, value)
            assert self.golden_dma.write(peripheral_address(DMA, name), value)
        await self.bus(ctx, "start", 1, 0)
        self.golden_dma.write(peripheral_address(DMA, "start"), 0)

    async def finish(self, ctx):
        while await self.bus(ctx, "pending", 0):
            pass

    async def words(self, ctx, port, answers, base, write=None):
        """All words of one of the memories, stored or loaded."""
        found = []
        for place in range(SPAN // 8):
            ctx.set(port.valid, 1)
            ctx.set(port.payload.address, base + 8 * place)
            ctx.set(port.payload.write, write is not None)
            ctx.set(port.payload.mask, 0xFF)
            if write is not None:
                ctx.set(
                    port.payload.data, int.from_bytes(write[8 * place : 8 * place + 8], "little")
                )
            while not ctx.get(port.ready):
                await self.tick(ctx)
            await self.tick(ctx)
            ctx.set(port.valid, 0)
            found.append(ctx.get(answers.payload).to_bytes(8, "little"))
        return b"".join(found)

    def ports(self):
        return (
            (L1, self.l1.requests[0], self.l1.responses[0]),
            (CODE, self.code.requests[1], self.code.answers[1]),
        )

    async def fill(self, ctx):
        """Random contents everywhere."""
        rival, self.rival = self.rival, False
        for region, port, answers in self.ports():
            content = self.random.randbytes(SPAN)
            await self.words(ctx, port, answers, region.base, content)
            self.golden.part(region.name).data[:SPAN] = np.frombuffer(content, np.uint8)
        self.outer[:] = self.random.randbytes(SPAN)
        self.golden.part(OUTER.name).data[:SPAN] = np.frombuffer(bytes(self.outer), np.uint8)
        self.rival = rival

    async def compare(self, ctx):
        self.rival = False
        for region, port, answers in self.ports():
            found = await self.words(ctx, port, answers, region.base)
            assert found == self.golden.part(region.name).data[:SPAN].tobytes(), region.name
        assert bytes(self.outer) == self.golden.part(OUTER.name).data[:SPAN].tobytes()
        error = await self.bus(ctx, "error", 0)
        assert error == self.golden_dma.values["error"]


def random_transfer(pick):
    """Rows within the spans; sometimes none, sometimes beyond everything, sometimes overlapping."""
    source, destination = pick.choice((L1, CODE, OUTER)), pick.choice((L1, CODE, OUTER))
    size = 4 * pick.choice((0, 1, 2, 15, 16, 17, pick.randrange(40)))
    rows = pick.choice((0, 1, 1, 2, 3))
    strides = [4 * pick.randrange(-20, 40) for _ in range(2)]
    starts = []
    for region, stride in zip((source, destination), strides, strict=True):
        reach = size + abs(stride) * max(rows - 1, 0)
        low = abs(stride) * max(rows - 1, 0) if stride < 0 else 0
        starts.append(region.base + low + 4 * pick.randrange((SPAN - reach) // 4))
    if source is destination and pick.random() < 0.5:
        starts[1] = min(starts[0] + 4 * pick.randrange(0, 20), source.base + SPAN - size)
        rows = min(rows, 1)
    fault = pick.random()
    if fault < 0.05:
        starts[pick.randrange(2)] = pick.choice((0x2000_0000, 4, L1.base - 4, OUTER.end - 4))
        size += 8
    elif fault < 0.1:
        starts[pick.randrange(2)] |= pick.choice((1, 2))
    elif fault < 0.13:
        size |= 2
    return starts[0], starts[1], size, rows, *(stride & MASK for stride in strides)


@pytest.mark.parametrize(
    ("seed", "latency", "pause", "rival"),
    [(1, 1, 0.0, False), (2, 12, 0.3, True), (3, 40, 0.0, True)],
)
def test_random_transfers(seed, latency, pause, rival):
    bench = Bench(seed=seed, latency=latency, pause=pause, rival=rival)

    async def program(ctx):
        await bench.fill(ctx)
        for _ in range(30):
            await bench.start(ctx, random_transfer(bench.random))
            if bench.random.random() < 0.2:
                await bench.finish(ctx)
            if bench.random.random() < 0.1:
                await bench.finish(ctx)
                await bench.bus(ctx, "error", 1, 0)
                bench.golden_dma.write(peripheral_address(DMA, "error"), 0)
        await bench.finish(ctx)
        await bench.compare(ctx)

    bench.run(program)


def test_a_beat_a_cycle():
    """32 beats, from outer memory with a latency of 10 cycles and back, in rows of two beats."""
    bench = Bench(seed=5, latency=10, rows=16)

    async def program(ctx):
        await bench.fill(ctx)
        begins, taken = [], []
        for source, destination in ((OUTER.base, L1.base), (L1.base, OUTER.base)):
            begins.append(bench.cycle)
            await bench.start(ctx, (source, destination, 128, 16, 128, 128))
            await bench.finish(ctx)
            taken.append(bench.cycle - begins[-1])
        await bench.compare(ctx)
        return taken

    taken = bench.run(program)
    # 7 stores to registers; beats; latency; a few cycles of the pipeline and of polling.
    assert all(32 + 10 + 7 < cycles <= 32 + 10 + 7 + 10 for cycles in taken), taken


def test_registers():
    bench = Bench(seed=1)

    async def program(ctx):
        for place, name in enumerate(FIELDS):
            await bench.bus(ctx, name, 1, 0x1000 + place)
        values = [await bench.bus(ctx, name, 0) for name in FIELDS]
        return values, await bench.bus(ctx, "start", 0), await bench.bus(ctx, "pending", 0)

    assert bench.run(program) == ([0x1000 + place for place in range(6)], 0, 0)
