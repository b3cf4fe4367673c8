"""The syntax of Linux and LLVM: ``r0 += 2``."""

import re

from fanweave.golden.isa.ebpf import (
    AluOperation,
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
    LineError,
    Rule,
    number,
    register,
    target_of,
    wide_load,
)

__all__ = ["RULES", "write"]

_C = InstructionClass
_A = AluOperation
_J = JumpOperation
_ALU = {
    "+=": (_A.ADD, 0),
    "-=": (_A.SUB, 0),
    "*=": (_A.MUL, 0),
    "/=": (_A.DIV, 0),
    "s/=": (_A.DIV, 1),
    "%=": (_A.MOD, 0),
    "s%=": (_A.MOD, 1),
    "|=": (_A.OR, 0),
    "&=": (_A.AND, 0),
    "^=": (_A.XOR, 0),
    "<<=": (_A.LSH, 0),
    ">>=": (_A.RSH, 0),
    "s>>=": (_A.ARSH, 0),
    "=": (_A.MOV, 0),
}
_ALU_SIGNS = {value: sign for sign, value in _ALU.items()}
_JUMPS = {
    "==": _J.JEQ,
    "!=": _J.JNE,
    ">": _J.JGT,
    ">=": _J.JGE,
    "<": _J.JLT,
    "<=": _J.JLE,
    "&": _J.JSET,
    "s>": _J.JSGT,
    "s>=": _J.JSGE,
    "s<": _J.JSLT,
    "s<=": _J.JSLE,
}
_JUMP_SIGNS = {operation: sign for sign, operation in _JUMPS.items()}
_SIZES = {"8": Size.B, "16": Size.H, "32": Size.W, "64": Size.DW}
_BITS = {size: bits for bits, size in _SIZES.items()}
_LOCKED = {"+=": 0x00, "|=": 0x40, "&=": 0x50, "^=": 0xA0}
_LOCKED_SIGNS = {code: sign for sign, code in _LOCKED.items()}
_FETCHING = {
    "atomic_fetch_add": 0x01,
    "atomic_fetch_or": 0x41,
    "atomic_fetch_and": 0x51,
    "atomic_fetch_xor": 0xA1,
    "xchg_": 0xE1,
    "xchg32_": 0xE1,
}
_FETCHING_NAMES = {0x01: "add", 0x41: "or", 0x51: "and", 0xA1: "xor"}


def _signs(table: dict[str, object]) -> str:
    return "|".join(re.escape(sign) for sign in sorted(table, key=len, reverse=True))


def _source(operand: str, letter: str) -> tuple[int, int, int]:
    """Opcode bit, register and immediate of an operand beside a register of a width."""
    found = re.fullmatch(r"([rw])(\d+)", operand.strip())
    if found is None:
        return 0, 0, number(operand)
    if found[1] != letter:
        raise LineError(f"{operand.strip()} and a register of the other width cannot be combined")
    return 8, register(found[2]), 0


def _class_of(letter: str, wide: InstructionClass, narrow: InstructionClass) -> InstructionClass:
    return wide if letter == "r" else narrow


def _arithmetic(found: re.Match[str]) -> Instruction:
    letter, dst, sign, operand = found.groups()
    operation, offset = _ALU[sign]
    source, src, imm = _source(operand, letter)
    opcode = operation << 4 | source | _class_of(letter, _C.ALU64, _C.ALU)
    return Instruction(opcode, register(dst), src, offset, imm)


def _negate(found: re.Match[str]) -> Instruction:
    letter, dst, other, src = found.groups()
    if (letter, dst) != (other, src):
        raise LineError("a register can only become its own negative")
    return Instruction(_A.NEG << 4 | _class_of(letter, _C.ALU64, _C.ALU), register(dst))


def _move_extending(found: re.Match[str]) -> Instruction:
    letter, dst, bits, other, src = found.groups()
    if letter != other:
        raise LineError("both registers of a move must have one width")
    opcode = _A.MOV << 4 | 8 | _class_of(letter, _C.ALU64, _C.ALU)
    return Instruction(opcode, register(dst), register(src), int(bits))


def _byte_order(found: re.Match[str]) -> Instruction:
    dst, kind, bits, src = found.groups()
    if dst != src:
        raise LineError("a register can only change its own byte order")
    opcode = _A.END << 4 | {"le": _C.ALU, "be": 8 | _C.ALU, "bswap": _C.ALU64}[kind]
    return Instruction(opcode, register(dst), 0, 0, int(bits))


def _load(found: re.Match[str]) -> Instruction:
    dst, sign, bits, src, offset = found.groups()
    mode = Mode.MEMSX if sign == "s" else Mode.MEM
    opcode = _C.LDX | mode << 5 | _SIZES[bits] << 3
    return Instruction(opcode, register(dst), register(src), number(offset, bits=16))


def _store(found: re.Match[str]) -> Instruction:
    bits, dst, offset, operand = found.groups()
    letter = operand.strip()[0]
    source, src, imm = _source(operand, letter)
    kind = _C.STX if source else _C.ST
    opcode = kind | Mode.MEM << 5 | _SIZES[bits] << 3
    return Instruction(opcode, register(dst), src, number(offset, bits=16), imm)


def _locked(found: re.Match[str]) -> Instruction:
    bits, dst, offset, sign, src = found.groups()
    opcode = _C.STX | Mode.ATOMIC << 5 | _SIZES[bits] << 3
    return Instruction(opcode, register(dst), register(src), number(offset, bits=16), _LOCKED[sign])


def _fetching(found: re.Match[str]) -> Instruction:
    result, name, bits, dst, offset, src = found.groups()
    if result != src:
        raise LineError("the old value comes back in the register of the operand")
    opcode = _C.STX | Mode.ATOMIC << 5 | _SIZES[bits] << 3
    place = register(dst), register(src), number(offset, bits=16)
    return Instruction(opcode, *place, _FETCHING[name])


def _compare_exchange(found: re.Match[str]) -> Instruction:
    bits, dst, offset, src = found.groups()
    opcode = _C.STX | Mode.ATOMIC << 5 | _SIZES[bits] << 3
    return Instruction(opcode, register(dst), register(src), number(offset, bits=16), 0xF1)


def _jump(found: re.Match[str]) -> Line:
    letter, dst, sign, operand, where = found.groups()
    source, src, imm = _source(operand, letter)
    distance, label = target_of(where)
    opcode = _JUMPS[sign] << 4 | source | _class_of(letter, _C.JMP, _C.JMP32)
    return Line(Instruction(opcode, register(dst), src, distance, imm), label)


def _goto(found: re.Match[str]) -> Line:
    distance, label = target_of(found[2])
    if found[1]:
        return Line(Instruction(_J.JA << 4 | _C.JMP32, imm=distance), label, True)
    return Line(Instruction(_J.JA << 4 | _C.JMP, offset=distance), label)


def _call(found: re.Match[str]) -> Line:
    distance, label = target_of(found[1])
    return Line(Instruction(_J.CALL << 4 | _C.JMP, src=CallKind.LOCAL, imm=distance), label, True)


_OPERAND = rf"[rw]\d+|{NUMBER}"
_PLACE = rf"\( ([us])(8|16|32|64) \* \) \( r(\d+) ({NUMBER}) \)"
_UNSIGNED = rf"\( u(8|16|32|64) \* \) \( r(\d+) ({NUMBER}) \)"
_FETCHED = rf"\( \( u(32|64) \* \) \( r(\d+) ({NUMBER}) \) , [rw](\d+) \)"

RULES = (
    Rule.of(rf"r(\d+) = ({NUMBER})\s ll", lambda found: wide_load(found[1], found[2])),
    Rule.of(r"([rw])(\d+) = - ([rw])(\d+)", _negate),
    Rule.of(rf"([rw])(\d+) ({_signs(dict(_ALU))}) ({_OPERAND})", _arithmetic),
    Rule.of(r"([rw])(\d+) = \( s(8|16|32) \) ([rw])(\d+)", _move_extending),
    Rule.of(r"r(\d+) = (le|be|bswap)(16|32|64)\s r(\d+)", _byte_order),
    Rule.of(rf"[rw](\d+) = \* {_PLACE}", _load),
    Rule.of(rf"\* {_UNSIGNED} = ({_OPERAND})", _store),
    Rule.of(rf"lock\s \* {_UNSIGNED} ({_signs(dict(_LOCKED))}) [rw](\d+)", _locked),
    Rule.of(
        rf"[rw](\d+) = ({'|'.join(sorted(_FETCHING, key=len, reverse=True))}) {_FETCHED}", _fetching
    ),
    Rule.of(
        rf"[rw]0 = cmpxchg(?:32)?_64 \( \( u(32|64) \* \) \( r(\d+) ({NUMBER}) \) , [rw]0 , "
        r"[rw](\d+) \)",
        _compare_exchange,
    ),
    Rule.of(rf"if\s ([rw])(\d+) ({_signs(dict(_JUMPS))}) ({_OPERAND})\s goto\s ({TARGET})", _jump),
    Rule.of(rf"goto(l)?\s ({TARGET})", _goto),
    Rule.of(rf"call\s pc ({TARGET})", _call),
    Rule.of(
        rf"call\s ({NUMBER})",
        lambda found: Instruction(_J.CALL << 4 | _C.JMP, imm=number(found[1])),
    ),
    Rule.of(r"exit", lambda _: Instruction(_J.EXIT << 4 | _C.JMP)),
)


def write(instruction: Instruction) -> str | None:
    """Write an instruction; None if it is not one."""
    kind = instruction.instruction_class
    if kind in (_C.ALU, _C.ALU64):
        return _write_arithmetic(instruction)
    if kind in (_C.JMP, _C.JMP32):
        return _write_jump(instruction)
    if instruction.is_wide:
        return f"r{instruction.dst} = {instruction.imm64:#x} ll" if not instruction.src else None
    return _write_memory(instruction)


def _operand(instruction: Instruction, letter: str) -> str:
    return f"{letter}{instruction.src}" if instruction.opcode & 8 else str(instruction.imm)


def _write_arithmetic(instruction: Instruction) -> str | None:
    wide = instruction.instruction_class is _C.ALU64
    letter = "r" if wide else "w"
    dst = f"{letter}{instruction.dst}"
    operation = instruction.opcode >> 4
    if operation == _A.END:
        name = "bswap" if wide else "be" if instruction.opcode & 8 else "le"
        return f"r{instruction.dst} = {name}{instruction.imm} r{instruction.dst}"
    if operation == _A.NEG:
        return f"{dst} = -{dst}"
    if operation == _A.MOV and instruction.offset and instruction.opcode & 8:
        return f"{dst} = (s{instruction.offset}){letter}{instruction.src}"
    sign = next(
        (
            sign
            for (known, offset), sign in _ALU_SIGNS.items()
            if (known, offset) == (operation, instruction.offset)
        ),
        None,
    )
    return None if sign is None else f"{dst} {sign} {_operand(instruction, letter)}"


def _write_jump(instruction: Instruction) -> str | None:
    narrow = instruction.instruction_class is _C.JMP32
    operation = instruction.opcode >> 4
    if operation == _J.JA:
        return f"gotol {instruction.imm:+d}" if narrow else f"goto {instruction.offset:+d}"
    if operation == _J.EXIT:
        return None if narrow else "exit"
    if operation == _J.CALL:
        if narrow or instruction.src > CallKind.LOCAL:
            return None
        return f"call pc{instruction.imm:+d}" if instruction.src else f"call {instruction.imm}"
    sign = next((s for known, s in _JUMP_SIGNS.items() if known == operation), None)
    if sign is None:
        return None
    letter = "w" if narrow else "r"
    operand = _operand(instruction, letter)
    return f"if {letter}{instruction.dst} {sign} {operand} goto {instruction.offset:+d}"


def _place(base: int, offset: int, prefix: str) -> str:
    sign = "-" if offset < 0 else "+"
    return f"({prefix} *)(r{base} {sign} {abs(offset)})"


def _write_memory(instruction: Instruction) -> str | None:
    kind = instruction.instruction_class
    mode = instruction.opcode >> 5
    bits = _BITS[Size(instruction.opcode >> 3 & 3)]
    if kind is _C.LDX and mode in (Mode.MEM, Mode.MEMSX):
        prefix = ("s" if mode == Mode.MEMSX else "u") + bits
        return f"r{instruction.dst} = *{_place(instruction.src, instruction.offset, prefix)}"
    place = _place(instruction.dst, instruction.offset, f"u{bits}")
    if kind is _C.ST and mode == Mode.MEM:
        return f"*{place} = {instruction.imm}"
    if kind is _C.STX and mode == Mode.MEM:
        return f"*{place} = r{instruction.src}"
    if kind is not _C.STX or mode != Mode.ATOMIC or bits not in ("32", "64"):
        return None
    letter = "r" if bits == "64" else "w"
    src = f"{letter}{instruction.src}"
    if instruction.imm in _LOCKED_SIGNS:
        return f"lock *{place} {_LOCKED_SIGNS[instruction.imm]} {src}"
    if instruction.imm in _FETCHING_NAMES:
        name = f"atomic_fetch_{_FETCHING_NAMES[instruction.imm]}"
        return f"{src} = {name}({place}, {src})"
    if instruction.imm == 0xE1:
        return f"{src} = {'xchg_' if bits == '64' else 'xchg32_'}({place}, {src})"
    if instruction.imm == 0xF1:
        name = "cmpxchg_64" if bits == "64" else "cmpxchg32_64"
        return f"{letter}0 = {name}({place}, {letter}0, {src})"
    return None
