# amaranth: UnusedElaboratable=no
import random
from collections import deque

import pytest

from fanweave.hw.ventaglio.row_buffer import RowBuffer


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_agrees_with_a_list(simulate, depth):
    seed = 10 + depth
    print(f"seed {seed}")
    generator = random.Random(seed)
    dut = RowBuffer(shape=8, depth=depth)
    inside = deque()

    async def bench(ctx):
        for cycle in range(600):
            pressure = 0.2 if cycle // 100 % 2 else 0.8
            valid, payload = generator.random() < pressure, generator.randrange(256)
            most = min(2, len(inside))
            pop = generator.randint(0, most) if generator.random() < 0.6 else 0
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.payload, payload)
            ctx.set(dut.pop, pop)
            assert ctx.get(dut.first_valid) == (len(inside) >= 1)
            assert ctx.get(dut.second_valid) == (len(inside) >= 2)
            assert [ctx.get(dut.first), ctx.get(dut.second)][:most] == list(inside)[:most]
            ready = ctx.get(dut.i.ready)
            assert ready == (len(inside) < depth)
            await ctx.tick()
            for _ in range(pop):
                inside.popleft()
            if valid and ready:
                inside.append(payload)

    simulate(dut, bench)


def test_an_illegal_depth_is_refused():
    with pytest.raises(ValueError, match="depth = 2 is illegal; it must be 3 or more"):
        RowBuffer(shape=8, depth=2)
