"""Which instructions exist: opcodes, and that fields without a meaning are zero.

Source: RFC 9669, which asks that unused fields are zero.
"""

from fanweave.golden.isa.ebpf import (
    FRAME_POINTER,
    REGISTERS,
    AluOperation,
    AtomicOperation,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
    WideKind,
)

__all__ = ["fault_of"]

_C = InstructionClass
_DIVISIONS = (AluOperation.DIV, AluOperation.MOD)
_PLAIN_ATOMICS = (
    AtomicOperation.ADD,
    AtomicOperation.OR,
    AtomicOperation.AND,
    AtomicOperation.XOR,
)
#: Immediates of atomic stores.
_ATOMICS = frozenset(
    {
        *(int(operation) for operation in _PLAIN_ATOMICS),
        *(operation | AtomicOperation.FETCH for operation in _PLAIN_ATOMICS),
        int(AtomicOperation.XCHG),
        int(AtomicOperation.CMPXCHG),
    }
)


def fault_of(instruction: Instruction) -> str | None:
    """What is wrong with an instruction by itself, or None.

    Where it jumps to, which helpers and maps exist and what registers hold is not looked at.

    Returns
    -------
    str or None
        The end of a sentence that begins with the instruction's place.
    """
    kind = instruction.instruction_class
    for name, number in (("dst", instruction.dst), ("src", instruction.src)):
        if number >= REGISTERS:
            return f"{name} names register {number}; the last one is {REGISTERS - 1}"
    if kind in (_C.ALU, _C.ALU64):
        fault = _arithmetic(instruction)
    elif kind in (_C.JMP, _C.JMP32):
        fault = _jump(instruction)
    elif kind is _C.LD:
        fault = _wide(instruction)
    else:
        fault = _memory(instruction)
    if (
        fault is None
        and instruction.dst == FRAME_POINTER
        and kind in (*(_C.ALU, _C.ALU64, _C.LDX, _C.LD),)
    ):
        fault = "it writes r10, which is read-only"
    return fault


def _zero(**fields: int) -> str | None:
    """Complain of the first field that is not zero."""
    for name, value in fields.items():
        if value:
            return f"{name} is {value} and has no meaning here; it must be 0"
    return None


def _opcode(instruction: Instruction) -> str:
    return f"opcode {instruction.opcode:#04x} does not exist"


def _arithmetic(instruction: Instruction) -> str | None:
    try:
        operation = AluOperation(instruction.opcode >> 4)
    except ValueError:
        return _opcode(instruction)
    wide = instruction.instruction_class is _C.ALU64
    from_register = bool(instruction.opcode & 8)
    if operation is AluOperation.END:
        if wide and from_register:
            return _opcode(instruction)
        if instruction.imm not in (16, 32, 64):
            return f"a byte order of {instruction.imm} bits does not exist; 16, 32 or 64 do"
        return _zero(src=instruction.src, offset=instruction.offset)
    if operation is AluOperation.NEG:
        if from_register:
            return _opcode(instruction)
        return _zero(src=instruction.src, offset=instruction.offset, imm=instruction.imm)
    allowed: tuple[int, ...] = (0,)
    if operation in _DIVISIONS:
        allowed = (0, 1)
    elif operation is AluOperation.MOV and from_register:
        allowed = (0, 8, 16, 32) if wide else (0, 8, 16)
    if instruction.offset not in allowed:
        return f"offset is {instruction.offset}; {', '.join(map(str, allowed))} are possible"
    return _zero(imm=instruction.imm) if from_register else _zero(src=instruction.src)


def _jump(instruction: Instruction) -> str | None:
    try:
        operation = JumpOperation(instruction.opcode >> 4)
    except ValueError:
        return _opcode(instruction)
    narrow = instruction.instruction_class is _C.JMP32
    from_register = bool(instruction.opcode & 8)
    without_condition = operation in (JumpOperation.JA, JumpOperation.CALL, JumpOperation.EXIT)
    if without_condition and (from_register or (narrow and operation is not JumpOperation.JA)):
        return _opcode(instruction)
    if operation is JumpOperation.JA:
        other = {"offset": instruction.offset} if narrow else {"imm": instruction.imm}
        return _zero(dst=instruction.dst, src=instruction.src, **other)
    if operation is JumpOperation.EXIT:
        return _zero(
            dst=instruction.dst,
            src=instruction.src,
            offset=instruction.offset,
            imm=instruction.imm,
        )
    if operation is JumpOperation.CALL:
        if instruction.src not in list(CallKind):
            return f"calls of kind {instruction.src} do not exist"
        return _zero(dst=instruction.dst, offset=instruction.offset)
    return _zero(imm=instruction.imm) if from_register else _zero(src=instruction.src)


def _wide(instruction: Instruction) -> str | None:
    if not instruction.is_wide:
        return _opcode(instruction)
    if instruction.src not in list(WideKind):
        return f"64-bit immediate loads of kind {instruction.src} do not exist"
    # The kinds that name a map's value keep a place in it there.
    with_high = (WideKind.IMMEDIATE, WideKind.MAP_VALUE, WideKind.MAP_INDEX_VALUE)
    if instruction.high and instruction.src not in with_high:
        return f"the second slot's imm is {instruction.high} and has no meaning; it must be 0"
    return _zero(offset=instruction.offset)


def _memory(instruction: Instruction) -> str | None:
    kind = instruction.instruction_class
    mode = instruction.opcode >> 5
    size = Size(instruction.opcode >> 3 & 3)
    if kind is _C.STX and mode == Mode.ATOMIC:
        if size not in (Size.W, Size.DW):
            return f"atomic operations on {size.bytes} bytes do not exist; on 4 and 8 they do"
        if instruction.imm not in _ATOMICS:
            return f"atomic operation {instruction.imm:#x} does not exist"
        writes_src = instruction.imm & AtomicOperation.FETCH and (
            instruction.imm != AtomicOperation.CMPXCHG
        )
        if writes_src and instruction.src == FRAME_POINTER:
            return "it writes r10, which is read-only"
        return None
    extends = kind is _C.LDX and mode == Mode.MEMSX and size is not Size.DW
    if mode != Mode.MEM and not extends:
        return _opcode(instruction)
    return _zero(src=instruction.src) if kind is _C.ST else _zero(imm=instruction.imm)
