# amaranth: UnusedElaboratable=no
"""Fetches beside loads and stores: what is fetched is what stands there, and at which rate."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.cluster.instruction_memory import InstructionMemory

BASE = 0x8000_0000
SIZE = 4096


class Bench:
    """Two cores that fetch, and sources that load and store."""

    def __init__(self, *, cores, sources, seed=1):
        self.dut = InstructionMemory(size=SIZE, banks=4, cores=cores, sources=sources)
        self.cores, self.sources = cores, sources
        self.random = random.Random(seed)
        self.words = [0] * (SIZE // 4)
        self.fetching, self.asking = [None] * cores, [None] * sources
        self.fetched, self.answers = [None] * cores, [None] * sources
        self.count = [0] * cores
        self.holder = None

    def run(self, cycles, fetch, access):
        async def loop(ctx):
            for _ in range(cycles):
                await self.cycle(ctx, fetch, access)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(loop)
        simulator.run()

    async def cycle(self, ctx, fetch, access):
        dut = self.dut
        for core in range(self.cores):
            if self.fetching[core] is None:
                self.fetching[core] = fetch(core)
            ctx.set(dut.fetches[core].valid, self.fetching[core] is not None)
            ctx.set(dut.fetches[core].payload, self.fetching[core] or 0)
        for source in range(self.sources):
            if self.asking[source] is None:
                self.asking[source] = access(source)
            asks, port = self.asking[source], dut.requests[source]
            ctx.set(port.valid, asks is not None)
            for name, value in zip(("address", "write", "data", "lock"), asks or (), strict=False):
                ctx.set(getattr(port.payload, name), value)
            ctx.set(port.payload.mask, 0xFF)
        self.check(ctx)
        taken = [source for source in range(self.sources) if self.goes(ctx, source)]
        assert len(taken) <= 1
        self.fetched = [self.take_fetch(ctx, core) for core in range(self.cores)]
        self.answers = [None] * self.sources
        for source in taken:
            self.answers[source] = self.take(source)
        await ctx.tick()

    def goes(self, ctx, source):
        return self.asking[source] is not None and ctx.get(self.dut.requests[source].ready)

    def check(self, ctx):
        for core, word in enumerate(self.fetched):
            port = self.dut.fetched[core]
            assert bool(ctx.get(port.valid)) == (word is not None)
            assert word is None or ctx.get(port.payload) == word, f"core {core}"
        for source, word in enumerate(self.answers):
            port = self.dut.answers[source]
            assert bool(ctx.get(port.valid)) == (word is not None)
            assert word in (None, "store") or ctx.get(port.payload) == word, f"source {source}"

    def take_fetch(self, ctx, core):
        if self.fetching[core] is None or not ctx.get(self.dut.fetches[core].ready):
            return None
        address, self.fetching[core] = self.fetching[core], None
        self.count[core] += 1
        return self.words[(address - BASE) // 4]

    def take(self, source):
        (address, write, data, lock), self.asking[source] = self.asking[source], None
        assert self.holder in (None, source), "somebody else holds the lock"
        self.holder = source if lock else None
        place = (address - BASE) // 4
        if not write:
            return self.words[place] | self.words[place + 1] << 32
        self.words[place : place + 2] = [data & 0xFFFFFFFF, data >> 32]
        return "store"


@pytest.mark.parametrize("cores", [1, 2])
def test_what_is_fetched_is_what_was_stored_before(cores):
    """Stores are seen by the next fetch, also of a word that is kept."""
    bench = Bench(cores=cores, sources=3, seed=cores)
    pick = bench.random
    held = {}

    def fetch(core):
        return None if pick.random() < 0.2 else BASE + 4 * pick.randrange(12)

    def access(source):
        if source in held:
            return (held.pop(source), 1, pick.getrandbits(64), 0)
        if pick.random() < 0.5:
            return None
        address = BASE + 8 * pick.randrange(6)
        if source == 0 and pick.random() < 0.3:
            held[source] = address
            return (address, 0, 0, 1)
        return (address, pick.getrandbits(1), pick.getrandbits(64), 0)

    bench.run(3000, fetch, access)
    assert min(bench.count) > 1500


def test_two_cores_on_one_program_both_fetch_in_almost_every_cycle():
    bench = Bench(cores=2, sources=1)
    places = [0, 0]

    def fetch(core):
        places[core] += 1
        return BASE + 4 * (places[core] % 600)

    bench.run(500, fetch, lambda source: None)
    assert min(bench.count) >= 498
