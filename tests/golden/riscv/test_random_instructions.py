"""Whatever the bits are, a core executes them or traps; and it does the same again."""

import random

import numpy as np
import pytest

from fanweave.golden.isa.riscv import INSTRUCTIONS

L1 = 0x10000000
SEEDS = range(6)
COUNT = 1500


def randomize(bench, generator):
    """Random registers, vtype, CSRs and memory; pointers mostly lead somewhere."""
    hart, vector = bench.hart, bench.hart.vector
    bench.fill(generator)
    for number in range(1, 32):
        hart.x[number] = generator.choice(
            [generator.randrange(1 << 32), L1 + 4 * generator.randrange(0x7000), 0, 64]
        )
        hart.f[number] = generator.choice([generator.randrange(1 << 32), 0xFFFF3C00])
    small = generator.randrange(4) << 6 | generator.randrange(3) << 3
    vector.set_vtype(generator.choice([small, small, generator.randrange(1 << 9)]))
    vector.vl = generator.randrange(vector.vlmax + 1) if not vector.illegal else 0
    vector.vstart = generator.choice([0, 0, 0, generator.randrange(512)])
    hart.frm, vector.vxrm = generator.choice([0, 1, 2, 3, 4, 5]), generator.randrange(4)
    csrs = hart.csrs
    csrs.write("mstatus", 0x6600)
    for name in ("vtlreg", "vtlidxw", "vtlblks", "vtlratio", "vtlfmt", "vtlwidth"):
        csrs.write(name, generator.choice([0, 0, generator.randrange(1 << 32)]))
    if generator.random() < 0.3:
        csrs.write("vtlidxw", 1)
        csrs.write("vtlblks", 2)
        csrs.write("vtlratio", generator.randrange(1, 3))


def state(bench):
    hart = bench.hart
    vector = hart.vector
    numbers = (hart.pc, hart.fflags, vector.vl, vector.vtype, vector.vstart, vector.vxsat)
    return (*numbers, tuple(hart.x[:32]), tuple(hart.f), vector.bytes.tobytes(),
            hart.bank.tobytes())  # fmt: skip


@pytest.mark.parametrize("elen", [32, 64])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_instructions(make_bench, seed, elen):
    rows = [row for row in INSTRUCTIONS if row.name not in ("ebreak", "ecall")]
    benches = [make_bench(elen=elen, agnostic_ones=bool(seed % 2)) for _ in range(2)]
    generators = [random.Random(f"{seed}{elen}") for _ in range(2)]
    memory = np.frombuffer(random.Random(seed).randbytes(128 * 1024), np.uint8)
    executed = 0
    for bench in benches:
        bench.memory.span(L1, 128 * 1024)[:] = memory
    for _ in range(COUNT):
        results = []
        for bench, generator in zip(benches, generators, strict=True):
            randomize(bench, generator)
            row = generator.choice(rows)
            word = row.match | generator.randrange(1 << 32) & ~row.mask
            trap = bench.run_word(word)
            results.append((word, None if trap is None else trap.cause, state(bench)))
            bench.hart.csrs.write("mtvec", 0)
        assert results[0] == results[1]
        executed += results[0][1] is None
    assert executed > COUNT // 8
    assert (benches[0].memory.span(L1, 128 * 1024) == benches[1].memory.span(L1, 128 * 1024)).all()
