"""The syntax of the conformance suite and of user-space machines: ``add %r0, 2``."""

import re

from fanweave.golden.isa.ebpf import (
    AluOperation,
    AtomicOperation,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
)
from fanweave.sw.ebpf.syntax import (
    NUMBER,
    TARGET,
    Line,
    Rule,
    number,
    offset_of,
    register,
    target_of,
    wide_load,
)

__all__ = ["RULES", "write"]

_C = InstructionClass
_ALU = {op.name.lower(): op for op in AluOperation if op not in (AluOperation.END,)}
_SIGNED = {"sdiv": AluOperation.DIV, "smod": AluOperation.MOD}
_JUMPS = {
    op.name.lower(): op
    for op in JumpOperation
    if op not in (JumpOperation.JA, JumpOperation.CALL, JumpOperation.EXIT)
}
_SIZES = {"b": Size.B, "h": Size.H, "w": Size.W, "dw": Size.DW}
_SIZE_NAMES = {size: name for name, size in _SIZES.items()}
_ATOMICS = {"add": 0x00, "or": 0x40, "and": 0x50, "xor": 0xA0, "xchg": 0xE1, "cmpxchg": 0xF1}
_ATOMIC_NAMES = {code & ~1: name for name, code in _ATOMICS.items()}


def _alternatives(names: object) -> str:
    return "|".join(sorted(map(str, names), key=len, reverse=True))  # type: ignore[call-overload]


def _source(text: str) -> tuple[int, int, int]:
    """Opcode bit, register and immediate of an operand."""
    found = re.fullmatch(r"%r(\d+)", text.strip())
    return (8, register(found[1]), 0) if found else (0, 0, number(text))


def _arithmetic(found: re.Match[str]) -> Instruction:
    name, narrow, dst, operand = found.groups()
    source, src, imm = _source(operand)
    kind = _C.ALU if narrow else _C.ALU64
    if name in _SIGNED:
        return Instruction(_SIGNED[name] << 4 | source | kind, register(dst), src, 1, imm)
    return Instruction(_ALU[name] << 4 | source | kind, register(dst), src, 0, imm)


def _negate(found: re.Match[str]) -> Instruction:
    kind = _C.ALU if found[1] else _C.ALU64
    return Instruction(AluOperation.NEG << 4 | kind, register(found[2]))


def _move_extending(found: re.Match[str]) -> Instruction:
    bits, narrow, dst, src = found.groups()
    kind = _C.ALU if narrow == "32" else _C.ALU64
    opcode = AluOperation.MOV << 4 | 8 | kind
    return Instruction(opcode, register(dst), register(src), int(bits))


def _byte_order(found: re.Match[str]) -> Instruction:
    kind, bits, dst = found.groups()
    opcode = AluOperation.END << 4 | {"le": _C.ALU, "be": 8 | _C.ALU, "bswap": _C.ALU64}[kind]
    return Instruction(opcode, register(dst), 0, 0, int(bits))


def _load(found: re.Match[str]) -> Instruction:
    extends, size, dst, src, offset = found.groups()
    mode = Mode.MEMSX if extends else Mode.MEM
    opcode = _C.LDX | mode << 5 | _SIZES[size] << 3
    return Instruction(opcode, register(dst), register(src), offset_of(offset))


def _store(found: re.Match[str]) -> Instruction:
    size, dst, offset, operand = found.groups()
    source, src, imm = _source(operand)
    kind = _C.STX if source else _C.ST
    opcode = kind | Mode.MEM << 5 | _SIZES[size] << 3
    return Instruction(opcode, register(dst), src, offset_of(offset), imm)


def _atomic(found: re.Match[str]) -> Instruction:
    fetch, name, narrow, dst, offset, src = found.groups()
    size = Size.W if narrow else Size.DW
    imm = _ATOMICS[name] | (1 if fetch else 0)
    opcode = _C.STX | Mode.ATOMIC << 5 | size << 3
    return Instruction(opcode, register(dst), register(src), offset_of(offset), imm)


def _jump(found: re.Match[str]) -> Line:
    name, narrow, dst, operand, where = found.groups()
    source, src, imm = _source(operand)
    distance, label = target_of(where)
    opcode = _JUMPS[name] << 4 | source | (_C.JMP32 if narrow else _C.JMP)
    return Line(Instruction(opcode, register(dst), src, distance, imm), label)


def _goto(found: re.Match[str]) -> Line:
    distance, label = target_of(found[2])
    if found[1]:
        return Line(Instruction(JumpOperation.JA << 4 | _C.JMP32, imm=distance), label, True)
    return Line(Instruction(JumpOperation.JA << 4 | _C.JMP, offset=distance), label)


def _call(found: re.Match[str]) -> Line:
    distance, label = target_of(found[1])
    opcode = JumpOperation.CALL << 4 | _C.JMP
    return Line(Instruction(opcode, src=CallKind.LOCAL, imm=distance), label, True)


def _helper(found: re.Match[str]) -> Instruction:
    return Instruction(JumpOperation.CALL << 4 | _C.JMP, imm=number(found[1]))


_OPERAND = rf"%r\d+|{NUMBER}"
_PLACE = rf"\[ %r(\d+) ({NUMBER})? \]"
_BINARY = [name for name in _ALU if name != "neg"] + list(_SIGNED)
_SIZE = _alternatives(_SIZES)

RULES = (
    Rule.of(rf"({_alternatives(_BINARY)})(32)?\s %r(\d+) , ({_OPERAND})", _arithmetic),
    Rule.of(r"neg(32)?\s %r(\d+)", _negate),
    Rule.of(r"movsx(8|16|32)(32|64)\s %r(\d+) , %r(\d+)", _move_extending),
    Rule.of(r"(le|be|bswap)(16|32|64)\s %r(\d+)", _byte_order),
    Rule.of(rf"lddw\s %r(\d+) , ({NUMBER})", lambda found: wide_load(found[1], found[2])),
    Rule.of(rf"ldx(s)?({_SIZE})\s %r(\d+) , {_PLACE}", _load),
    Rule.of(rf"stx?({_SIZE})\s {_PLACE} , ({_OPERAND})", _store),
    Rule.of(rf"lock\s (fetch_)?({_alternatives(_ATOMICS)})(32)?\s {_PLACE} , %r(\d+)", _atomic),
    Rule.of(rf"({_alternatives(_JUMPS)})(32)?\s %r(\d+) , ({_OPERAND}) , ({TARGET})", _jump),
    Rule.of(rf"ja(32)?\s ({TARGET})", _goto),
    Rule.of(rf"call\s local\s ({TARGET})", _call),
    Rule.of(rf"call\s ({NUMBER})", _helper),
    Rule.of(r"exit", lambda _: Instruction(JumpOperation.EXIT << 4 | _C.JMP)),
)


def write(instruction: Instruction) -> str | None:
    """Write an instruction; None if it is not one."""
    kind = instruction.instruction_class
    if kind in (_C.ALU, _C.ALU64):
        return _write_arithmetic(instruction)
    if kind in (_C.JMP, _C.JMP32):
        return _write_jump(instruction)
    if instruction.is_wide:
        return f"lddw %r{instruction.dst}, {instruction.imm64:#x}" if not instruction.src else None
    return _write_memory(instruction)


def _operand(instruction: Instruction) -> str:
    return f"%r{instruction.src}" if instruction.opcode & 8 else str(instruction.imm)


def _write_arithmetic(instruction: Instruction) -> str | None:
    try:
        operation = AluOperation(instruction.opcode >> 4)
    except ValueError:
        return None
    wide = instruction.instruction_class is _C.ALU64
    narrow = "" if wide else "32"
    dst = f"%r{instruction.dst}"
    if operation is AluOperation.END:
        name = "bswap" if wide else "be" if instruction.opcode & 8 else "le"
        return f"{name}{instruction.imm} {dst}"
    if operation is AluOperation.NEG:
        return f"neg{narrow} {dst}"
    name = operation.name.lower()
    if instruction.offset:
        if operation is AluOperation.MOV and instruction.opcode & 8:
            return f"movsx{instruction.offset}{64 if wide else 32} {dst}, %r{instruction.src}"
        if operation not in _SIGNED.values() or instruction.offset != 1:
            return None
        name = "s" + name
    return f"{name}{narrow} {dst}, {_operand(instruction)}"


def _write_jump(instruction: Instruction) -> str | None:
    try:
        operation = JumpOperation(instruction.opcode >> 4)
    except ValueError:
        return None
    narrow = "32" if instruction.instruction_class is _C.JMP32 else ""
    if operation is JumpOperation.JA:
        return f"ja{narrow} {instruction.imm if narrow else instruction.offset:+d}"
    if operation is JumpOperation.EXIT:
        return None if narrow else "exit"
    if operation is JumpOperation.CALL:
        if narrow or instruction.src > CallKind.LOCAL:
            return None
        return f"call local {instruction.imm:+d}" if instruction.src else f"call {instruction.imm}"
    name = operation.name.lower()
    return f"{name}{narrow} %r{instruction.dst}, {_operand(instruction)}, {instruction.offset:+d}"


def _write_memory(instruction: Instruction) -> str | None:
    kind = instruction.instruction_class
    mode = instruction.opcode >> 5
    size = Size(instruction.opcode >> 3 & 3)
    base = instruction.src if kind is _C.LDX else instruction.dst
    place = f"[%r{base}{instruction.offset:+d}]" if instruction.offset else f"[%r{base}]"
    if kind is _C.LDX and mode in (Mode.MEM, Mode.MEMSX):
        extends = "s" if mode == Mode.MEMSX else ""
        return f"ldx{extends}{_SIZE_NAMES[size]} %r{instruction.dst}, {place}"
    if kind is _C.ST and mode == Mode.MEM:
        return f"st{_SIZE_NAMES[size]} {place}, {instruction.imm}"
    if kind is _C.STX and mode == Mode.MEM:
        return f"stx{_SIZE_NAMES[size]} {place}, %r{instruction.src}"
    name = _ATOMIC_NAMES.get(instruction.imm & ~1)
    if kind is not _C.STX or mode != Mode.ATOMIC or name is None or size not in (Size.W, Size.DW):
        return None
    always = instruction.imm in (AtomicOperation.XCHG, AtomicOperation.CMPXCHG)
    if instruction.imm & ~1 >= 0xE0 and not always:
        return None
    fetch = "fetch_" if instruction.imm & 1 and not always else ""
    narrow = "32" if size is Size.W else ""
    return f"lock {fetch}{name}{narrow} {place}, %r{instruction.src}"
