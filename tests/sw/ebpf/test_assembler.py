"""Both syntaxes read what they write, and read it as the machine means it."""

import itertools

import pytest

from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.sw.ebpf import SYNTAXES, assemble, disassemble

FIELDS = [
    *itertools.product((0, 1, 9), (0, 2, 10), (0, 1, 8, 16, 32, -8), (0, 1, 2, 16, 32, 64, -7)),
    *((1, 2, -4, imm) for imm in (0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1)),
    *((10, 2, -4, imm) for imm in (0, 0x40, 5)),
]


def legal_instructions():
    for opcode in range(256):
        for dst, src, offset, imm in FIELDS:
            instruction = Instruction(opcode, dst, src, offset, imm)
            # Names of maps come from an object file; there is no way to write them.
            if fault_of(instruction) is None and not (instruction.is_wide and src):
                if opcode == 0x85 and src == 2:
                    continue
                yield instruction


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_legal_instruction_is_read_as_it_was_written(syntax):
    instructions = list(legal_instructions())
    assert len({instruction.opcode for instruction in instructions}) > 110
    lines = disassemble(instructions, syntax=syntax)
    assert not [line for line in lines if line.startswith("#")]
    for instruction, line in zip(instructions, lines, strict=True):
        assert assemble(line, syntax=syntax) == [instruction], line


def test_64_bit_immediates_are_whole():
    for value in (0, 1, 0xFFFF_FFFF, 0x8000_0000, 0x1122_3344_5566_7788, (1 << 64) - 1):
        for syntax, line in (("kernel", f"r1 = {value} ll"), ("conformance", f"lddw %r1, {value}")):
            (instruction,) = assemble(line, syntax=syntax)
            assert instruction.imm64 == value
            assert assemble(*disassemble([instruction], syntax=syntax), syntax=syntax) == [
                instruction
            ]


KERNEL = """
    r0 = 0
    r1 = 10            # counts down
again:
    r0 += r1; r1 = 99 in a comment
    r1 -= 1
    if r1 != 0 goto again
    w2 = w0
    if w2 s> 55 goto wrong  // never
    r3 = 0x1_0 ll
    exit
wrong: r0 = -1
    exit
""".replace("0x1_0", "0x100000000")
CONFORMANCE = """
    mov %r0, 0
    mov %r1, 10
again:
    add %r0, %r1
    sub %r1, 1
    jne %r1, 0, again
    mov32 %r2, %r0
    jsgt32 %r2, 55, wrong
    lddw %r3, 0x100000000
    exit
wrong: mov %r0, -1
    exit
"""


def test_labels_count_slots_and_both_syntaxes_say_the_same():
    program = assemble(KERNEL)
    assert program == assemble(CONFORMANCE, syntax="conformance")
    assert Machine().run(Program.of(program)).r0 == 55


def test_labels_of_calls_and_long_jumps():
    text = "call pc f\ngotol end\nf: r0 = 7\nexit\nend: r0 += 1\nexit"
    assert Machine().run(Program.of(assemble(text))).r0 == 8
    other = "call local f\nja32 end\nf: mov %r0, 7\nexit\nend: add %r0, 1\nexit"
    assert assemble(other, syntax="conformance") == assemble(text)


@pytest.mark.parametrize(
    ("text", "syntax", "message"),
    [
        ("r0 = 1\nnonsense", "kernel", "p, line 2: 'nonsense' is no instruction in the kernel"),
        ("add %r0, 2", "kernel", "is no instruction in the kernel syntax; it is one in the conf"),
        ("r0 += 2", "conformance", "it is one in the kernel syntax"),
        ("r11 = 1", "kernel", "p, line 1: there is no register r11; the last one is r10"),
        ("r0 = 0x1ffffffff", "kernel", "0x1ffffffff does not fit in 32 bits"),
        ("r0 = *(u8 *)(r1 + 70000)", "kernel", "70000 does not fit in 16 bits"),
        ("goto nowhere", "kernel", "p, line 1: there is no label 'nowhere'"),
        ("a: exit\na: exit", "kernel", "p, line 2: label 'a' is there twice"),
        ("r0 += w1", "kernel", "w1 and a register of the other width cannot be combined"),
        ("r0 = -r1", "kernel", "a register can only become its own negative"),
    ],
)
def test_what_is_no_program_is_refused_with_its_line(text, syntax, message):
    with pytest.raises(InputError) as refused:
        assemble(text, syntax=syntax, name="p")
    assert message in str(refused.value)


def test_an_unknown_syntax_is_refused():
    with pytest.raises(InputError, match="unknown syntax 'intel'; choose one of kernel, conforma"):
        assemble("exit", syntax="intel")


def test_what_is_no_instruction_becomes_a_comment_with_the_reason():
    lines = disassemble([Instruction(0xFF), Instruction(0x95, imm=3)])
    assert lines == [
        "# ff 00 00 00 00 00 00 00  (opcode 0xff does not exist)",
        "# 95 00 00 00 03 00 00 00  (imm is 3 and has no meaning here; it must be 0)",
    ]
