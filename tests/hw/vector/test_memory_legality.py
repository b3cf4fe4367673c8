"""Every row of vector loads and stores, at random registers and vtypes, against golden."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.vector.config import PRESETS
from fanweave.hw.vector.memory_legality import MemoryLegality
from fanweave.hw.vector.memory_operations import memory_operation
from fanweave.hw.vector.unit_testing import GoldenVector
from fanweave.hw.vector.ventaglio_operations import is_packed

ROWS = [row for row in INSTRUCTIONS if memory_operation(row) is not None and not is_packed(row)]
TRIES = 16
L1 = next(region.base for region in REGIONS if region.name is RegionName.L1)
#: Registers with the address and the stride.
BASE, STRIDE = 10, 11


def word_of(row, generator):
    near = generator.choice([0, 0, generator.randrange(32), 24])
    values = {"rs1": BASE, "rs2": STRIDE, "vm": generator.getrandbits(1)}
    for name in ("vd", "vs3", "vs2"):
        number = near + generator.choice([0, 0, 1, 2, 4, 8])
        values[name] = number % 32 & generator.choice([31, 30, 28, 24])
    return row.encode(**{name: values[name] for name in row.fields})


def test_it_is_legal_when_golden_says_so():
    config = PRESETS["small"]
    dut = MemoryLegality(segments=config.segments)
    generator = random.Random(1)
    golden = GoldenVector(config)
    seen = set()

    async def bench(ctx):
        for row in ROWS:
            for _ in range(TRIES):
                code = generator.choice([0, 1, 2, 3, 5, 6, 7]) | generator.randrange(4) << 3
                golden.vector.set_vtype(code)
                golden.vector.vl = golden.vector.vstart = 0
                golden.hart.x[BASE], golden.hart.x[STRIDE] = L1, 4
                word = word_of(row, generator)
                trap = golden.run(word)
                legal = trap is None or trap.cause is not Cause.ILLEGAL_INSTRUCTION
                ctx.set(dut.word, word)
                ctx.set(dut.sew, code >> 3)
                ctx.set(dut.lmul, code & 7)
                ctx.set(dut.illegal_type, golden.vector.illegal)
                await ctx.delay(1e-9)
                assert ctx.get(dut.legal) == legal, (row.name, hex(word), hex(code))
                seen.add((row.name, legal))

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    # Long segments are legal with short groups only, and one register is always whole.
    for legal in (False, True):
        assert len({name for name, was in seen if was is legal}) > 0.7 * len(ROWS)


def test_bad_parameters():
    with pytest.raises(ValueError, match="segments = 9 must be from 1 to 8"):
        MemoryLegality(segments=9)
