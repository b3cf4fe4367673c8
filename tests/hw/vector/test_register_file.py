# amaranth: UnusedElaboratable=no
"""Ports that compete for banks: every request is served soon, with the word that it names."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.vector.config import PRESETS, VectorConfig
from fanweave.hw.vector.payloads import address_bits
from fanweave.hw.vector.register_file import BANK_READS, RegisterFile, bank_count

SMALL = PRESETS["small"]


class Bench:
    """Drives all ports, and keeps what the registers hold."""

    def __init__(self, config, *, readers, writers, seed=1):
        self.config = config
        self.dut = RegisterFile(config=config, readers=readers, writers=writers)
        self.random = random.Random(seed)
        self.words = [0] * (32 * config.words)
        self.reading = [None] * readers  # address that is asked for
        self.writing = [None] * writers
        self.answers = [None] * readers  # what the port shows from now on
        self.waited = {}
        self.longest = 0
        self.served = 0

    def run(self, cycles, next_read, next_write):
        async def loop(ctx):
            for _ in range(cycles):
                await self.cycle(ctx, next_read, next_write)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(loop)
        simulator.run()

    async def cycle(self, ctx, next_read, next_write):
        self.offer(ctx, next_read, next_write)
        asked = [*self.dut.reads, *self.dut.writes]
        ready = [ctx.get(port.valid & port.ready) for port in asked]
        for number, (port, answer) in enumerate(zip(self.dut.reads, self.answers, strict=True)):
            assert answer is None or ctx.get(port.value) == answer, f"reader {number}"
        mask = sum(
            word << place * self.config.word_bits
            for place, word in enumerate(self.words[: self.config.words])
        )
        assert ctx.get(self.dut.mask) == mask
        self.take(ready)
        await ctx.tick()

    def offer(self, ctx, next_read, next_write):
        for number, port in enumerate(self.dut.reads):
            if self.reading[number] is None:
                self.reading[number] = next_read(number)
            ctx.set(port.valid, self.reading[number] is not None)
            ctx.set(port.address, self.reading[number] or 0)
        for number, port in enumerate(self.dut.writes):
            if self.writing[number] is None:
                self.writing[number] = next_write(number)
            ctx.set(port.valid, self.writing[number] is not None)
            address, value, enable = self.writing[number] or (0, 0, 0)
            ctx.set(port.address, address)
            ctx.set(port.value, value)
            ctx.set(port.enable, enable)

    def take(self, ready):
        wants = [*self.reading, *self.writing]
        for number, (wanted, served) in enumerate(zip(wants, ready, strict=True)):
            waits = wanted is not None and not served
            self.waited[number] = self.waited.get(number, 0) + 1 if waits else 0
            self.longest = max(self.longest, self.waited[number])
        reads = len(self.reading)
        self.served += sum(ready[:reads])
        for number in range(reads):
            if ready[number]:
                self.answers[number] = self.words[self.reading[number]]
                self.reading[number] = None
        for number in range(len(self.writing)):
            if ready[reads + number]:
                address, value, enable = self.writing[number]
                bits = sum(0xFF << 8 * byte for byte in range(64) if enable >> byte & 1)
                self.words[address] = self.words[address] & ~bits | value & bits
                self.writing[number] = None


@pytest.mark.parametrize("config", [SMALL, VectorConfig()], ids=["small", "default"])
def test_random_requests_are_served(config):
    bench = Bench(config, readers=5, writers=3)
    words = 32 * config.words

    def next_read(number):
        return bench.random.randrange(words) if bench.random.random() < 0.6 else None

    def next_write(number):
        if bench.random.random() < 0.5:
            return None
        address = bench.random.choice([bench.random.randrange(words), 0, config.words - 1])
        taken = [other[0] for other in bench.writing if other]
        if address in taken:
            return None  # units never write one word at the same time
        value = bench.random.getrandbits(config.word_bits)
        return address, value, bench.random.getrandbits(config.word_bytes)

    bench.run(400, next_read, next_write)
    assert bench.served > 800
    assert bench.longest <= 4


def test_nobody_waits_for_long_at_one_bank():
    """Eleven readers and three writers of one bank: three and one of them a cycle, in turn."""
    bench = Bench(SMALL, readers=11, writers=3)
    step = bank_count(SMALL)
    bench.run(60, lambda n: step * n % 32, lambda n: (step * n, 1 << n, 0xFF))
    assert bench.served == 60 * BANK_READS
    # Two rounds of four cycles for the readers.
    assert bench.longest <= 7


def test_a_bank_gives_three_words_in_each_cycle():
    bench = Bench(VectorConfig(), readers=3, writers=1)
    bench.run(50, lambda n: 4 * n, lambda n: (1, n, 1))
    assert bench.served == 150
    assert bench.longest == 0


def test_addresses_have_a_word_each():
    assert 1 << address_bits(SMALL) == 32 * SMALL.words
    assert (bank_count(SMALL), bank_count(VectorConfig())) == (4, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"readers": 0, "writers": 1}, "readers = 0 must be at least 1"),
        ({"readers": 1, "writers": 0}, "writers = 0 must be at least 1"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(ValueError, match=message):
        RegisterFile(config=SMALL, **settings)
