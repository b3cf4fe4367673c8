"""Every scalar instruction on the core, with golden's directed cases."""

import importlib.util
from pathlib import Path

import pytest

from fanweave.golden.isa.riscv_scalar import SCALAR_INSTRUCTIONS
from fanweave.sim.benches.core.programs import DATA_BASE

_FILE = Path(__file__).parents[2] / "golden" / "riscv" / "test_scalar.py"
_SPEC = importlib.util.spec_from_file_location("golden_scalar_cases", _FILE)
cases = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(cases)

#: Executed by the tests below whose cases stand here.
OTHERS = {
    *("lui", "auipc", "jal", "jalr", "fence", "fence.i", "ecall", "ebreak", "mret", "wfi"),
    *("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci", "lr.w", "sc.w"),
    *("flw", "flh", "fsw", "fsh"),
}


def test_every_scalar_instruction_is_here():
    tables = ("REGISTERS", "IMMEDIATES", "LOADS", "STORES", "BRANCHES", "ATOMICS", "FLOATS",
              "TO_INTEGERS", "FROM_INTEGERS")  # fmt: skip
    named = {row[0] for table in tables for row in getattr(cases, table)}
    assert named | OTHERS == {row.name for row in SCALAR_INSTRUCTIONS}


def test_registers(builder):
    for name, a, b, _ in cases.REGISTERS:
        builder.constant(5, a)
        builder.constant(6, b)
        builder.op(name, rd=7, rs1=5, rs2=6)
        builder.op(name, rd=0, rs1=5, rs2=6)
        builder.result(7)
        builder.result(0)
    wanted = [value for row in cases.REGISTERS for value in (row[3], 0)]
    assert builder.stored(builder.run()) == wanted


def test_immediates(builder):
    for name, a, immediate, _ in cases.IMMEDIATES:
        builder.constant(5, a)
        key = "shamt" if name in ("slli", "srli", "srai") else "imm"
        builder.op(name, rd=7, rs1=5, **{key: immediate})
        builder.result(7)
    assert builder.stored(builder.run()) == [row[3] for row in cases.IMMEDIATES]


@pytest.mark.parametrize("base", [DATA_BASE, 0x80002000], ids=["l1", "instructions"])
def test_loads_and_stores(builder, base):
    builder.constant(5, base)
    for name, word, offset, _ in cases.LOADS:
        builder.constant(6, word)
        builder.op("sw", rs2=6, rs1=5, imm=0)
        builder.op(name, rd=7, rs1=5, imm=offset)
        builder.result(7)
    builder.constant(8, 0xFFFFFFFF)
    for name, offset, value, _ in cases.STORES:
        builder.op("sw", rs2=8, rs1=5, imm=0)
        builder.constant(6, value)
        builder.op(name, rs2=6, rs1=5, imm=offset)
        builder.op("lw", rd=7, rs1=5, imm=0)
        builder.result(7)
    wanted = [row[3] for row in cases.LOADS] + [row[3] for row in cases.STORES]
    assert builder.stored(builder.run()) == wanted


def test_branches(builder):
    for name, a, b, _ in cases.BRANCHES:
        builder.constant(5, a)
        builder.constant(6, b)
        builder.op("addi", rd=7, rs1=0, imm=1)
        builder.op(name, rs1=5, rs2=6, imm=8)
        builder.op("addi", rd=7, rs1=0, imm=0)
        builder.result(7)
    assert builder.stored(builder.run()) == [int(row[3]) for row in cases.BRANCHES]


def test_atomics(builder):
    builder.constant(5, DATA_BASE)
    for name, before, operand, _ in cases.ATOMICS:
        builder.constant(6, before)
        builder.op("sw", rs2=6, rs1=5, imm=0)
        builder.constant(6, operand)
        builder.op(name, rd=7, rs1=5, rs2=6)
        builder.op("lw", rd=8, rs1=5, imm=0)
        builder.result(7)
        builder.result(8)
    wanted = [value for row in cases.ATOMICS for value in (row[1], row[3])]
    assert builder.stored(builder.run()) == wanted


def test_reservations(builder):
    builder.constant(5, DATA_BASE)
    builder.op("addi", rd=6, rs1=0, imm=9)
    builder.op("sc.w", rd=7, rs1=5, rs2=6)  # nothing is reserved
    builder.result(7)
    builder.op("lr.w", rd=7, rs1=5)
    builder.op("sc.w", rd=8, rs1=5, rs2=6)
    builder.op("sc.w", rd=9, rs1=5, rs2=6)
    for register in (7, 8, 9):
        builder.result(register)
    builder.op("lr.w", rd=7, rs1=5)
    builder.op("sw", rs2=0, rs1=5, imm=0)
    builder.op("sc.w", rd=8, rs1=5, rs2=6)
    builder.result(8)
    builder.op("lr.w", rd=7, rs1=5)
    builder.op("ecall")
    builder.op("sc.w", rd=8, rs1=5, rs2=6)  # a trap has dropped the reservation
    builder.result(8)
    outcome = builder.run(data=b"\7\0\0\0")
    assert builder.stored(outcome) == [1, 7, 0, 1, 1, 1]
    assert outcome.memory.load(DATA_BASE, 4) == 0


def test_floats(builder):
    for name, a, b, c, _, _ in cases.FLOATS:
        for register, value in ((1, a), (2, b), (3, c)):
            builder.number(register, value)
        builder.csr("csrrw", "fflags", rs1=0)
        builder.op(name, fd=4, fs1=1, fs2=2, fs3=3)
        builder.csr("csrrs", "fflags", rd=7)
        builder.op("fmv.x.w", rd=8, fs1=4)
        builder.result(7)
        builder.result(8)
    wanted = [value for row in cases.FLOATS for value in (int(row[5]), row[4])]
    assert builder.stored(builder.run()) == wanted


def test_floats_and_integers(builder):
    for name, a, b, _, _ in cases.TO_INTEGERS:
        builder.number(1, a)
        builder.number(2, b)
        builder.csr("csrrw", "fflags", rs1=0)
        builder.op(name, rd=7, fs1=1, fs2=2)
        builder.csr("csrrs", "fflags", rd=8)
        builder.result(7)
        builder.result(8)
    for name, a, _ in cases.FROM_INTEGERS:
        builder.constant(5, a)
        builder.op(name, fd=1, rs1=5)
        builder.op("fmv.x.w", rd=7, fs1=1)
        builder.result(7)
    wanted = [value for row in cases.TO_INTEGERS for value in (row[3], int(row[4]))]
    wanted += [row[2] for row in cases.FROM_INTEGERS]
    assert builder.stored(builder.run()) == wanted


def test_float_loads_and_stores(builder):
    builder.constant(5, DATA_BASE)
    builder.op("addi", rd=6, rs1=0, imm=8)
    builder.op("flw", fd=1, rs1=5, imm=0)
    builder.op("flh", fd=2, rs1=5, imm=0)
    builder.op("fsw", fs2=1, rs1=5, imm=4)
    builder.op("fsh", fs2=2, rs1=5, imm=8)
    builder.op("p.flw.rrpost", fd=3, rs1=5, rs2=6)
    builder.result(5)
    builder.op("p.flh.rrpost", fd=4, rs1=5, rs2=6)
    builder.result(5)
    builder.op("p.flb.rrpost", fd=5, rs1=5, rs2=0)
    outcome = builder.run(data=(0x11223C00).to_bytes(4, "little"))
    words = [outcome.memory.load(DATA_BASE + 4 * place, 4) for place in (1, 2)]
    assert words == [0x11223C00, 0x3C00]
    assert builder.stored(outcome) == [DATA_BASE + 8, DATA_BASE + 16]
    found = [outcome.registers[f"f{number}"] for number in (1, 2, 3, 4, 5)]
    assert found == [0x11223C00, 0xFFFF3C00, 0x11223C00, 0xFFFF3C00, 0xFFFFFF00]


def test_upper_immediates_jumps_and_csrs(builder):
    builder.op("lui", rd=7, imm=-4096)
    builder.result(7)
    at = builder.address
    builder.op("auipc", rd=7, imm=4096)
    builder.result(7)
    builder.op("auipc", rd=8, imm=0)  # at + 8
    builder.op("jalr", rd=8, rs1=8, imm=13)  # the lowest bit does not count
    builder.op("addi", rd=8, rs1=0, imm=0)
    builder.result(8)
    builder.op("jal", rd=9, imm=8)
    builder.op("addi", rd=9, rs1=0, imm=0)
    builder.result(9)
    builder.op("fence", pred=15, succ=15)
    builder.op("wfi")
    builder.constant(5, 0xF0)
    builder.csr("csrrw", "mscratch", rs1=5)
    builder.constant(5, 0x0F)
    builder.csr("csrrs", "mscratch", rd=7, rs1=5)
    builder.result(7)
    builder.constant(5, 0x3C)
    builder.csr("csrrc", "mscratch", rd=7, rs1=5)
    builder.result(7)
    for name, operand in (("csrrsi", 4), ("csrrci", 1), ("csrrwi", 31), ("csrrsi", 0)):
        builder.op(name, rd=7, zimm=operand, csr=0x340)
        builder.result(7)
    wanted = [0xFFFFF000, at + 4096, at + 16, at + 28, 0xF0, 0xFF, 0xC3, 0xC7, 0xC6, 31]
    assert builder.stored(builder.run()) == wanted


def test_code_that_changes_is_seen_after_a_fence(builder):
    builder.op("addi", rd=7, rs1=0, imm=1)
    builder.op("auipc", rd=5, imm=0)
    builder.op("lw", rd=6, rs1=5, imm=-4)
    builder.op("sw", rs2=6, rs1=5, imm=16)
    builder.op("fence.i")
    builder.op("addi", rd=7, rs1=0, imm=2)  # becomes the first one
    builder.result(7)
    assert builder.stored(builder.run(pause=0.3)) == [1]
