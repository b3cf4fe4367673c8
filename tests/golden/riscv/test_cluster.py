"""How runs end: `tohost` in memory, traps without a handler, harts that wait, the limit."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.riscv.cluster import Cluster, Ending
from fanweave.golden.riscv.program import Program, Segment

CODE = 0x80000000


def program(*instructions, symbols=None):
    """A program of (name, fields)."""
    words = [INSTRUCTION_BY_NAME[name].encode(**fields) for name, fields in instructions]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return Program(
        name="test",
        entry=CODE,
        segments=(Segment(CODE, data, len(data)),),
        symbols=symbols or {},
        functions=((CODE, "begin"),),
    )


def storing(address, value):
    """Store a number at an address, over and over."""
    return (
        ("lui", {"rd": 5, "imm": (address & ~0xFFF) - (1 << 32) * (address >> 31)}),
        ("addi", {"rd": 6, "rs1": 0, "imm": value}),
        ("sw", {"rs2": 6, "rs1": 5, "imm": address & 0xFFF}),
        ("jal", {"rd": 0, "imm": -8}),
    )


@pytest.mark.parametrize("address", [0x10004010, 0x80001040])
@pytest.mark.parametrize(
    ("value", "ending", "code"), [(1, Ending.PASS, 0), (11, Ending.FAIL, 5), (2, Ending.LIMIT, 1)]
)
def test_a_word_named_tohost_ends_the_run(address, value, ending, code):
    result = Cluster(program(*storing(address, value), symbols={"tohost": address})).run(100)
    assert (result.ending, result.code) == (ending, code)
    if ending is not Ending.LIMIT:
        assert result.instructions == (3,)
        assert result.pcs == (CODE + 8,)


def test_another_word_does_not():
    result = Cluster(program(*storing(0x10004010, 1), symbols={"tohost": 0x10004014})).run(100)
    assert result.ending is Ending.LIMIT
    assert result.instructions == (100,)


def test_a_trap_without_a_handler():
    result = Cluster(program(("addi", {"rd": 5, "rs1": 0, "imm": 1}), ("ecall", {}))).run(100)
    assert result.ending is Ending.TRAP
    assert (result.trap.cause, result.trap.pc) == (Cause.ECALL, CODE + 4)
    assert result.instructions == (1,)


def test_running_off_the_code_is_illegal():
    result = Cluster(program(("addi", {"rd": 5, "rs1": 0, "imm": 1}))).run(100)
    assert (result.trap.cause, result.trap.pc) == (Cause.ILLEGAL_INSTRUCTION, CODE + 4)


def test_a_hart_that_waits_for_one_that_does_not_come():
    """Both pass the barrier once; then hart 1 waits for ever and hart 0 does something else."""
    waiting = (
        ("lui", {"rd": 5, "imm": 0x20000000}),
        ("lw", {"rd": 6, "rs1": 5, "imm": 0x100}),
        ("csrrs", {"rd": 7, "rs1": 0, "csr": 0xF14}),
        ("bne", {"rs1": 7, "rs2": 0, "imm": -8}),
        ("jal", {"rd": 0, "imm": 0}),
    )
    result = Cluster(program(*waiting), harts=2).run(5000)
    assert result.ending is Ending.LIMIT
    assert result.pcs == (CODE + 16, CODE + 4)


def test_number_of_harts():
    with pytest.raises(InputError, match="harts is 0; expected 1 to 8"):
        Cluster(program(("ecall", {})), harts=0)
