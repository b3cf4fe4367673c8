# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.ventaglio.mask_columns import MaskColumns


def ones_of(mask):
    return [column for column in range(mask.bit_length()) if mask >> column & 1]


async def walk(ctx, dut, masks, width, *, lanes, window, generator):
    """Take all rows group by group; returns the columns found for each row."""
    pitch = -(-width // 32) * 32
    memory = sum(mask << pitch * row for row, mask in enumerate(masks))
    total = pitch * len(masks)
    found = [[] for _ in masks]
    counts = [len(ones_of(mask)) for mask in masks]
    rows = [row for row, count in enumerate(counts) if count]
    # Rows without elements have no mask; what stands for them is taken out.
    memory = sum(masks[row] << pitch * place for place, row in enumerate(rows))
    total = pitch * len(rows)
    place = at = done = steps = 0
    ctx.set(dut.operation, {"width": width})
    ctx.set(dut.lanes, lanes)
    while place < len(rows):
        sees_second = place + 1 < len(rows) and generator.random() < 0.8
        ctx.set(dut.first_left, counts[rows[place]] - done)
        ctx.set(dut.second_valid, sees_second)
        ctx.set(dut.second_left, counts[rows[place + 1]] if sees_second else 0)
        ctx.set(dut.head, memory >> at & (1 << 128) - 1)
        first, second = ctx.get(dut.first_count), ctx.get(dut.second_count)
        assert first + second <= lanes
        assert not ctx.get(dut.wrong_first)
        assert not ctx.get(dut.wrong_second)
        assert not ctx.get(dut.wrong_before)
        assert ctx.get(dut.needed) == min(window, pitch * (place + 1 + sees_second) - at)
        assert ctx.get(dut.consumed) <= ctx.get(dut.needed)
        columns = [
            (ctx.get(dut.positions[e]) + ctx.get(dut.origins[int(e >= first)])) & 0xFFFF
            for e in range(first + second)
        ]
        finished = int(done + first == counts[rows[place]])
        if finished and sees_second and second == counts[rows[place + 1]]:
            finished = 2
        ctx.set(dut.rows_done, finished)
        step = generator.random() < 0.8
        ctx.set(dut.step, step)
        consumed = ctx.get(dut.consumed)
        await ctx.tick()
        if not step:
            continue
        steps += 1
        found[rows[place]] += columns[:first]
        if second:
            found[rows[place + 1]] += columns[first:]
        at += consumed
        place, done = (place, done + first) if not finished else (place + finished, 0)
        done += second if finished == 1 else 0
        assert steps < 1000
    ctx.set(dut.step, 0)
    # What is left of the last mask, in parts.
    ctx.set(dut.at_end, 1)
    ctx.set(dut.head, 0)
    while at < total:
        level = min(32 * generator.randint(0, 2) + -at % 32, total - at)
        ctx.set(dut.level, level)
        assert ctx.get(dut.leftover) == (at + level < total)
        assert ctx.get(dut.consumed) == level
        assert not ctx.get(dut.wrong_before)
        at += level
        await ctx.tick()
    ctx.set(dut.level, 0)
    assert not ctx.get(dut.leftover)
    ctx.set(dut.reset, 1)
    await ctx.tick()
    ctx.set(dut.at_end, 0)
    ctx.set(dut.reset, 0)
    return found


@pytest.mark.parametrize(
    ("element_format", "mask_columns"), [(ElementFormat.FP16, 32), (ElementFormat.E4M3, 64)]
)
def test_finds_every_one(simulate, small, element_format, mask_columns):
    seed = mask_columns
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=(element_format,), mask_columns=mask_columns)
    dut = MaskColumns(config=config)

    async def bench(ctx):
        for width in (1, 2, 31, 32, 33, 40, 64, 65, 100, 200):
            density = generator.choice([0.05, 0.5, 1.0])
            masks = [
                sum((generator.random() < density) << column for column in range(width))
                for _ in range(6)
            ]
            found = await walk(
                ctx, dut, masks, width, lanes=config.lanes, window=mask_columns, generator=generator
            )
            assert found == [ones_of(mask) for mask in masks]

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("masks", "first_left", "second_left", "flag"),
    [
        ((0b10110, 0b1), 2, 1, "wrong_first"),  # a one more than elements
        ((0b10110, 0b1), 4, 1, "wrong_first"),  # an element more than ones
        ((0b10, 0b11), 1, 1, "wrong_second"),
        ((0b10, 0b11), 1, 2, None),
    ],
)
def test_contradictions_are_found(simulate, small, masks, first_left, second_left, flag):
    dut = MaskColumns(config=small(mask_columns=64))

    async def bench(ctx):
        ctx.set(dut.operation, {"width": 32})
        ctx.set(dut.lanes, 4)
        ctx.set(dut.first_left, first_left)
        ctx.set(dut.second_valid, 1)
        ctx.set(dut.second_left, second_left)
        ctx.set(dut.head, masks[0] | masks[1] << 32)
        flags = ("wrong_before", "wrong_first", "wrong_second")
        assert [name for name in flags if ctx.get(getattr(dut, name))] == [flag] * (
            flag is not None
        )

    simulate(dut, bench)


@pytest.mark.parametrize("at_end", [False, True])
def test_ones_behind_a_finished_row_are_wrong(simulate, small, at_end):
    dut = MaskColumns(config=small())

    async def bench(ctx):
        ctx.set(dut.operation, {"width": 32})
        ctx.set(dut.lanes, 4)
        ctx.set(dut.first_left, 4)
        ctx.set(dut.head, 0b11111)
        ctx.set(dut.rows_done, 1)
        ctx.set(dut.step, 1)
        assert (ctx.get(dut.first_count), ctx.get(dut.consumed)) == (4, 4)
        assert not ctx.get(dut.wrong_first)
        await ctx.tick()
        ctx.set(dut.step, 0)
        ctx.set(dut.head, 0b1)
        ctx.set(dut.level, 28)
        ctx.set(dut.at_end, at_end)
        assert ctx.get(dut.wrong_before)

    simulate(dut, bench)
