# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.hdl import Module

from fanweave.hw.ventaglio.aligner import Aligner

BEAT_BITS = 64


def random_extents(generator, units, rows):
    """Extents of rows in one memory, and the beats and the units that they ask for.

    The next row begins behind the last one, or some units on, within the beat or beats later.
    """
    extents, beats, kept = [], [], []
    at, sent = generator.randrange(units), None
    memory = {}

    def beat(number):
        return memory.setdefault(number, generator.getrandbits(BEAT_BITS))

    for _ in range(rows):
        length = generator.choice([1, 1, 2, 3, units - 1, units, units + 1, 3 * units + 1])
        first, last = at // units, (at + length - 1) // units
        joined = sent == first
        extents.append({"start": at % units, "joined": joined, "length": length})
        beats += [beat(number) for number in range(first + joined, last + 1)]
        unit_bits = BEAT_BITS // units
        for unit in range(at, at + length):
            kept.append(beat(unit // units) >> unit % units * unit_bits & (1 << unit_bits) - 1)
        at, sent = at + length, last
        at += generator.choice([0, 0, 0, 1, 2, units, 2 * units + 1])
    return extents, beats, kept


@pytest.mark.parametrize("unit_bits", [8, 32])
@pytest.mark.parametrize("seed", range(6))
def test_keeps_exactly_what_was_asked_for(simulate, unit_bits, seed):
    print(f"seed {seed}")
    generator = random.Random(f"{unit_bits} {seed}")
    pace, hunger = generator.choice([(0.9, 0.9), (0.3, 0.9), (0.9, 0.2), (0.5, 0.5)])
    dut = Aligner(beat_bits=BEAT_BITS, unit_bits=unit_bits)
    units = BEAT_BITS // unit_bits
    runs = [random_extents(generator, units, rows) for rows in (40, 1, 25)]

    async def run(ctx, extents, beats, kept):
        extents, beats, held = list(extents), list(beats), []
        showing = {dut.extents: None, dut.beats: None}
        idle = 0
        while idle < 8:
            for port, queue in ((dut.extents, extents), (dut.beats, beats)):
                if showing[port] is None and queue and generator.random() < pace:
                    showing[port] = queue.pop(0)
                    ctx.set(port.payload, showing[port])
                ctx.set(port.valid, showing[port] is not None)
            level = ctx.get(dut.level)
            assert level <= 2 * BEAT_BITS
            take = 0
            if generator.random() < hunger:
                take = unit_bits * generator.randint(0, level // unit_bits)
            ctx.set(dut.take, take)
            head = ctx.get(dut.head)
            held += [head >> at & (1 << unit_bits) - 1 for at in range(0, take, unit_bits)]
            assert head >> level == 0
            ready = {port: ctx.get(port.ready) for port in showing}
            moved = take != 0
            await ctx.tick()
            for port in showing:
                if showing[port] is not None and ready[port]:
                    showing[port] = None
                    moved = True
            done = not extents and not beats and held == kept
            idle = 0 if moved or (not done and idle < 100) else idle + 1
        assert held == kept
        assert not beats
        assert showing[dut.beats] is None
        ctx.set(dut.flush, 1)
        ctx.set(dut.take, 0)
        await ctx.tick()
        ctx.set(dut.flush, 0)

    async def bench(ctx):
        for extents, beats, kept in runs:
            await run(ctx, extents, beats, kept)

    simulate(dut, bench)


def test_a_shared_beat_passes_in_one_cycle(simulate):
    """Rows that lie behind one another stream at a beat a cycle."""
    dut = Aligner(beat_bits=BEAT_BITS, unit_bits=8)
    m = Module()
    m.submodules.dut = dut
    lengths = [3, 5, 1, 7, 4, 4, 8, 2, 6]

    async def bench(ctx):
        ctx.set(dut.beats.valid, 1)
        ctx.set(dut.extents.valid, 1)
        start = cycles = 0
        sent = list(lengths)
        while sent:
            ctx.set(
                dut.extents.payload,
                {"start": start % 8, "joined": start % 8 != 0, "length": sent[0]},
            )
            ctx.set(dut.take, ctx.get(dut.level))
            if ctx.get(dut.extents.ready):
                start += sent.pop(0)
            cycles += 1
            await ctx.tick()
        assert cycles == len(lengths)
        ctx.set(dut.extents.valid, 0)
        total = 0
        for _ in range(3):
            total += ctx.get(dut.level)
            ctx.set(dut.take, ctx.get(dut.level))
            await ctx.tick()

    simulate(m, bench)


def test_units_must_fill_a_beat():
    with pytest.raises(ValueError, match="beat_bits = 64 must be a multiple of unit_bits = 24"):
        Aligner(beat_bits=64, unit_bits=24)
