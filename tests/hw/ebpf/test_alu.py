"""Arithmetic of the engine against golden, on corners and at random."""

import itertools
import random

import pytest
from amaranth.sim import Simulator

from fanweave.golden.ebpf.arithmetic import alu, byte_order, compare
from fanweave.golden.isa.ebpf import AluOperation, JumpOperation
from fanweave.hw.ebpf.alu import Alu, Comparator

#: Operations with a unit or a test of their own.
ELSEWHERE = (AluOperation.DIV, AluOperation.MOD, AluOperation.END)
CORNERS = [
    *(0, 1, 2, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000),
    *(0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000),
    *((1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x1122_3344_5566_7788),
]
SEED = 11


def operands():
    generator = random.Random(SEED)
    yield from itertools.product(CORNERS, CORNERS)
    for _ in range(300):
        yield generator.getrandbits(64), generator.getrandbits(generator.choice([8, 32, 64]))


def combinational(dut, bench):
    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("operation", [op for op in AluOperation if op not in ELSEWHERE])
@pytest.mark.parametrize("wide", [True, False])
def test_arithmetic(operation, wide):
    dut = Alu()
    bits = 64 if wide else 32
    extensions = (0, 8, 16, 32)[: 4 if wide else 3] if operation is AluOperation.MOV else (0,)

    async def bench(ctx):
        ctx.set(dut.operation, operation)
        ctx.set(dut.wide, wide)
        for (dst, src), extend in itertools.product(operands(), extensions):
            ctx.set(dut.dst, dst)
            ctx.set(dut.src, src)
            ctx.set(dut.extend, extend)
            expected = alu(operation, dst, src, offset=extend, bits=bits)
            assert ctx.get(dut.result) == expected, (hex(dst), hex(src), extend)

    combinational(dut, bench)


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("swap", [True, False])
def test_byte_orders(bits, swap):
    dut = Alu()

    async def bench(ctx):
        ctx.set(dut.operation, AluOperation.END)
        ctx.set(dut.bits, bits)
        ctx.set(dut.swap, swap)
        for dst, _ in operands():
            ctx.set(dut.dst, dst)
            assert ctx.get(dut.result) == byte_order(dst, bits, swap=swap), hex(dst)

    combinational(dut, bench)


WITHOUT_CONDITION = (JumpOperation.JA, JumpOperation.CALL, JumpOperation.EXIT)


@pytest.mark.parametrize("operation", JumpOperation)
@pytest.mark.parametrize("wide", [True, False])
def test_comparisons(operation, wide):
    dut = Comparator()

    async def bench(ctx):
        ctx.set(dut.operation, operation)
        ctx.set(dut.wide, wide)
        for dst, src in operands():
            ctx.set(dut.dst, dst)
            ctx.set(dut.src, src)
            expected = False
            if operation not in WITHOUT_CONDITION:
                expected = compare(operation, dst, src, bits=64 if wide else 32)
            assert ctx.get(dut.taken) == expected, (hex(dst), hex(src))

    combinational(dut, bench)
