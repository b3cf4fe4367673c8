"""Every scalar instruction, with results worked out by hand."""

import pytest

from fanweave.golden.isa.riscv_csr import CSRS, MISA, Cause, Flag
from fanweave.golden.isa.riscv_encoding import Extension
from fanweave.golden.isa.riscv_scalar import SCALAR_INSTRUCTIONS
from fanweave.golden.riscv.disassembler import disassemble

M = 0xFFFFFFFF
L1 = 0x10000000
PC = 0x80000000

#: name, rs1, rs2, rd
REGISTERS = [
    ("add", 0xFFFFFFFF, 2, 1),
    ("sub", 1, 2, M),
    ("sll", 0x80000001, 33, 2),
    ("slt", M, 0, 1),
    ("slt", 0, M, 0),
    ("sltu", M, 0, 0),
    ("sltu", 0, M, 1),
    ("xor", 0xF0F0, 0xFF00, 0x0FF0),
    ("srl", 0x80000000, 35, 0x10000000),
    ("sra", 0x80000000, 35, 0xF0000000),
    ("or", 0xF0F0, 0xFF00, 0xFFF0),
    ("and", 0xF0F0, 0xFF00, 0xF000),
    ("mul", 0x80000001, 3, 0x80000003),
    ("mulh", M, M, 0),
    ("mulh", 0x80000000, 0x80000000, 0x40000000),
    ("mulhsu", M, M, M),
    ("mulhu", M, M, 0xFFFFFFFE),
    ("div", -7 & M, 2, -3 & M),
    ("div", 7, 0, M),
    ("div", 0x80000000, M, 0x80000000),
    ("divu", -7 & M, 2, 0x7FFFFFFC),
    ("divu", 7, 0, M),
    ("rem", -7 & M, 2, -1 & M),
    ("rem", 7, -2 & M, 1),
    ("rem", 0x80000000, M, 0),
    ("rem", 7, 0, 7),
    ("remu", -7 & M, 2, 1),
    ("remu", 7, 0, 7),
]
#: name, rs1, immediate, rd
IMMEDIATES = [
    ("addi", 5, -6, M),
    ("slti", -5 & M, -4, 1),
    ("sltiu", 5, -1, 1),
    ("xori", 0xFF, -1, 0xFFFFFF00),
    ("ori", 0xF0, 0x0F, 0xFF),
    ("andi", 0xFF, -16, 0xF0),
    ("slli", 3, 31, 0x80000000),
    ("srli", 0x80000000, 31, 1),
    ("srai", 0x80000000, 31, M),
]
#: name, bytes in memory as a word, offset, rd
LOADS = [
    ("lb", 0x80FF7F01, 3, 0xFFFFFF80),
    ("lb", 0x80FF7F01, 1, 0x7F),
    ("lbu", 0x80FF7F01, 3, 0x80),
    ("lh", 0x80FF7F01, 2, 0xFFFF80FF),
    ("lhu", 0x80FF7F01, 2, 0x80FF),
    ("lw", 0x80FF7F01, 0, 0x80FF7F01),
]
STORES = [
    ("sb", 1, 0x11223344, 0xFFFF44FF),
    ("sh", 2, 0x11223344, 0x3344FFFF),
    ("sw", 0, 0x11223344, 0x11223344),
]
#: name, rs1, rs2, taken
BRANCHES = [
    ("beq", 1, 1, True),
    ("beq", 1, 2, False),
    ("bne", 1, 2, True),
    ("bne", 1, 1, False),
    ("blt", M, 0, True),
    ("blt", 0, M, False),
    ("bge", 0, M, True),
    ("bge", M, 0, False),
    ("bltu", 0, M, True),
    ("bltu", M, 0, False),
    ("bgeu", M, 0, True),
    ("bgeu", 0, M, False),
]
#: name, memory before, rs2, memory after; rd is the memory before
ATOMICS = [
    ("amoswap.w", 1, 2, 2),
    ("amoadd.w", M, 2, 1),
    ("amoxor.w", 0xF0, 0xFF, 0x0F),
    ("amoand.w", 0xF0, 0x3C, 0x30),
    ("amoor.w", 0xF0, 0x0F, 0xFF),
    ("amomin.w", M, 1, M),
    ("amomax.w", M, 1, 1),
    ("amominu.w", M, 1, 1),
    ("amomaxu.w", M, 1, M),
]
ONE, TWO, THREE, MINUS = 0x3F800000, 0x40000000, 0x40400000, 0xBF800000
NAN, HALF = 0x7FC00000, 0x3F000000
#: name, fs1, fs2, fs3, fd, flags
FLOATS = [
    ("fadd.s", ONE, TWO, 0, THREE, 0),
    ("fsub.s", THREE, TWO, 0, ONE, 0),
    ("fmul.s", TWO, HALF, 0, ONE, 0),
    ("fdiv.s", ONE, 0, 0, 0x7F800000, Flag.DZ),
    ("fsqrt.s", MINUS, 0, 0, NAN, Flag.NV),
    ("fmin.s", ONE, MINUS, 0, MINUS, 0),
    ("fmax.s", ONE, MINUS, 0, ONE, 0),
    ("fmadd.s", TWO, HALF, ONE, TWO, 0),
    ("fmsub.s", TWO, ONE, ONE, ONE, 0),
    ("fnmsub.s", TWO, ONE, THREE, ONE, 0),
    ("fnmadd.s", TWO, HALF, ONE, 0xC0000000, 0),
    ("fsgnj.s", ONE, MINUS, 0, MINUS, 0),
    ("fsgnjn.s", ONE, MINUS, 0, ONE, 0),
    ("fsgnjx.s", MINUS, MINUS, 0, ONE, 0),
    ("fcvt.s.h", 0xFFFF3C00, 0, 0, ONE, 0),
    ("fcvt.s.h", 0x00003C00, 0, 0, NAN, 0),
    ("fcvt.h.s", TWO, 0, 0, 0xFFFF4000, 0),
]
#: name, fs1, fs2, rd, flags
TO_INTEGERS = [
    ("feq.s", ONE, ONE, 1, 0),
    ("feq.s", NAN, ONE, 0, 0),
    ("flt.s", MINUS, ONE, 1, 0),
    ("flt.s", NAN, ONE, 0, Flag.NV),
    ("fle.s", ONE, ONE, 1, 0),
    ("fclass.s", MINUS, 0, 2, 0),
    ("fmv.x.w", MINUS, 0, MINUS, 0),
    ("fmv.x.h", 0xFFFFBC00, 0, 0xFFFFBC00, 0),
    ("fcvt.w.s", 0xC0200000, 0, -2 & M, Flag.NX),
    ("fcvt.wu.s", MINUS, 0, 0, Flag.NV),
]
#: name, rs1, fd
FROM_INTEGERS = [
    ("fmv.w.x", ONE, ONE),
    ("fmv.h.x", 0x3C00, 0xFFFF3C00),
    ("fcvt.s.w", M, MINUS),
    ("fcvt.s.wu", M, 0x4F800000),
]
OTHERS = {
    *("lui", "auipc", "jal", "jalr", "fence", "fence.i", "ecall", "ebreak", "mret", "wfi"),
    *("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci", "lr.w", "sc.w"),
    *("flw", "flh", "fsw", "fsh"),
}


def test_every_scalar_instruction_is_here():
    tables = (REGISTERS, IMMEDIATES, LOADS, STORES, BRANCHES, ATOMICS, FLOATS, TO_INTEGERS)
    named = {row[0] for table in (*tables, FROM_INTEGERS) for row in table} | OTHERS
    assert named == {row.name for row in SCALAR_INSTRUCTIONS}


@pytest.mark.parametrize(("name", "a", "b", "result"), REGISTERS)
def test_registers(bench, name, a, b, result):
    bench.hart.x[5], bench.hart.x[6] = a, b
    assert bench.run(name, rd=7, rs1=5, rs2=6) is None
    assert (bench.hart.x[7], bench.hart.pc, bench.hart.retired) == (result, PC + 4, 1)
    bench.run(name, rd=0, rs1=5, rs2=6)
    assert bench.hart.x[0] == 0


@pytest.mark.parametrize(("name", "a", "immediate", "result"), IMMEDIATES)
def test_immediates(bench, name, a, immediate, result):
    bench.hart.x[5] = a
    bench.run(name, rd=7, rs1=5, imm=immediate, shamt=immediate)  # each row takes its own
    assert bench.hart.x[7] == result


@pytest.mark.parametrize("base", [L1, 0x80001000], ids=["l1", "instructions"])
@pytest.mark.parametrize(("name", "word", "offset", "result"), LOADS)
def test_loads(bench, name, word, offset, result, base):
    bench.memory.store(base, 4, word)
    bench.hart.x[5] = base + offset + 4
    bench.run(name, rd=7, rs1=5, imm=-4)
    assert bench.hart.x[7] == result


@pytest.mark.parametrize("base", [L1, 0x80001000], ids=["l1", "instructions"])
@pytest.mark.parametrize(("name", "offset", "value", "result"), STORES)
def test_stores(bench, name, offset, value, result, base):
    bench.memory.store(base, 4, M)
    bench.hart.x[5], bench.hart.x[6] = base + offset - 4, value
    bench.run(name, rs2=6, rs1=5, imm=4)
    assert bench.memory.load(base, 4) == result


@pytest.mark.parametrize(("name", "a", "b", "taken"), BRANCHES)
def test_branches(bench, name, a, b, taken):
    bench.hart.x[5], bench.hart.x[6] = a, b
    bench.run(name, rs1=5, rs2=6, imm=-16)
    assert bench.hart.pc == (PC - 16 if taken else PC + 4)


def test_a_branch_to_half_an_instruction_traps_only_where_taken(bench):
    trap = bench.run("beq", rs1=0, rs2=0, imm=6)
    assert (trap.cause, trap.value, bench.hart.pc) == (Cause.FETCH_MISALIGNED, PC + 6, PC)
    assert bench.run("bne", rs1=0, rs2=0, imm=6) is None


@pytest.mark.parametrize(("name", "before", "operand", "after"), ATOMICS)
def test_atomics(bench, name, before, operand, after):
    bench.memory.store(L1, 4, before)
    bench.hart.x[5], bench.hart.x[6] = L1, operand
    bench.run(name, rd=7, rs1=5, rs2=6)
    assert (bench.hart.x[7], bench.memory.load(L1, 4)) == (before, after)
    bench.hart.x[5] = L1 + 2
    assert bench.run(name, rd=7, rs1=5, rs2=6).cause == Cause.STORE_MISALIGNED
    bench.hart.x[5] = 0
    assert bench.run(name, rd=7, rs1=5, rs2=6).cause == Cause.STORE_FAULT


def test_reservations(bench):
    bench.memory.store(L1, 4, 7)
    bench.hart.x[5], bench.hart.x[6] = L1, 9
    bench.run("lr.w", rd=7, rs1=5)
    bench.run("sc.w", rd=8, rs1=5, rs2=6)
    assert (bench.hart.x[7], bench.hart.x[8], bench.memory.load(L1, 4)) == (7, 0, 9)
    bench.hart.x[6] = 11
    bench.run("sc.w", rd=8, rs1=5, rs2=6)
    assert (bench.hart.x[8], bench.memory.load(L1, 4)) == (1, 9)
    bench.run("lr.w", rd=7, rs1=5)
    bench.memory.store(L1, 4, 13)  # another hart's store
    bench.run("sc.w", rd=8, rs1=5, rs2=6)
    assert (bench.hart.x[8], bench.memory.load(L1, 4)) == (1, 13)


def test_upper_immediates_and_jumps(bench):
    hart = bench.hart
    bench.run("lui", rd=7, imm=-4096)
    assert hart.x[7] == 0xFFFFF000
    bench.run("auipc", rd=7, imm=4096)
    assert hart.x[7] == PC + 4096
    bench.run("jal", rd=1, imm=-2048)
    assert (hart.x[1], hart.pc) == (PC + 4, PC - 2048)
    hart.x[1] = PC + 0x101
    bench.run("jalr", rd=1, rs1=1, imm=-1)
    assert (hart.x[1], hart.pc) == (PC + 4, PC + 0x100)
    hart.x[1] = PC + 2
    assert bench.run("jalr", rd=1, rs1=1, imm=0).cause == Cause.FETCH_MISALIGNED
    assert bench.run("jal", rd=1, imm=2).cause == Cause.FETCH_MISALIGNED
    assert bench.run("fence", pred=15, succ=15) is None
    assert bench.run("wfi") is None


@pytest.mark.parametrize(("name", "a", "b", "c", "result", "flags"), FLOATS)
def test_floats(bench, name, a, b, c, result, flags):
    hart = bench.hart
    hart.f[1:4] = a, b, c
    bench.run(name, fd=4, fs1=1, fs2=2, fs3=3)
    assert (hart.f[4], hart.fflags) == (result, flags)


@pytest.mark.parametrize(("name", "a", "b", "result", "flags"), TO_INTEGERS)
def test_floats_to_integers(bench, name, a, b, result, flags):
    hart = bench.hart
    hart.f[1:3] = a, b
    bench.run(name, rd=7, fs1=1, fs2=2)
    assert (hart.x[7], hart.fflags) == (result, flags)


@pytest.mark.parametrize(("name", "a", "result"), FROM_INTEGERS)
def test_integers_to_floats(bench, name, a, result):
    bench.hart.x[5] = a
    bench.run(name, fd=4, rs1=5)
    assert bench.hart.f[4] == result


def test_float_loads_and_stores(bench):
    hart = bench.hart
    bench.memory.store(L1, 4, 0x11223C00)
    hart.x[5], hart.x[6] = L1, 8
    bench.run("flw", fd=1, rs1=5, imm=0)
    bench.run("flh", fd=2, rs1=5, imm=0)
    assert hart.f[1:3] == [0x11223C00, 0xFFFF3C00]
    bench.run("fsw", fs2=1, rs1=5, imm=4)
    bench.run("fsh", fs2=2, rs1=5, imm=8)
    assert [bench.memory.load(L1 + 4 * i, 4) for i in (1, 2)] == [0x11223C00, 0x3C00]
    bench.run("p.flw.rrpost", fd=3, rs1=5, rs2=6)
    assert (hart.f[3], hart.x[5]) == (0x11223C00, L1 + 8)
    bench.run("p.flh.rrpost", fd=3, rs1=5, rs2=6)
    assert (hart.f[3], hart.x[5]) == (0xFFFF3C00, L1 + 16)
    bench.run("p.flb.rrpost", fd=3, rs1=5, rs2=5)
    assert (hart.f[3], hart.x[5]) == (0xFFFFFF00, 2 * (L1 + 16))
    hart.x[5] = L1 + 1
    assert bench.run("p.flw.rrpost", fd=3, rs1=5, rs2=6).cause == Cause.LOAD_MISALIGNED
    assert hart.x[5] == L1 + 1
    assert bench.run("p.fld.rrpost", fd=3, rs1=5, rs2=6).cause == Cause.ILLEGAL_INSTRUCTION


def test_rounding_modes(bench):
    hart = bench.hart
    hart.f[1] = 0x3FC00000  # 1.5
    for mode, result in ((0, 2), (1, 1), (2, 1), (3, 2), (4, 2)):
        bench.run("fcvt.w.s", rd=7, fs1=1, rm=mode)
        assert hart.x[7] == result
        hart.frm = mode
        bench.run("fcvt.w.s", rd=7, fs1=1)
        assert hart.x[7] == result
    for mode in (5, 6):
        assert bench.run("fcvt.w.s", rd=7, fs1=1, rm=mode).cause == Cause.ILLEGAL_INSTRUCTION
        hart.frm = mode
        assert bench.run("fcvt.w.s", rd=7, fs1=1).cause == Cause.ILLEGAL_INSTRUCTION


def test_csr_instructions(bench):
    hart, scratch = bench.hart, 0x340
    hart.x[5] = 0xF0
    bench.run("csrrw", rd=7, rs1=5, csr=scratch)
    assert hart.x[7] == 0
    hart.x[5] = 0x0F
    bench.run("csrrs", rd=7, rs1=5, csr=scratch)
    assert hart.x[7] == 0xF0
    hart.x[5] = 0x3C
    bench.run("csrrc", rd=7, rs1=5, csr=scratch)
    assert hart.x[7] == 0xFF
    bench.run("csrrsi", rd=7, zimm=4, csr=scratch)
    assert hart.x[7] == 0xC3
    bench.run("csrrci", rd=7, zimm=1, csr=scratch)
    assert hart.x[7] == 0xC7
    bench.run("csrrwi", rd=7, zimm=31, csr=scratch)
    assert (hart.x[7], hart.csrs.read("mscratch")) == (0xC6, 31)


def test_all_csrs_can_be_read_and_unknown_ones_trap(bench):
    for entry in CSRS:
        assert bench.run("csrrs", rd=7, rs1=0, csr=entry.address) is None, entry.name
    for number in (0x000, 0x100, 0x7C0, 0x7D0, 0xFFF):
        trap = bench.run("csrrs", rd=7, rs1=0, csr=number)
        assert trap.cause == Cause.ILLEGAL_INSTRUCTION
    assert bench.run("csrrw", rd=7, rs1=5, csr=0xC22).cause == Cause.ILLEGAL_INSTRUCTION
    bench.run("csrrs", rd=7, rs1=0, csr=0x301)
    assert bench.hart.x[7] == MISA


def test_counters(bench):
    hart = bench.hart
    hart.retired = (1 << 32) + 5
    bench.run("csrrs", rd=7, rs1=0, csr=0xB02)
    assert hart.x[7] == 5
    bench.run("csrrs", rd=7, rs1=0, csr=0xB82)
    assert hart.x[7] == 1
    hart.x[5] = 100
    bench.run("csrrw", rd=0, rs1=5, csr=0xB02)
    bench.run("csrrs", rd=7, rs1=0, csr=0xB02)
    assert hart.x[7] == 100


def test_traps_and_return(bench):
    hart = bench.hart
    hart.csrs.write("mtvec", PC + 0x100)
    hart.csrs.write("mstatus", 0x6608)
    bench.run("ecall")
    assert (hart.pc, hart.csrs.read("mepc"), hart.csrs.read("mcause")) == (PC + 0x100, PC, 11)
    assert hart.csrs.status("mie") == 0
    assert hart.csrs.status("mpie") == 1
    bench.run("mret")
    assert (hart.pc, hart.csrs.status("mie")) == (PC, 1)
    bench.run("ebreak")
    assert (hart.csrs.read("mcause"), hart.csrs.read("mtval")) == (3, PC)
    bench.run_word(0xFFFFFFFF)
    assert (hart.csrs.read("mcause"), hart.csrs.read("mtval")) == (2, 0xFFFFFFFF)
    assert hart.retired == 1  # mret alone


@pytest.mark.parametrize(
    ("name", "address", "cause"),
    [
        ("lw", L1 + 1, Cause.LOAD_MISALIGNED),
        ("lh", L1 + 1, Cause.LOAD_MISALIGNED),
        ("lw", L1 - 4, Cause.LOAD_FAULT),
        ("lw", L1 + 128 * 1024, Cause.LOAD_FAULT),
        ("lb", 0xC0000000, Cause.LOAD_FAULT),
        ("lb", 0x20000000, Cause.LOAD_FAULT),
        ("sw", L1 + 2, Cause.STORE_MISALIGNED),
        ("sb", L1 - 1, Cause.STORE_FAULT),
    ],
)
def test_bad_accesses(bench, name, address, cause):
    bench.hart.x[5], bench.hart.x[7] = address, 77
    trap = bench.run(name, rd=7, rs2=7, rs1=5, imm=0)
    assert (trap.cause, trap.value, bench.hart.x[7]) == (cause, address, 77)
    assert bench.hart.retired == 0


@pytest.mark.parametrize(
    "row",
    [r for r in SCALAR_INSTRUCTIONS if r.extension in (Extension.F, Extension.ZFHMIN)],
    ids=lambda row: row.name,
)
def test_floating_point_off_is_illegal(bench, row):
    bench.hart.csrs.write("mstatus", 0)
    word = row.match | (7 << 12 if "rm" in row.fields else 0)
    trap = bench.run_word(word)
    assert trap.cause == Cause.ILLEGAL_INSTRUCTION, disassemble(word)
    assert trap.value == word


def test_code_that_changes_itself_needs_fence_i(bench):
    """Two instructions: the second is overwritten by the first."""
    hart = bench.hart
    nop, li = 0x00000013, 0x00700393  # li t2, 7
    hart.x[5], hart.x[6] = PC + 8, li
    for index, word in enumerate((0x0062A023, 0x0000100F, nop)):  # sw t1, 0(t0); fence.i; nop
        bench.memory.store(PC + 4 * index, 4, word)
    hart.pc = PC
    hart.run(3)
    assert hart.x[7] == 7
