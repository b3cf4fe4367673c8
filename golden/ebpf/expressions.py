"""Python expressions for arithmetic and conditions, on variables named r0 to r10."""

from fanweave.golden.ebpf.arithmetic import MASK32, MASK64
from fanweave.golden.ebpf.program import wide_value
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    AluOperation,
    Instruction,
    InstructionClass,
    JumpOperation,
)

__all__ = ["condition", "value_of"]

_SIGN64 = 1 << 63
_SIGN32 = 1 << 31
#: Operators that need the result cut to the width.
_WRAPPING = {AluOperation.ADD: "+", AluOperation.SUB: "-", AluOperation.MUL: "*"}
_BITWISE = {AluOperation.OR: "|", AluOperation.AND: "&", AluOperation.XOR: "^"}
_COMPARISONS = {
    JumpOperation.JEQ: "==",
    JumpOperation.JNE: "!=",
    JumpOperation.JGT: ">",
    JumpOperation.JGE: ">=",
    JumpOperation.JLT: "<",
    JumpOperation.JLE: "<=",
}
_SIGNED_COMPARISONS = {
    JumpOperation.JSGT: ">",
    JumpOperation.JSGE: ">=",
    JumpOperation.JSLT: "<",
    JumpOperation.JSLE: "<=",
}


def value_of(instruction: Instruction) -> str | None:
    """What an arithmetic instruction or a 64-bit immediate load gives its register.

    None if it is not one, or not a legal one: the interpreter knows.
    """
    kind = instruction.instruction_class
    if kind is InstructionClass.LD:
        try:
            return str(wide_value(instruction)) if instruction.is_wide else None
        except InputError:
            return None
    wide = kind is InstructionClass.ALU64
    if not wide and kind is not InstructionClass.ALU:
        return None
    try:
        operation = AluOperation(instruction.opcode >> 4)
    except ValueError:
        return None
    from_register = bool(instruction.opcode & 8)
    if operation is AluOperation.END:
        return _byte_order(instruction, wide, from_register)
    mask = MASK64 if wide else MASK32
    dst = _operand(f"r{instruction.dst}", wide)
    src = _operand(f"r{instruction.src}", wide) if from_register else str(instruction.imm & mask)
    if instruction.offset:
        return _with_offset(operation, instruction, src, wide, from_register)
    return _plain(operation, dst, src, wide)


def _operand(register: str, wide: bool) -> str:
    return register if wide else f"({register} & {MASK32})"


def _byte_order(instruction: Instruction, wide: bool, from_register: bool) -> str | None:
    if instruction.imm not in (16, 32, 64) or (wide and from_register):
        return None
    swap = wide or from_register
    return f"byte_order(r{instruction.dst}, {instruction.imm}, swap={swap})"


def _with_offset(
    operation: AluOperation, instruction: Instruction, src: str, wide: bool, from_register: bool
) -> str | None:
    """Signed division and modulo, and moves that extend the sign."""
    bits = 64 if wide else 32
    if operation is AluOperation.MOV:
        if not from_register or instruction.offset not in ((8, 16, 32) if wide else (8, 16)):
            return None
        return f"signed({src}, {instruction.offset}) & {(1 << bits) - 1}"
    if operation in (AluOperation.DIV, AluOperation.MOD) and instruction.offset == 1:
        name = f"AluOperation.{operation.name}"
        return f"alu({name}, r{instruction.dst}, {src}, offset=1, bits={bits})"
    return None


def _plain(operation: AluOperation, dst: str, src: str, wide: bool) -> str:
    mask, sign = (MASK64, _SIGN64) if wide else (MASK32, _SIGN32)
    shift = f"({src} & {63 if wide else 31})"
    if operation in _WRAPPING:
        return f"({dst} {_WRAPPING[operation]} {src}) & {mask}"
    if operation in _BITWISE:
        return f"{dst} {_BITWISE[operation]} {src}"
    return {
        AluOperation.DIV: f"{dst} // {src} if {src} else 0",
        AluOperation.MOD: f"{dst} % {src} if {src} else {dst}",
        AluOperation.LSH: f"({dst} << {shift}) & {mask}",
        AluOperation.RSH: f"{dst} >> {shift}",
        AluOperation.NEG: f"-{dst} & {mask}",
        AluOperation.MOV: src,
        AluOperation.ARSH: f"(({dst} ^ {sign}) - {sign} >> {shift}) & {mask}",
    }[operation]


def condition(instruction: Instruction) -> str | None:
    """When a conditional jump is taken; None if the interpreter must decide."""
    wide = instruction.instruction_class is InstructionClass.JMP
    mask, sign = (MASK64, _SIGN64) if wide else (MASK32, _SIGN32)
    try:
        operation = JumpOperation(instruction.opcode >> 4)
    except ValueError:
        return None
    dst = _operand(f"r{instruction.dst}", wide)
    from_register = bool(instruction.opcode & 8)
    src = _operand(f"r{instruction.src}", wide) if from_register else str(instruction.imm & mask)
    if operation in _COMPARISONS:
        return f"{dst} {_COMPARISONS[operation]} {src}"
    if operation is JumpOperation.JSET:
        return f"{dst} & {src}"
    # With the sign bit turned over, signed order is that of unsigned numbers.
    biased = f"({src} ^ {sign})" if from_register else str((instruction.imm & mask) ^ sign)
    return f"({dst} ^ {sign}) {_SIGNED_COMPARISONS[operation]} {biased}"
