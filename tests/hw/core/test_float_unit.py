"""The floating-point unit against the golden arithmetic, all modes, results and flags."""

import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.fp.instructions.compute import compute
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.core.float_unit import FloatUnit
from fanweave.hw.core.operations import FloatOperation as F
from fanweave.hw.core.operations import is_integer_result

SIGN, BOX = 1 << 31, 0xFFFF0000
S, H = int(ElementFormat.FP32), int(ElementFormat.FP16)
SPECIAL = [
    0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x7F7FFFFF,
    0x7F800000, 0x7F800001, 0x7FC00000, 0x7FC12345, 0x4F000000, 0x4EFFFFFF, 0x4F800000,
    0x3F000000, 0x3FC00000, 0x3EFFFFFF, 0x33800000, 0x38800000, 0x387FE000, 0x477FE000, 0x477FF000,
    0x33000000, 0x34000000, 0x0C000000,
]  # fmt: skip
SIMPLE = {F.FEQ_S: Operation.EQ, F.FLT_S: Operation.LT, F.FLE_S: Operation.LE,
          F.FCLASS_S: Operation.CLASS, F.FMIN_S: Operation.MIN, F.FMAX_S: Operation.MAX,
          F.FCVT_W_S: Operation.TO_SIGNED, F.FCVT_WU_S: Operation.TO_UNSIGNED,
          F.FADD_S: Operation.ADD, F.FSUB_S: Operation.SUB, F.FMUL_S: Operation.MUL,
          F.FDIV_S: Operation.DIV, F.FSQRT_S: Operation.SQRT}  # fmt: skip
NEGATED = {F.FMADD_S: (0, 0), F.FMSUB_S: (0, SIGN), F.FNMSUB_S: (SIGN, 0), F.FNMADD_S: (SIGN, SIGN)}


def expected(operation, a, b, c, x, mode):
    """Result and flags."""
    if operation in SIMPLE:
        return compute(int(SIMPLE[operation]), a, b, 0, S, S, S, mode, 32)
    if operation in NEGATED:
        product, addend = NEGATED[operation]
        return compute(int(Operation.FMA), a ^ product, b, c ^ addend, S, S, S, mode, 32)
    if operation is F.FCVT_S_H:
        half = a & 0xFFFF if a >= BOX else ElementFormat.FP16.layout.canonical_nan
        return compute(int(Operation.CONVERT), half, 0, 0, H, H, S, mode, 32)
    if operation is F.FCVT_H_S:
        result, flags = compute(int(Operation.CONVERT), a, 0, 0, S, S, H, mode, 32)
        return result | BOX, flags
    if operation is F.FCVT_S_W:
        return compute(int(Operation.FROM_SIGNED), (x ^ SIGN) - SIGN, 0, 0, S, S, S, mode, 32)
    if operation is F.FCVT_S_WU:
        return compute(int(Operation.FROM_UNSIGNED), x, 0, 0, S, S, S, mode, 32)
    sign = {F.FSGNJ_S: b, F.FSGNJN_S: ~b, F.FSGNJX_S: a ^ b}
    if operation in sign:
        return a & SIGN - 1 | sign[operation] & SIGN, 0
    half = a & 0xFFFF | (BOX if a & 0x8000 else 0)
    return {F.FMV_W_X: x, F.FMV_H_X: x | BOX, F.FMV_X_W: a, F.FMV_X_H: half}[operation], 0


def number(generator):
    """Bits of a number: special, random, or close to another one in its exponent."""
    kind = generator.randrange(6)
    if kind == 0:
        return generator.choice(SPECIAL) | generator.choice((0, SIGN))
    if kind == 1:
        return generator.randrange(1 << 32)
    if kind == 2:
        return BOX | generator.choice((generator.randrange(1 << 16), 0x7C01, 0xFC00, 1, 0x3FF))
    exponent = generator.choice((generator.randrange(100, 160), 127, 1, 2, 254, 103, 113))
    fraction = generator.choice((generator.randrange(1 << 23), 0, 1, (1 << 23) - 1, 1 << 12))
    return generator.randrange(2) << 31 | exponent << 23 | fraction


def cases(operation, count):
    generator = random.Random(f"{operation}")
    for _ in range(count):
        a, b, c = (number(generator) for _ in range(3))
        if generator.random() < 0.2:
            c = b = a ^ generator.choice((0, SIGN, 1))
        x = generator.choice((generator.randrange(1 << 32), generator.randrange(64), SIGN, SIGN - 1,
                              (1 << 24) + generator.randrange(4), 0, (1 << 32) - 1))  # fmt: skip
        yield a, b, c, x, generator.randrange(5)


@pytest.mark.parametrize("operation", list(F), ids=lambda operation: operation.name)
def test_results_and_flags(operation):
    unit = FloatUnit()
    slow = operation in (F.FDIV_S, F.FSQRT_S)
    rows = list(cases(operation, 60 if slow else 400))
    wanted = [tuple(int(value) for value in expected(operation, *row)) for row in rows]
    got = []
    generator = random.Random(1)

    async def drive(ctx):
        ctx.set(unit.i.payload.operation, operation)
        for row in rows:
            for name, value in zip(("a", "b", "c", "x", "mode"), row, strict=True):
                ctx.set(unit.i.payload[name], value)
            if is_integer_result(operation):
                await ctx.delay(1e-9)
                got.append((ctx.get(unit.simple), ctx.get(unit.simple_flags)))
                continue
            ctx.set(unit.i.valid, 1)
            await ctx.tick().until(unit.i.ready)
            ctx.set(unit.i.valid, 0)

    async def take(ctx):
        if is_integer_result(operation):
            return
        for _ in range(50 * len(rows)):
            ready = generator.random() < 0.7
            ctx.set(unit.o.ready, ready)
            _, _, valid, result = await ctx.tick().sample(unit.o.valid, unit.o.payload)
            if ready and valid:
                got.append((result.value, result.flags))
                if len(got) == len(rows):
                    return

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(take)
    simulator.run()
    assert len(got) == len(rows)
    for row, result, right in zip(rows, got, wanted, strict=True):
        assert result == right, (
            f"{operation.name} of {[hex(value) for value in row]}: "
            f"{result[0]:#x} flags {result[1]:#x}, expected {right[0]:#x} flags {right[1]:#x}"
        )
