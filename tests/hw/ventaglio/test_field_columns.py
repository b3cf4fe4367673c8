# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.field_columns import FieldColumns

N_OF_M, DENSE = IndexMode.N_OF_M, IndexMode.DENSE


class Rows:
    """Random rows of one operation: their columns and the index bits of all of them."""

    def __init__(self, generator, mode, n, m, counts):
        self.bits = index_bits(mode, m)
        self.columns, self.starts = [], []
        self.memory = self.length = 0
        for count in counts:
            self.starts.append(self.length)
            fields = [generator.getrandbits(self.bits) if self.bits else 0 for _ in range(count)]
            if mode is N_OF_M:
                fields = [field % m for field in fields]
                self.columns.append([e // n * m + field for e, field in enumerate(fields)])
            elif mode is DENSE:
                self.columns.append(list(range(count)))
            else:
                self.columns.append(fields)
            for field in fields:
                self.memory |= field << self.length
                self.length += self.bits
            self.length += -self.length % 32


async def walk(ctx, dut, rows, *, lanes, beat_bits, mode, n, m, generator):
    """Take all rows group by group, and check each group."""
    ctx.set(dut.operation, {"index_mode": mode, "n": n, "m": m})
    ctx.set(dut.lanes, lanes)
    row = done = at = 0
    while row < len(rows.columns):
        left = len(rows.columns[row]) - done
        sees_second = row + 1 < len(rows.columns) and generator.random() < 0.8
        second_left = len(rows.columns[row + 1]) if sees_second else 0
        ctx.set(dut.first_left, left)
        ctx.set(dut.second_valid, sees_second)
        ctx.set(dut.second_left, second_left)
        ctx.set(dut.head, rows.memory >> at & (1 << 2 * beat_bits) - 1)
        first = min(left, lanes)
        end = at + first * rows.bits
        if first == left:
            end += -end % 32
        free = lanes - first
        if rows.bits:
            free = min(free, max(beat_bits - (end - at), 0) // rows.bits)
        second = min(second_left, free)
        end += second * rows.bits
        rows_done = int(first == left)
        if sees_second and first == left and second == second_left:
            rows_done = 2
            end += -end % 32
        expected = rows.columns[row][done : done + first]
        if second:
            expected = expected + rows.columns[row + 1][:second]
        assert (ctx.get(dut.first_count), ctx.get(dut.second_count)) == (first, second)
        assert ctx.get(dut.needed) == end - at
        got = [ctx.get(dut.columns[e]) for e in range(len(expected))]
        assert got == [min(column, 0xFFFF) for column in expected], (row, done)
        ctx.set(dut.rows_done, rows_done)
        step = generator.random() < 0.8
        ctx.set(dut.step, step)
        await ctx.tick()
        if step:
            at = end
            row, done = (row, done + first) if rows_done == 0 else (row + rows_done, 0)
            done += second if rows_done == 1 else 0
    ctx.set(dut.step, 0)
    ctx.set(dut.reset, 1)
    await ctx.tick()
    ctx.set(dut.reset, 0)


def patterns(generator, count):
    """Patterns of all kinds, and N:M with every m."""
    yield from ((mode, 0, 0) for mode in (DENSE, IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16))
    for m in range(1, 33):
        for n in {1, m, *(generator.randint(1, m) for _ in range(count))}:
            yield N_OF_M, n, m


@pytest.mark.parametrize("element_format", [ElementFormat.FP16, ElementFormat.E4M3])
def test_columns_of_random_rows(simulate, small, element_format):
    seed = int(element_format)
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=(element_format,))
    dut = FieldColumns(config=config)

    async def bench(ctx):
        for mode, n, m in patterns(generator, 1):
            counts = [generator.choice([1, 2, 3, 5, 8, 9, 21]) for _ in range(8)]
            lanes = config.lanes
            if mode in (IndexMode.ABSOLUTE_8, IndexMode.ABSOLUTE_16):
                lanes = min(lanes, config.beat_bits // index_bits(mode))
            rows = Rows(generator, mode, n, m, counts)
            options = {"mode": mode, "n": n, "m": m, "generator": generator}
            await walk(ctx, dut, rows, lanes=lanes, beat_bits=config.beat_bits, **options)

    simulate(dut, bench)


def test_128_lanes_and_columns_beyond_16_bits(simulate):
    seed = 5
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = VentaglioConfig(formats=(ElementFormat.E4M3,), beat_bits=1024)
    dut = FieldColumns(config=config)

    async def bench(ctx):
        for mode, n, m, counts in (
            (DENSE, 0, 0, [300, 5]),
            (N_OF_M, 32, 32, [31, 500, 200]),
            (N_OF_M, 29, 32, [300]),
            (N_OF_M, 1, 32, [128 * 20, 3]),
        ):
            rows = Rows(generator, mode, n, m, counts)
            options = {"mode": mode, "n": n, "m": m, "generator": generator}
            await walk(ctx, dut, rows, lanes=128, beat_bits=1024, **options)

    simulate(dut, bench)


def test_a_group_never_needs_more_than_a_buffer_is_sure_to_take(simulate, small):
    """A buffer with more than a beat takes no other; its level is whole words less the phase."""
    config = small(formats=(ElementFormat.E4M3,))
    dut = FieldColumns(config=config)
    beat_bits = config.beat_bits

    async def bench(ctx):
        for mode, m in ((IndexMode.ABSOLUTE_8, 0), *((N_OF_M, m) for m in (2, 4, 8, 16, 32))):
            bits = index_bits(mode, m)
            ctx.set(dut.operation, {"index_mode": mode, "n": 1, "m": m})
            ctx.set(dut.lanes, 8)
            ctx.set(dut.second_valid, 1)
            for before in range(1, 16):
                # One step moves the phase to `before` fields.
                ctx.set(dut.reset, 1)
                await ctx.tick()
                ctx.set(dut.reset, 0)
                ctx.set(dut.rows_done, 0)
                ctx.set(dut.first_left, 100)
                for taken in range(0, before, 8):
                    ctx.set(dut.lanes, min(8, before - taken))
                    ctx.set(dut.step, 1)
                    await ctx.tick()
                ctx.set(dut.step, 0)
                ctx.set(dut.lanes, 8)
                phase = before * bits % 32
                least = next(
                    32 * words - phase for words in range(9) if 32 * words - phase > beat_bits
                )
                for first in range(1, 10):
                    for second in (1, 7, 8, 100):
                        ctx.set(dut.first_left, first)
                        ctx.set(dut.second_left, second)
                        assert ctx.get(dut.needed) <= least, (mode, m, before, first, second)

    simulate(dut, bench)
