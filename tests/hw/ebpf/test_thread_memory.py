# amaranth: UnusedElaboratable=no
"""Every size at every offset, for threads that must not see one another."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.hw.ebpf.thread_memory import ThreadMemory

SIZE = 32
THREADS = 4


@pytest.mark.parametrize("clears", [False, True])
def test_random_accesses_are_those_of_bytes(clears):
    dut = ThreadMemory(threads=THREADS, size=SIZE, clears=clears)
    generator = random.Random(3)
    model = [bytearray(SIZE) for _ in range(THREADS)]

    async def bench(ctx):
        for thread in range(0 if clears else THREADS):
            for word in range(SIZE // 8):
                data = generator.randbytes(8)
                model[thread][8 * word : 8 * word + 8] = data
                ctx.set(dut.fill_enable, 1)
                ctx.set(dut.fill_thread, thread)
                ctx.set(dut.fill_word, word)
                ctx.set(dut.fill_data, int.from_bytes(data, "little"))
                await ctx.tick()
        ctx.set(dut.fill_enable, 0)
        filled = None
        for _ in range(3_000):
            size = generator.choice([1, 2, 4, 8])
            thread, offset = generator.randrange(THREADS), generator.randrange(SIZE - size + 1)
            read_thread, read_offset = generator.randrange(THREADS), generator.randrange(SIZE)
            data = generator.randbytes(8)
            writes = generator.random() < 0.6
            ctx.set(dut.write_enable, writes)
            ctx.set(dut.write_thread, thread)
            ctx.set(dut.write_offset, offset)
            ctx.set(dut.write_size, size)
            ctx.set(dut.write_data, int.from_bytes(data, "little"))
            ctx.set(dut.read_thread, read_thread)
            ctx.set(dut.read_offset, read_offset)
            clearing = None
            if clears and generator.random() < 0.05:
                cleared = generator.randrange(THREADS)
                if not (writes and cleared == thread):
                    ctx.set(dut.clear_enable, 1)
                    ctx.set(dut.clear_thread, cleared)
                    clearing = cleared
            if not clears and filled is None and generator.random() < 0.3:
                filled = generator.randrange(THREADS), generator.randrange(SIZE // 8)
                filled_data = generator.randbytes(8)
                ctx.set(dut.fill_thread, filled[0])
                ctx.set(dut.fill_word, filled[1])
                ctx.set(dut.fill_data, int.from_bytes(filled_data, "little"))
            ctx.set(dut.fill_enable, filled is not None)
            assert ctx.get(dut.fill_ready) == (not writes)
            before = bytes(model[read_thread][read_offset : read_offset + 8])
            await ctx.tick()
            got = ctx.get(dut.read_data).to_bytes(8, "little")
            assert got[: len(before)] == before
            ctx.set(dut.clear_enable, 0)
            if writes:
                model[thread][offset : offset + size] = data[:size]
            elif filled is not None:
                model[filled[0]][8 * filled[1] : 8 * filled[1] + 8] = filled_data
                filled = None
            if clearing is not None:
                model[clearing] = bytearray(SIZE)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(("threads", "size"), [(3, 32), (4, 24), (4, 8), (0, 32)])
def test_sizes_that_are_no_powers_of_two_are_refused(threads, size):
    with pytest.raises(ValueError, match="must be a power of two of at least"):
        ThreadMemory(threads=threads, size=size)
