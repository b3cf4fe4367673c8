# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.hw.ventaglio.compaction import Compaction


@pytest.mark.parametrize(
    ("width", "count", "seed"),
    [(2, 1, None), (9, 3, None), (8, 12, None), (40, 16, 1), (128, 32, 2)],
)
def test_agrees_with_its_model(simulate, width, count, seed):
    print(f"seed {seed}")
    generator = random.Random(seed)
    vectors = range(1 << width)
    if seed is not None:
        vectors = [generator.getrandbits(width) & generator.getrandbits(width) for _ in range(150)]
        vectors += [0, (1 << width) - 1, 1, 1 << width - 1]
    dut = Compaction(width=width, count=count)

    async def bench(ctx):
        for bits in vectors:
            ctx.set(dut.bits, bits)
            positions, total = Compaction.model(bits, width, count)
            assert ctx.get(dut.total) == total
            got = [ctx.get(dut.positions[i]) for i in range(len(positions))]
            assert got == positions, f"{bits:#x}"

    simulate(dut, bench, clocked=False)


@pytest.mark.parametrize(("width", "count"), [(1, 1), (8, 0)])
def test_illegal_sizes_are_refused(width, count):
    with pytest.raises(ValueError, match=f"width = {width} and count = {count} must be"):
        Compaction(width=width, count=count)
