"""Short ways to write instructions in Python."""

from fanweave.golden.isa.ebpf import (
    AluOperation,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
)

__all__ = [
    "alu",
    "atomic",
    "call",
    "copy",
    "goto",
    "helper",
    "jump",
    "leave",
    "load",
    "map_of",
    "mov",
    "store",
    "store_imm",
    "wide",
]

_REGISTER = 8  # the source is a register and no immediate


def alu(
    operation: AluOperation,
    dst: int,
    src: int | None = None,
    imm: int = 0,
    *,
    bits: int = 64,
    offset: int = 0,
) -> Instruction:
    """``dst op= src`` or ``dst op= imm``."""
    kind = InstructionClass.ALU64 if bits == 64 else InstructionClass.ALU
    source = 0 if src is None else _REGISTER
    return Instruction(operation << 4 | source | kind, dst, src or 0, offset, imm)


def mov(dst: int, imm: int) -> Instruction:
    """``dst = imm``, sign-extended."""
    return alu(AluOperation.MOV, dst, imm=imm)


def copy(dst: int, src: int) -> Instruction:
    """``dst = src``."""
    return alu(AluOperation.MOV, dst, src)


def wide(dst: int, value: int, kind: int = 0) -> Instruction:
    """``dst = value`` with 64 bits."""
    opcode = InstructionClass.LD | Mode.IMM << 5 | Size.DW << 3
    low, high = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
    return Instruction(opcode, dst, kind, 0, _signed(low), _signed(high))


def map_of(dst: int, number: int) -> Instruction:
    """``dst = map``."""
    return wide(dst, number, kind=1)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def jump(
    operation: JumpOperation,
    dst: int,
    target: int,
    src: int | None = None,
    imm: int = 0,
    *,
    bits: int = 64,
) -> Instruction:
    """``if dst op src goto +target``."""
    kind = InstructionClass.JMP if bits == 64 else InstructionClass.JMP32
    source = 0 if src is None else _REGISTER
    return Instruction(operation << 4 | source | kind, dst, src or 0, target, imm)


def goto(target: int) -> Instruction:
    """``goto +target``."""
    return Instruction(JumpOperation.JA << 4 | InstructionClass.JMP, offset=target)


def helper(number: int) -> Instruction:
    """``call number``."""
    return Instruction(JumpOperation.CALL << 4 | InstructionClass.JMP, imm=number)


def call(target: int) -> Instruction:
    """``call +target``."""
    opcode = JumpOperation.CALL << 4 | InstructionClass.JMP
    return Instruction(opcode, src=CallKind.LOCAL, imm=target)


def leave() -> Instruction:
    """``exit``."""
    return Instruction(JumpOperation.EXIT << 4 | InstructionClass.JMP)


def load(
    dst: int, src: int, offset: int = 0, size: Size = Size.DW, *, signed: bool = False
) -> Instruction:
    """``dst = *(src + offset)``."""
    mode = Mode.MEMSX if signed else Mode.MEM
    return Instruction(InstructionClass.LDX | size << 3 | mode << 5, dst, src, offset)


def store(dst: int, src: int, offset: int = 0, size: Size = Size.DW) -> Instruction:
    """``*(dst + offset) = src``."""
    return Instruction(InstructionClass.STX | size << 3 | Mode.MEM << 5, dst, src, offset)


def store_imm(dst: int, imm: int, offset: int = 0, size: Size = Size.DW) -> Instruction:
    """``*(dst + offset) = imm``."""
    return Instruction(InstructionClass.ST | size << 3 | Mode.MEM << 5, dst, 0, offset, imm)


def atomic(
    operation: int, dst: int, src: int, offset: int = 0, size: Size = Size.DW
) -> Instruction:
    """An atomic operation on ``*(dst + offset)``."""
    opcode = InstructionClass.STX | size << 3 | Mode.ATOMIC << 5
    return Instruction(opcode, dst, src, offset, operation)
