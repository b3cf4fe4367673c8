"""Cases of conditions, gotos, local calls and exits."""

from collections.abc import Iterator

from fanweave.golden.ebpf.build import (
    alu,
    call,
    copy,
    goto,
    jump,
    leave,
    load,
    mov,
    store_imm,
    wide,
)
from fanweave.golden.ebpf.conformance.case import M64, Case, signed_word
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, FaultCause

__all__ = ["cases"]

_J = JumpOperation
_ADD = AluOperation.ADD
_MIN64 = 1 << 63
_UPPER = 1 << 32

#: Operation, dst, src, taken with 64 bits, taken with 32 bits.
_CONDITIONS: tuple[tuple[JumpOperation, int, int, bool, bool], ...] = (
    (_J.JEQ, 5, 5, True, True),
    (_J.JEQ, 5, 6, False, False),
    (_J.JEQ, _UPPER, 0, False, True),
    (_J.JEQ, M64, M64, True, True),
    (_J.JNE, 5, 5, False, False),
    (_J.JNE, 5, 6, True, True),
    (_J.JNE, _UPPER, 0, True, False),
    (_J.JGT, 1, 1, False, False),
    (_J.JGT, M64, 1, True, True),
    (_J.JGT, 1, M64, False, False),
    (_J.JGT, _UPPER, 1, True, False),
    (_J.JGE, 1, 1, True, True),
    (_J.JGE, 0, 1, False, False),
    (_J.JGE, M64, 1, True, True),
    (_J.JLT, 1, 1, False, False),
    (_J.JLT, 1, M64, True, True),
    (_J.JLT, _UPPER, 1, False, True),
    (_J.JLE, 1, 1, True, True),
    (_J.JLE, 2, 1, False, False),
    (_J.JLE, 2, M64, True, True),
    (_J.JSET, 6, 2, True, True),
    (_J.JSET, 6, 1, False, False),
    (_J.JSET, _UPPER, _UPPER, True, False),
    (_J.JSET, _UPPER, M64, True, False),
    (_J.JSGT, 1, M64, True, True),
    (_J.JSGT, M64, 1, False, False),
    (_J.JSGT, 0x8000_0000, 0, True, False),
    (_J.JSGE, M64, M64, True, True),
    (_J.JSGE, M64 - 1, M64, False, False),
    (_J.JSGE, 0, M64, True, True),
    (_J.JSLT, M64, 0, True, True),
    (_J.JSLT, 0, M64, False, False),
    (_J.JSLT, 0x8000_0000, 0, False, True),
    (_J.JSLE, _MIN64, 0, True, True),
    (_J.JSLE, 1, 0, False, False),
    (_J.JSLE, M64, M64, True, True),
)


def cases() -> Iterator[Case]:
    """All of them."""
    for operation, dst, src, long, short in _CONDITIONS:
        for bits, taken in ((64, long), (32, short)):
            name = f"{operation.name.lower()} of {dst:#x} and {src:#x}, {bits} bits"
            setup = (wide(1, dst), wide(2, src), mov(0, 7))
            yield Case(
                name=f"{name}, register",
                program=(*setup, jump(operation, 1, 1, 2, bits=bits), mov(0, 9), leave()),
                r0=7 if taken else 9,
            )
            imm = signed_word(src)
            if imm is not None:
                yield Case(
                    name=f"{name}, immediate",
                    program=(*setup, jump(operation, 1, 1, imm=imm, bits=bits), mov(0, 9), leave()),
                    r0=7 if taken else 9,
                )
    yield from _gotos()
    yield from _calls()


def _gotos() -> Iterator[Case]:
    far = Instruction(_J.JA << 4 | 6, imm=1)
    back = Instruction(_J.JA << 4 | 6, imm=-3)
    yield Case(name="ja skips", program=(mov(0, 1), goto(1), mov(0, 2), leave()), r0=1)
    yield Case(name="ja by nothing goes on", program=(mov(0, 1), goto(0), mov(0, 2), leave()), r0=2)
    yield Case(name="ja32 skips", program=(mov(0, 1), far, mov(0, 2), leave()), r0=1)
    yield Case(
        name="ja32 backwards",
        program=(goto(2), mov(0, 3), leave(), back),
        r0=3,
    )
    yield Case(
        name="a jump over a wide load counts two slots",
        program=(mov(0, 1), goto(2), wide(0, 2), leave()),
        r0=1,
    )
    yield Case(
        name="a jump backwards loops",
        program=(mov(0, 0), alu(_ADD, 0, imm=3), jump(_J.JLT, 0, -2, imm=30), leave()),
        r0=30,
    )
    yield Case(name="r0 begins as zero", program=(leave(),), r0=0)


def _nested(depth: int) -> tuple[Instruction, ...]:
    """Functions that call the next one; each adds 1."""
    calls: list[Instruction] = [mov(0, 0)]
    for _ in range(depth):
        calls += [call(2), alu(_ADD, 0, imm=1), leave()]
    return (*calls, leave())


def _calls() -> Iterator[Case]:
    yield Case(
        name="a local call has a frame of its own and keeps r6 to r9",
        program=(
            *(mov(6, 1), mov(7, 2), mov(8, 3), mov(9, 4), store_imm(10, 5, -8)),
            *(mov(1, 100), call(7)),
            *(alu(_ADD, 0, 6), alu(_ADD, 0, 7), alu(_ADD, 0, 8), alu(_ADD, 0, 9)),
            *(load(3, 10, -8), alu(_ADD, 0, 3), leave()),
            *(mov(6, 50), mov(9, 60), store_imm(10, 70, -8), copy(0, 1), leave()),
        ),
        r0=100 + 1 + 2 + 3 + 4 + 5,
    )
    yield Case(
        name="a function sees its caller's frame through an address",
        program=(
            *(store_imm(10, 11, -8), copy(1, 10), call(1), leave()),
            *(load(0, 1, -8), leave()),
        ),
        r0=11,
    )
    yield Case(
        name="a function's r6 to r9 begin as zero",
        program=(
            *(mov(6, 1), mov(7, 2), mov(8, 4), mov(9, 8), call(1), leave()),
            *(copy(0, 6), alu(_ADD, 0, 7), alu(_ADD, 0, 8), alu(_ADD, 0, 9), leave()),
        ),
        r0=0,
    )
    yield Case(
        name="a local call backwards",
        program=(goto(2), mov(0, 6), leave(), call(-3), leave()),
        r0=6,
    )
    yield Case(
        name="as many frames as there are",
        program=_nested(CALL_FRAMES - 1),
        r0=CALL_FRAMES - 1,
    )
    yield Case(
        name="one frame too many",
        program=_nested(CALL_FRAMES),
        fault=FaultCause.CALL_DEPTH,
        slot=1 + 3 * (CALL_FRAMES - 1),
    )
    yield Case(
        name="recursion ends", program=(call(-1), leave()), fault=FaultCause.CALL_DEPTH, slot=0
    )
    yield Case(
        name="a frame that is gone is out of bounds",
        program=(call(2), load(0, 0, -8), leave(), copy(0, 10), leave()),
        fault=FaultCause.OUT_OF_BOUNDS,
        slot=1,
    )
