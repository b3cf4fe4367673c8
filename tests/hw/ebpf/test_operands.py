# amaranth: UnusedElaboratable=no
"""Rows and words of an operand buffer are the same bytes."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.ebpf.operands import OperandBuffer

ROW_BYTES, WORD_BYTES = 32, 8


@pytest.mark.parametrize("size", [64, 256])
def test_random_rows_and_words(size):
    dut = OperandBuffer(size=size)
    generator = random.Random(size)
    model = bytearray(size)

    def part(number, length):
        return int.from_bytes(model[number * length : (number + 1) * length], "little")

    async def bench(ctx):
        for _ in range(2_000):
            row, stored_row = (generator.randrange(size // ROW_BYTES) for _ in range(2))
            word = generator.randrange(size // WORD_BYTES)
            by_row, by_word = generator.choice([(0, 0), (1, 0), (1, 0), (0, 1), (0, 1)])
            row_data, word_data = generator.randbytes(ROW_BYTES), generator.randbytes(WORD_BYTES)
            ctx.set(dut.row, row)
            ctx.set(dut.word, word)
            ctx.set(dut.row_write, by_row)
            ctx.set(dut.row_number, stored_row)
            ctx.set(dut.row_data, int.from_bytes(row_data, "little"))
            ctx.set(dut.word_write, by_word)
            ctx.set(dut.word_value, int.from_bytes(word_data, "little"))
            # In the cycle of a write what was there before is read.
            assert ctx.get(dut.beat) == part(row, ROW_BYTES)
            assert ctx.get(dut.word_data) == part(word, WORD_BYTES)
            await ctx.tick()
            if by_row:
                model[stored_row * ROW_BYTES : (stored_row + 1) * ROW_BYTES] = row_data
            if by_word:
                model[word * WORD_BYTES : (word + 1) * WORD_BYTES] = word_data

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("size", [0, 32, 63, 96, 65])
def test_sizes_that_are_refused(size):
    with pytest.raises(ValueError, match=f"size = {size} must be a power of two of at least 64"):
        OperandBuffer(size=size)
