"""Every instruction of eBPF as a row of a table: name, encoding, operands, group and version.

Source: RFC 9669, chapters 4 and 5 and its appendix; versions are those of LLVM's ``-mcpu``.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from fanweave.golden.isa.ebpf import (
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

__all__ = [
    "INSTRUCTIONS",
    "SOURCE_REGISTER",
    "Field",
    "Group",
    "InstructionKind",
    "Operand",
    "kind_of",
]

#: Bit of an opcode: the second operand of arithmetic or a condition is a register.
SOURCE_REGISTER = 0x08


class Group(enum.Enum):
    """Conformance groups of RFC 9669; the historical packet access is not one of them."""

    BASE32 = "base32"
    BASE64 = "base64"
    DIVMUL32 = "divmul32"
    DIVMUL64 = "divmul64"
    ATOMIC32 = "atomic32"
    ATOMIC64 = "atomic64"


class Field(enum.Enum):
    """Fields of an encoding beside its opcode."""

    DST = "dst"
    SRC = "src"
    OFFSET = "offset"
    IMM = "imm"
    HIGH = "high"


class Operand(enum.Enum):
    """What an instruction names, in the order in which an assembler writes it."""

    DST = "dst"  # register
    SRC = "src"  # register
    IMM = "imm"  # number of 32 bits, extended by its sign
    IMM64 = "imm64"  # number of 64 bits in two slots
    LOAD = "load"  # memory at src + offset
    STORE = "store"  # memory at dst + offset
    TARGET = "target"  # slots from the next one, in the offset
    LONG_TARGET = "long target"  # the same in the immediate
    HELPER = "helper"  # number of a helper, in the immediate
    BTF = "btf"  # number of a kernel function, in the immediate
    MAP = "map"  # number of a map, in the immediate
    MAP_OFFSET = "map offset"  # place in a map's value, in the high half of the immediate
    VARIABLE = "variable"  # number of a variable of the platform, in the immediate
    CODE = "code"  # slots to an instruction, in the immediate


#: The fields that an operand takes.
_FIELDS = {
    Operand.DST: {Field.DST},
    Operand.SRC: {Field.SRC},
    Operand.IMM: {Field.IMM},
    Operand.IMM64: {Field.IMM, Field.HIGH},
    Operand.LOAD: {Field.SRC, Field.OFFSET},
    Operand.STORE: {Field.DST, Field.OFFSET},
    Operand.TARGET: {Field.OFFSET},
    Operand.LONG_TARGET: {Field.IMM},
    Operand.HELPER: {Field.IMM},
    Operand.BTF: {Field.IMM},
    Operand.MAP: {Field.IMM},
    Operand.MAP_OFFSET: {Field.HIGH},
    Operand.VARIABLE: {Field.IMM},
    Operand.CODE: {Field.IMM},
}


@dataclass(frozen=True, kw_only=True)
class InstructionKind:
    """One row.

    Attributes
    ----------
    name : str
        Mnemonic; an operation of 32 bits ends in 32. Rows whose operands differ share it.
    opcode : int
        8 bits.
    operands : tuple of Operand
        What is named.
    group : Group
        Conformance group.
    version : int
        First version of the instruction set that has it, 1 to 4.
    src, offset, imm : int
        Value of the field where no operand takes it.
    reads, writes : frozenset of Field or int
        Registers: by the field that names them, or by their number.
    """

    name: str
    opcode: int
    operands: tuple[Operand, ...]
    group: Group
    version: int = 1
    src: int = 0
    offset: int = 0
    imm: int = 0
    reads: frozenset[Field | int] = frozenset()
    writes: frozenset[Field | int] = frozenset()

    @property
    def fields(self) -> frozenset[Field]:
        """Fields that operands take; the others hold what the row says."""
        return frozenset().union(*(_FIELDS[operand] for operand in self.operands))

    @property
    def slots(self) -> int:
        """Slots of 8 bytes."""
        return Instruction(self.opcode).slots

    def matches(self, instruction: Instruction) -> bool:
        """Whether an instruction is one of this row, its unused fields as they must be."""
        free = self.fields
        return (
            instruction.opcode == self.opcode
            and (Field.DST in free or instruction.dst == 0)
            and (Field.SRC in free or instruction.src == self.src)
            and (Field.OFFSET in free or instruction.offset == self.offset)
            and (Field.IMM in free or instruction.imm == self.imm)
            and (Field.HIGH in free or instruction.high == 0)
        )


_C = InstructionClass
_O = Operand
_DST, _SRC = Field.DST, Field.SRC
_ARGUMENTS = frozenset({1, 2, 3, 4, 5})


def _second(source: int) -> tuple[Operand, frozenset[Field | int]]:
    """Second operand, and the register it reads."""
    return (_O.SRC, frozenset({_SRC})) if source else (_O.IMM, frozenset())


def _arithmetic() -> Iterator[InstructionKind]:
    for kind, suffix in ((_C.ALU64, ""), (_C.ALU, "32")):
        for operation in AluOperation:
            if operation in (AluOperation.NEG, AluOperation.END):
                continue
            for source in (0, SOURCE_REGISTER):
                opcode = operation << 4 | source | kind
                yield _binary(f"{operation.name.lower()}{suffix}", opcode)
                if operation in (AluOperation.DIV, AluOperation.MOD):
                    yield _binary(f"s{operation.name.lower()}{suffix}", opcode, offset=1)
        yield InstructionKind(
            name=f"neg{suffix}",
            opcode=AluOperation.NEG << 4 | kind,
            operands=(_O.DST,),
            group=Group.BASE32 if suffix else Group.BASE64,
            reads=frozenset({_DST}),
            writes=frozenset({_DST}),
        )


def _binary(name: str, opcode: int, offset: int = 0) -> InstructionKind:
    """Arithmetic on two operands; offset 1 is signed division and modulo."""
    operation = AluOperation(opcode >> 4)
    divmul = operation in (AluOperation.MUL, AluOperation.DIV, AluOperation.MOD)
    width = 64 if opcode & 7 == _C.ALU64 else 32
    operand, read = _second(opcode & SOURCE_REGISTER)
    return InstructionKind(
        name=name,
        opcode=opcode,
        operands=(_O.DST, operand),
        group=Group(f"divmul{width}" if divmul else f"base{width}"),
        version=4 if offset else 1,
        offset=offset,
        reads=read if operation is AluOperation.MOV else read | {_DST},
        writes=frozenset({_DST}),
    )


def _extending_moves() -> Iterator[InstructionKind]:
    for kind, width, sources in ((_C.ALU, 32, (8, 16)), (_C.ALU64, 64, (8, 16, 32))):
        for bits in sources:
            yield InstructionKind(
                name=f"movsx{bits}{width}",
                opcode=AluOperation.MOV << 4 | SOURCE_REGISTER | kind,
                operands=(_O.DST, _O.SRC),
                group=Group(f"base{width}"),
                version=4,
                offset=bits,
                reads=frozenset({_SRC}),
                writes=frozenset({_DST}),
            )


def _byte_orders() -> Iterator[InstructionKind]:
    forms = (
        ("le", _C.ALU, 0, 1),
        ("be", _C.ALU, SOURCE_REGISTER, 1),
        ("bswap", _C.ALU64, 0, 4),
    )
    for name, kind, source, version in forms:
        for bits in (16, 32, 64):
            yield InstructionKind(
                name=f"{name}{bits}",
                opcode=AluOperation.END << 4 | source | kind,
                operands=(_O.DST,),
                group=Group.BASE64 if bits == 64 else Group.BASE32,
                version=version,
                imm=bits,
                reads=frozenset({_DST}),
                writes=frozenset({_DST}),
            )


def _conditions() -> Iterator[InstructionKind]:
    since_2 = {JumpOperation.JLT, JumpOperation.JLE, JumpOperation.JSLT, JumpOperation.JSLE}
    others = (JumpOperation.JA, JumpOperation.CALL, JumpOperation.EXIT)
    for kind, suffix in ((_C.JMP, ""), (_C.JMP32, "32")):
        for operation in JumpOperation:
            if operation in others:
                continue
            for source in (0, SOURCE_REGISTER):
                operand, read = _second(source)
                yield InstructionKind(
                    name=f"{operation.name.lower()}{suffix}",
                    opcode=operation << 4 | source | kind,
                    operands=(_O.DST, operand, _O.TARGET),
                    group=Group.BASE32 if suffix else Group.BASE64,
                    version=3 if suffix else 2 if operation in since_2 else 1,
                    reads=read | {_DST},
                )


def _control() -> Iterator[InstructionKind]:
    jump = JumpOperation.JA << 4
    yield InstructionKind(
        name="ja", opcode=jump | _C.JMP, operands=(_O.TARGET,), group=Group.BASE32
    )
    yield InstructionKind(
        name="ja32",
        opcode=jump | _C.JMP32,
        operands=(_O.LONG_TARGET,),
        group=Group.BASE32,
        version=4,
    )
    calls = (
        ("call", CallKind.HELPER, _O.HELPER),
        ("call local", CallKind.LOCAL, _O.LONG_TARGET),
        ("call btf", CallKind.BTF, _O.BTF),
    )
    for name, source, operand in calls:
        yield InstructionKind(
            name=name,
            opcode=JumpOperation.CALL << 4 | _C.JMP,
            operands=(operand,),
            group=Group.BASE32,
            src=source,
            reads=_ARGUMENTS,
            writes=frozenset() if source is CallKind.LOCAL else frozenset({0}),
        )
    # The text leaves exit to base64, but without it no program of base32 could end.
    yield InstructionKind(
        name="exit",
        opcode=JumpOperation.EXIT << 4 | _C.JMP,
        operands=(),
        group=Group.BASE32,
        reads=frozenset({0}),
    )


def _wide_loads() -> Iterator[InstructionKind]:
    operands = {
        WideKind.IMMEDIATE: (_O.IMM64,),
        WideKind.MAP_FD: (_O.MAP,),
        WideKind.MAP_VALUE: (_O.MAP, _O.MAP_OFFSET),
        WideKind.VARIABLE: (_O.VARIABLE,),
        WideKind.CODE: (_O.CODE,),
        WideKind.MAP_INDEX: (_O.MAP,),
        WideKind.MAP_INDEX_VALUE: (_O.MAP, _O.MAP_OFFSET),
    }
    for kind, named in operands.items():
        name = "lddw" if kind is WideKind.IMMEDIATE else f"lddw {kind.name.lower()}"
        yield InstructionKind(
            name=name.replace("_", " "),
            opcode=_C.LD | Mode.IMM << 5 | Size.DW << 3,
            operands=(_O.DST, *named),
            group=Group.BASE64,
            src=kind,
            writes=frozenset({_DST}),
        )


def _memory() -> Iterator[InstructionKind]:
    for size in Size:
        letters = size.name.lower()
        group = Group.BASE64 if size is Size.DW else Group.BASE32
        yield InstructionKind(
            name=f"ldx{letters}",
            opcode=_C.LDX | Mode.MEM << 5 | size << 3,
            operands=(_O.DST, _O.LOAD),
            group=group,
            reads=frozenset({_SRC}),
            writes=frozenset({_DST}),
        )
        if size is not Size.DW:
            yield InstructionKind(
                name=f"ldxs{letters}",
                opcode=_C.LDX | Mode.MEMSX << 5 | size << 3,
                operands=(_O.DST, _O.LOAD),
                group=group,
                version=4,
                reads=frozenset({_SRC}),
                writes=frozenset({_DST}),
            )
        yield InstructionKind(
            name=f"st{letters}",
            opcode=_C.ST | Mode.MEM << 5 | size << 3,
            operands=(_O.STORE, _O.IMM),
            group=group,
            reads=frozenset({_DST}),
        )
        yield InstructionKind(
            name=f"stx{letters}",
            opcode=_C.STX | Mode.MEM << 5 | size << 3,
            operands=(_O.STORE, _O.SRC),
            group=group,
            reads=frozenset({_DST, _SRC}),
        )


def _atomics() -> Iterator[InstructionKind]:
    plain = (
        AtomicOperation.ADD,
        AtomicOperation.OR,
        AtomicOperation.AND,
        AtomicOperation.XOR,
    )
    forms: list[tuple[str, int]] = []
    for operation in plain:
        name = operation.name.lower()
        forms += [(name, operation), (f"fetch_{name}", operation | AtomicOperation.FETCH)]
    forms += [("xchg", AtomicOperation.XCHG), ("cmpxchg", AtomicOperation.CMPXCHG)]
    for size, suffix in ((Size.DW, ""), (Size.W, "32")):
        for name, imm in forms:
            compares = imm == AtomicOperation.CMPXCHG
            written: frozenset[Field | int] = frozenset({0} if compares else {_SRC})
            yield InstructionKind(
                name=f"lock {name}{suffix}",
                opcode=_C.STX | Mode.ATOMIC << 5 | size << 3,
                operands=(_O.STORE, _O.SRC),
                group=Group.ATOMIC32 if suffix else Group.ATOMIC64,
                version=1 if imm == AtomicOperation.ADD else 3,
                imm=imm,
                reads=frozenset({_DST, _SRC, 0} if compares else {_DST, _SRC}),
                writes=written if imm & AtomicOperation.FETCH else frozenset(),
            )


#: All instructions, by what they are.
INSTRUCTIONS: tuple[InstructionKind, ...] = (
    *_arithmetic(),
    *_extending_moves(),
    *_byte_orders(),
    *_conditions(),
    *_control(),
    *_wide_loads(),
    *_memory(),
    *_atomics(),
)

_BY_OPCODE: dict[int, tuple[InstructionKind, ...]] = {
    opcode: tuple(row for row in INSTRUCTIONS if row.opcode == opcode)
    for opcode in sorted({row.opcode for row in INSTRUCTIONS})
}


def kind_of(instruction: Instruction) -> InstructionKind | None:
    """The row of an instruction; None if it is none of the standard.

    Registers behind r10 and writes of r10 are not looked at.
    """
    rows = _BY_OPCODE.get(instruction.opcode, ())
    return next((row for row in rows if row.matches(instruction)), None)
