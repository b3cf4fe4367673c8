"""Precise traps, counters, and what happens without a handler."""

import pytest

from fanweave.golden.isa.cluster import RESET_ADDRESS
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.hw.core.testing import CoreBench
from fanweave.sim.benches.core.lockstep import GoldenMemories, load, run_lockstep
from fanweave.sim.benches.core.programs import DATA_BASE, ScalarProgram, assemble, csr_access

#: Of the builder's handler of traps.
HANDLER_INSTRUCTIONS = 13


@pytest.mark.parametrize("pause", [0.0, 0.4])
def test_every_cause(builder, trap_notes, pause):
    wanted = []

    def trapping(cause, value, name, **fields):
        wanted.append((int(cause), builder.address, value))
        builder.op(name, **fields)
        builder.op("addi", rd=20, rs1=20, imm=1)  # what stands behind is executed once

    builder.constant(5, DATA_BASE)
    builder.constant(6, 0x20000008)
    builder.constant(8, 0x20000040)  # there is no such register
    builder.op("addi", rd=7, rs1=0, imm=77)
    trapping(Cause.LOAD_MISALIGNED, DATA_BASE + 1, "lw", rd=7, rs1=5, imm=1)
    trapping(Cause.LOAD_MISALIGNED, DATA_BASE + 3, "lhu", rd=7, rs1=5, imm=3)
    trapping(Cause.LOAD_FAULT, 16, "lw", rd=7, rs1=0, imm=16)
    trapping(Cause.LOAD_FAULT, 0x20000040, "lw", rd=7, rs1=6, imm=56)  # no such register
    trapping(Cause.LOAD_FAULT, 0x20000008, "lb", rd=7, rs1=6, imm=0)  # not a word
    trapping(Cause.STORE_MISALIGNED, DATA_BASE + 2, "sw", rs2=7, rs1=5, imm=2)
    trapping(Cause.STORE_FAULT, 0, "sb", rs2=7, rs1=0, imm=0)
    trapping(Cause.STORE_FAULT, 0x20000040, "sw", rs2=7, rs1=6, imm=56)
    trapping(Cause.STORE_FAULT, 0x20000040, "amoadd.w", rd=7, rs1=8, rs2=7)
    trapping(Cause.LOAD_FAULT, 0x20000040, "lr.w", rd=7, rs1=8)
    trapping(Cause.ECALL, 0, "ecall")
    trapping(Cause.BREAKPOINT, builder.address, "ebreak")
    trapping(Cause.FETCH_MISALIGNED, builder.address + 6, "jal", rd=7, imm=6)
    trapping(Cause.FETCH_MISALIGNED, builder.address + 6, "beq", rs1=0, rs2=0, imm=6)
    trapping(Cause.FETCH_MISALIGNED, DATA_BASE + 2, "jalr", rd=7, rs1=5, imm=3)
    for name, fields in (
        ("fadd.s", {"fd": 1, "rm": 5}),
        ("csrrw", {"csr": 0xC00, "rd": 7}),
        ("csrrs", {"csr": 0x7D0, "rd": 7}),
        ("p.fld.rrpost", {"rs1": 5}),
        ("vadd.vv", {}),
        ("csrrs", {"csr": 0xC22, "rd": 7}),  # vlenb
        ("vfxmacc.vrf", {}),
    ):
        word = assemble(name, **fields)
        trapping(Cause.ILLEGAL_INSTRUCTION, word, name, **fields)
    builder.result(7)
    builder.result(20)
    outcome = builder.run(pause=pause)
    assert builder.stored(outcome) == [77, len(wanted)]
    assert trap_notes(outcome) == wanted


def test_a_fetch_from_nowhere(builder):
    recover = builder.address + 4 * 8
    handler = [csr_access("csrrw", "mepc", 0, 10), assemble("mret")]
    builder.constant(10, recover)
    builder.constant(11, builder.address + 4 * 4)
    builder.csr("csrrw", "mtvec", rs1=11)
    builder.op("jalr", rd=12, rs1=0, imm=0x40)
    builder.words += handler
    assert builder.address == recover
    builder.result(12)
    builder.csr("csrrs", "mtval", rd=13)
    builder.csr("csrrs", "mepc", rd=14)
    builder.result(13)
    outcome = builder.run(pause=0.2)
    assert builder.stored(outcome) == [recover - 8, 0x40]
    assert outcome.registers["x14"] == recover


def test_without_a_handler_the_core_stands_still():
    words = (assemble("addi", rd=5, rs1=0, imm=7), assemble("lw", rd=6, rs1=5, imm=0), 0)
    outcome = run_lockstep(ScalarProgram(words=words, data=b"", end=0))
    assert outcome.halted == (Cause.LOAD_MISALIGNED, RESET_ADDRESS + 4, 7)
    assert outcome.registers == {"x5": 7}


def test_counters(builder):
    """Cycles go on by themselves, instructions with each one that completes; both can be set."""
    builder.op("csrrwi", csr=0xB02, rd=0, zimm=7)  # minstret
    builder.csr("csrrs", "instret", rd=5)
    builder.op("ecall")
    builder.csr("csrrs", "minstret", rd=6)
    builder.op("csrrwi", csr=0xB82, rd=0, zimm=1)
    builder.csr("csrrs", "instreth", rd=7)
    for register in (5, 6, 7):
        builder.result(register)
    outcome = builder.run()
    # Behind the trap: the handler's instructions, and the read of instret.
    assert builder.stored(outcome) == [7, 8 + HANDLER_INSTRUCTIONS, 1]


def test_cycles(builder):
    builder.op("csrrwi", csr=0xB80, rd=0, zimm=3)  # mcycleh
    builder.op("csrrwi", csr=0xB00, rd=0, zimm=0)
    for register in (5, 6):
        builder.csr("csrrs", "mcycle", rd=register)
    builder.csr("csrrs", "cycleh", rd=7)
    written = record(builder.program())
    assert (written["x5"], written["x6"], written["x7"]) == (0, 1, 3)


def record(program):
    """Registers as the core alone writes them."""
    written = {}

    def observe(ctx, core):
        trace = ctx.get(core.observed)
        if trace.x_write:
            written[f"x{trace.x_register}"] = trace.x_value
        return bool(trace.retired) and trace.pc == program.end

    bench = CoreBench(memories=GoldenMemories(load(program)), boot=RESET_ADDRESS)
    assert bench.run(observe, limit=1000)
    return written
