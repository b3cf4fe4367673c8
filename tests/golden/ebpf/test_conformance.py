"""Every rule of RFC 9669, with expected values worked out by hand, on both ways to run."""

import pytest

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    call,
    copy,
    goto,
    jump,
    leave,
    load,
    mov,
    store,
    store_imm,
    wide,
)
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import (
    AluOperation,
    AtomicOperation,
    Instruction,
    JumpOperation,
    Size,
)
from fanweave.golden.isa.ebpf_machine import FaultCause

A = AluOperation
J = JumpOperation
M64 = (1 << 64) - 1
INT64_MIN = 1 << 63
INT32_MIN = 1 << 31


def run(instructions, context=b"", *, budget=10_000):
    """Run both ways; they must agree on everything."""
    outcomes = []
    contexts = []
    for reference in (True, False):
        memory = bytearray(context)
        machine = Machine(budget=budget)
        outcomes.append(machine.run(Program.of(instructions), memory, reference=reference))
        contexts.append(memory)
    assert outcomes[0] == outcomes[1]
    assert contexts[0] == contexts[1]
    return outcomes[0], contexts[0]


def result(instructions, context=b""):
    outcome, _ = run([*instructions, leave()], context)
    assert outcome.fault is FaultCause.NONE
    return outcome.r0


#: operation, dst, src, offset, result with 64 bits, result with 32 bits
ARITHMETIC = [
    (A.ADD, M64, 1, 0, 0, 0),
    (A.ADD, 0xFFFF_FFFF, 1, 0, 0x1_0000_0000, 0),
    (A.SUB, 0, 1, 0, M64, 0xFFFF_FFFF),
    (A.SUB, 5, 7, 0, M64 - 1, 0xFFFF_FFFE),
    (A.MUL, 0x1_0000_0001, 0x1_0000_0001, 0, 0x2_0000_0001, 1),
    (A.MUL, M64, M64, 0, 1, 1),
    (A.DIV, 7, 2, 0, 3, 3),
    (A.DIV, 7, 0, 0, 0, 0),
    (A.DIV, M64, 2, 0, M64 >> 1, 0x7FFF_FFFF),
    (A.DIV, 0x1_0000_0000, 0x1_0000_0000, 0, 1, 0),
    (A.DIV, -7 & M64, 2, 1, -3 & M64, -3 & 0xFFFF_FFFF),
    (A.DIV, 7, -2 & M64, 1, -3 & M64, -3 & 0xFFFF_FFFF),
    (A.DIV, 7, 0, 1, 0, 0),
    (A.DIV, INT64_MIN, M64, 1, INT64_MIN, 0),
    (A.MOD, 7, 4, 0, 3, 3),
    (A.MOD, 0x1_0000_0007, 0, 0, 0x1_0000_0007, 7),
    (A.MOD, -7 & M64, 3, 1, -1 & M64, -1 & 0xFFFF_FFFF),
    (A.MOD, 7, -3 & M64, 1, 1, 1),
    (A.MOD, INT64_MIN, M64, 1, 0, 0),
    (A.MOD, -5 & M64, 0, 1, -5 & M64, -5 & 0xFFFF_FFFF),
    (A.OR, 0xF0F0_0000_0000, 0x0F, 0, 0xF0F0_0000_000F, 0x0F),
    (A.AND, 0xFF00_FF00_FF00, 0x0FF0_0FF0, 0, 0x0F00_0F00 & 0xFF00_FF00, 0x0F00_0F00),
    (A.XOR, M64, 0xFFFF_FFFF, 0, 0xFFFF_FFFF_0000_0000, 0),
    (A.LSH, 1, 63, 0, INT64_MIN, INT32_MIN),
    (A.LSH, 1, 64, 0, 1, 1),
    (A.LSH, 3, 33, 0, 6 << 32, 6),
    (A.RSH, INT64_MIN, 63, 0, 1, 0),
    (A.RSH, M64, 68, 0, M64 >> 4, 0x0FFF_FFFF),
    (A.ARSH, INT64_MIN, 63, 0, M64, 0),
    (A.ARSH, 0x8000_0000, 4, 0, 0x0800_0000, 0xF800_0000),
    (A.ARSH, -16 & M64, 66, 0, -4 & M64, -4 & 0xFFFF_FFFF),
    (A.MOV, 5, 0x1_2345_6789, 0, 0x1_2345_6789, 0x2345_6789),
    (A.MOV, 5, 0x80, 8, -128 & M64, 0xFFFF_FF80),
    (A.MOV, 5, 0x1234_8000, 16, -32768 & M64, 0xFFFF_8000),
    (A.MOV, 5, 0x7F, 8, 0x7F, 0x7F),
]


@pytest.mark.parametrize(("operation", "dst", "src", "offset", "long", "short"), ARITHMETIC)
def test_arithmetic_on_registers(operation, dst, src, offset, long, short):
    setup = [wide(0, dst), wide(1, src)]
    assert result([*setup, alu(operation, 0, 1, offset=offset)]) == long
    assert result([*setup, alu(operation, 0, 1, offset=offset, bits=32)]) == short


@pytest.mark.parametrize(
    ("operation", "dst", "imm", "long", "short"),
    [
        (A.ADD, 1, -2, M64, 0xFFFF_FFFF),
        (A.AND, M64, -16, M64 - 15, 0xFFFF_FFF0),
        (A.OR, 0, INT32_MIN - (1 << 32), 0xFFFF_FFFF_8000_0000, 0x8000_0000),
        (A.MUL, 3, -1, -3 & M64, 0xFFFF_FFFD),
        (A.DIV, M64, -1, 1, 1),
        (A.MOV, 0, -1, M64, 0xFFFF_FFFF),
        (A.LSH, 1, 40, 1 << 40, 1 << 8),
    ],
)
def test_immediates_are_extended_by_their_sign(operation, dst, imm, long, short):
    assert result([wide(0, dst), alu(operation, 0, imm=imm)]) == long
    assert result([wide(0, dst), alu(operation, 0, imm=imm, bits=32)]) == short


def test_signed_division_by_an_immediate():
    assert result([mov(0, -9), alu(A.DIV, 0, imm=2, offset=1)]) == -4 & M64
    assert result([mov(0, INT32_MIN - (1 << 32)), alu(A.DIV, 0, imm=-1, offset=1, bits=32)]) == (
        INT32_MIN
    )


def test_moves_of_32_bits_extend_into_64():
    assert result([wide(1, 0x8000_0000), alu(A.MOV, 0, 1, offset=32)]) == 0xFFFF_FFFF_8000_0000


def test_negation():
    assert result([mov(0, 1), alu(A.NEG, 0)]) == M64
    assert result([wide(0, 0x1_0000_0001), alu(A.NEG, 0, bits=32)]) == 0xFFFF_FFFF


@pytest.mark.parametrize(
    ("bits", "little", "big", "swapped"),
    [
        (16, 0x7788, 0x8877, 0x8877),
        (32, 0x5566_7788, 0x8877_6655, 0x8877_6655),
        (64, 0x1122_3344_5566_7788, 0x8877_6655_4433_2211, 0x8877_6655_4433_2211),
    ],
)
def test_byte_orders(bits, little, big, swapped):
    value = wide(0, 0x1122_3344_5566_7788)
    assert result([value, alu(A.END, 0, imm=bits, bits=32)]) == little
    to_big = Instruction(A.END << 4 | 8 | 4, 0, 0, 0, bits)
    assert result([value, to_big]) == big
    assert result([value, alu(A.END, 0, imm=bits)]) == swapped


#: operation, dst, src, taken with 64 bits, taken with 32 bits
JUMPS = [
    (J.JEQ, 1 << 32, 0, False, True),
    (J.JEQ, 5, 5, True, True),
    (J.JNE, 1 << 32, 0, True, False),
    (J.JGT, M64, 1, True, True),
    (J.JGT, 1, 1, False, False),
    (J.JGE, 1, 1, True, True),
    (J.JLT, 1, M64, True, True),
    (J.JLE, 2, 1, False, False),
    (J.JSET, 0x1_0000_0000, 0x1_0000_0000, True, False),
    (J.JSET, 6, 1, False, False),
    (J.JSGT, 1, M64, True, True),
    (J.JSGT, 0x8000_0000, 0, True, False),
    (J.JSGE, M64, M64, True, True),
    (J.JSLT, M64, 0, True, True),
    (J.JSLT, 0x8000_0000, 0, False, True),
    (J.JSLE, INT64_MIN, 0, True, True),
    (J.JSLE, 1, 0, False, False),
]


@pytest.mark.parametrize(("operation", "dst", "src", "long", "short"), JUMPS)
def test_conditions(operation, dst, src, long, short):
    for bits, taken in ((64, long), (32, short)):
        program = [
            *(wide(1, dst), wide(2, src), mov(0, 0)),
            jump(operation, 1, 1, 2, bits=bits),
            mov(0, 1),
        ]
        assert result(program) == (0 if taken else 1)
        if -INT32_MIN <= (src if src < INT32_MIN else src - (1 << 64)) < INT32_MIN:
            imm = src if src < INT32_MIN else src - (1 << 64)
            assert result([*program[:3], jump(operation, 1, 1, imm=imm, bits=bits), mov(0, 1)]) == (
                0 if taken else 1
            )


def test_unconditional_jumps_of_both_lengths():
    assert result([mov(0, 1), goto(1), mov(0, 2)]) == 1
    long_jump = Instruction(J.JA << 4 | 6, imm=1)
    assert result([mov(0, 1), long_jump, mov(0, 2)]) == 1


def test_a_jump_backwards_loops():
    program = [mov(0, 0), alu(A.ADD, 0, imm=3), jump(J.JLT, 0, -2, imm=30)]
    assert result(program) == 30


CONTEXT = bytes(range(0x80, 0x90))


@pytest.mark.parametrize(
    ("size", "plain", "extended"),
    [
        (Size.B, 0x81, -0x7F & M64),
        (Size.H, 0x8281, 0xFFFF_FFFF_FFFF_8281),
        (Size.W, 0x8483_8281, 0xFFFF_FFFF_8483_8281),
    ],
)
def test_loads_of_every_size_at_any_address(size, plain, extended):
    assert result([load(0, 1, 1, size)], CONTEXT) == plain
    assert result([load(0, 1, 1, size, signed=True)], CONTEXT) == extended


def test_stores_of_every_size():
    value = wide(2, 0x1122_3344_5566_7788)
    for size, expected in (
        (Size.B, b"\x88\0\0\0\0\0\0\0\0"),
        (Size.H, b"\x88\x77\0\0\0\0\0\0\0"),
        (Size.W, b"\x88\x77\x66\x55\0\0\0\0\0"),
        (Size.DW, b"\x88\x77\x66\x55\x44\x33\x22\x11\0"),
    ):
        _, context = run([value, store(1, 2, 0, size), mov(0, 0), leave()], bytes(9))
        assert context == expected
    _, context = run([store_imm(1, -2, 1), mov(0, 0), leave()], bytes(9))
    assert context == b"\0\xfe" + b"\xff" * 7


def test_r1_and_r2_are_the_context_and_its_length():
    assert result([copy(0, 2)], CONTEXT) == 16
    assert result([load(0, 1, 0)], CONTEXT) == int.from_bytes(CONTEXT[:8], "little")


@pytest.mark.parametrize(
    ("operation", "new"),
    [
        (AtomicOperation.ADD, 0x10E),
        (AtomicOperation.OR, 0xFF),
        (AtomicOperation.AND, 0x0F & 0xFF),
        (AtomicOperation.XOR, 0xF0),
    ],
)
@pytest.mark.parametrize("fetch", [0, AtomicOperation.FETCH])
@pytest.mark.parametrize("size", [Size.W, Size.DW])
def test_atomics(operation, new, fetch, size):
    setup = [store_imm(10, 0xFF, -8), mov(2, 0x0F), atomic(operation | fetch, 10, 2, -8, size)]
    assert result([*setup, load(0, 10, -8)]) == new
    assert result([*setup, copy(0, 2)]) == (0xFF if fetch else 0x0F)


def test_exchanges():
    setup = [store_imm(10, 7, -8), mov(2, 9)]
    swapped = [*setup, atomic(AtomicOperation.XCHG, 10, 2, -8)]
    assert result([*swapped, copy(0, 2)]) == 7
    assert result([*swapped, load(0, 10, -8)]) == 9
    for expected, stored in ((7, 9), (8, 7)):
        compared = [*setup, mov(0, expected), atomic(AtomicOperation.CMPXCHG, 10, 2, -8)]
        assert result(compared) == 7
        assert result([*compared, load(0, 10, -8)]) == stored


def test_atomics_of_32_bits_leave_the_neighbours_and_clear_the_upper_half():
    setup = [wide(2, 0xAAAA_BBBB_0000_0001), wide(3, M64), store(10, 3, -8)]
    fetched = [*setup, atomic(AtomicOperation.ADD | 1, 10, 2, -8, Size.W)]
    assert result([*fetched, copy(0, 2)]) == 0xFFFF_FFFF
    assert result([*fetched, load(0, 10, -8)]) == 0xFFFF_FFFF_0000_0000


def test_local_calls_have_frames_of_their_own_and_keep_r6_to_r9():
    program = [
        *(mov(6, 1), mov(7, 2), mov(8, 3), mov(9, 4), store_imm(10, 5, -8)),
        *(mov(1, 100), call(7)),
        *(alu(A.ADD, 0, 6), alu(A.ADD, 0, 7), alu(A.ADD, 0, 8), alu(A.ADD, 0, 9)),
        *(load(3, 10, -8), alu(A.ADD, 0, 3)),
        leave(),
        # the callee
        *(mov(6, 50), mov(9, 60), store_imm(10, 70, -8), copy(0, 1)),
    ]
    assert result(program) == 100 + 1 + 2 + 3 + 4 + 5


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        ([Instruction(0xFF)], FaultCause.ILLEGAL_INSTRUCTION),
        ([mov(10, 1)], FaultCause.ILLEGAL_INSTRUCTION),
        ([alu(A.ADD, 0, 11)], FaultCause.ILLEGAL_INSTRUCTION),
        ([alu(A.ADD, 0, 1, offset=3)], FaultCause.ILLEGAL_INSTRUCTION),
        ([alu(A.END, 0, imm=24)], FaultCause.ILLEGAL_INSTRUCTION),
        ([alu(A.MOV, 0, 1, offset=32, bits=32)], FaultCause.ILLEGAL_INSTRUCTION),
        ([goto(1), wide(0, 1)], FaultCause.ILLEGAL_INSTRUCTION),
        ([atomic(0x70, 10, 1, -8)], FaultCause.ILLEGAL_INSTRUCTION),
        ([atomic(0, 10, 1, -8, Size.B)], FaultCause.ILLEGAL_INSTRUCTION),
        ([atomic(0, 10, 1, -7)], FaultCause.MISALIGNED_ATOMIC),
        ([load(0, 1, 9)], FaultCause.OUT_OF_BOUNDS),
        ([load(0, 1, -1, Size.B)], FaultCause.OUT_OF_BOUNDS),
        ([store(10, 0, 0, Size.B)], FaultCause.OUT_OF_BOUNDS),
        ([store(10, 0, -520)], FaultCause.OUT_OF_BOUNDS),
        ([mov(1, 0), load(0, 1)], FaultCause.OUT_OF_BOUNDS),
        ([wide(1, 1 << 40), load(0, 1)], FaultCause.OUT_OF_BOUNDS),
        ([goto(-1)], FaultCause.WATCHDOG),
        ([mov(0, 0)], FaultCause.END_OF_PROGRAM),
        ([goto(100)], FaultCause.END_OF_PROGRAM),
        ([goto(-5)], FaultCause.END_OF_PROGRAM),
        ([call(-1)], FaultCause.CALL_DEPTH),
        ([Instruction(0x85, imm=9999)], FaultCause.UNKNOWN_HELPER),
        ([Instruction(0x85, imm=1)], FaultCause.BAD_MAP),
        ([Instruction(0x85, src=2, imm=1)], FaultCause.ILLEGAL_INSTRUCTION),
        ([wide(0, 1, kind=9)], FaultCause.ILLEGAL_INSTRUCTION),
    ],
)
def test_faults_end_the_event_with_their_cause(program, cause):
    outcome, _ = run(program, bytes(16))
    assert outcome.fault is cause


def test_a_fault_says_where_and_after_how_much():
    outcome, _ = run([mov(0, 1), mov(3, 2), load(0, 3), mov(0, 9), leave()])
    assert (outcome.fault, outcome.slot, outcome.instructions) == (FaultCause.OUT_OF_BOUNDS, 2, 3)
    assert outcome.registers[3] == 2


@pytest.mark.parametrize("budget", range(1, 12))
def test_the_watchdog_counts_every_instruction(budget):
    loop = [mov(0, 0), alu(A.ADD, 0, imm=1), jump(J.JNE, 0, -2, imm=5), leave()]
    outcome, _ = run(loop, budget=budget)
    assert outcome.fault is (FaultCause.WATCHDOG if budget < 12 else FaultCause.NONE)
    assert outcome.instructions == budget


def test_the_last_instruction_may_use_up_the_budget():
    outcome, _ = run(
        [mov(0, 0), alu(A.ADD, 0, imm=1), jump(J.JNE, 0, -2, imm=5), leave()], budget=12
    )
    assert outcome.fault is FaultCause.NONE
    assert outcome.instructions == 12
