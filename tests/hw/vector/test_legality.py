"""Every row of vector arithmetic, at random registers and vtypes, against golden."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.riscv.config import CoreConfig
from fanweave.golden.riscv.trap import TrapError
from fanweave.golden.riscv.vector_legality import check_arithmetic
from fanweave.golden.riscv.vector_state import VectorState
from fanweave.hw.vector.legality import ArithmeticLegality, arithmetic_rows

_TRIES = 20
_GROUPS = 4
#: Types that the unit has.
_SUPPORTED = [code for code in range(64) if VectorState(CoreConfig()).set_vtype(code)]


def fields_of(row, generator):
    """Registers near each other, so that groups overlap often; some at the ends of the file."""
    base = generator.choice([0, 0, generator.randrange(32), 24, 31])
    fields = {}
    for name, parts in row.fields.items():
        width = max(part.place + part.width for part in parts)
        fields[name] = generator.getrandbits(width)
        if name in ("vd", "vs1", "vs2"):
            near = base + generator.choice([0, 0, 1, 2, 3, 4, 8])
            fields[name] = near % 32 & generator.choice([31, 30, 28, 24, 24])
        elif name == "simm":
            fields[name] -= 16
    return fields


def is_legal(vector, row, fields):
    try:
        check_arithmetic(vector, row, fields, row.name.split(".")[0])
    except TrapError:
        return False
    return True


@pytest.mark.parametrize("group", range(_GROUPS))
def test_it_is_legal_when_golden_says_so(group):
    dut = ArithmeticLegality()
    generator = random.Random(group)
    vector = VectorState(CoreConfig())
    seen = set()

    async def bench(ctx):
        for row in arithmetic_rows()[group::_GROUPS]:
            for _ in range(_TRIES):
                code = generator.choice(_SUPPORTED if generator.random() < 0.9 else range(64))
                vector.set_vtype(code)
                fields = fields_of(row, generator)
                ctx.set(dut.illegal_type, vector.illegal)
                ctx.set(dut.sew, code >> 3 & 3)
                ctx.set(dut.lmul, code & 7)
                ctx.set(dut.word, row.encode(**fields))
                await ctx.delay(1e-9)
                legal = is_legal(vector, row, fields)
                assert ctx.get(dut.legal) == legal, (row.name, fields, hex(code))
                seen.add((row.name, legal))

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    # Both happen to nearly all rows; some are legal with few types only.
    rows = len({name for name, _ in seen})
    for legal in (False, True):
        assert len({name for name, was in seen if was is legal}) > 0.9 * rows
