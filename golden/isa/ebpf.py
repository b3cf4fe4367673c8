"""The eBPF instruction set: fields, opcodes, and what each instruction needs.

Source: RFC 9669, *BPF Instruction Set Architecture (ISA)*.
"""

import enum
import struct
from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = [
    "BINARY_OPERATIONS",
    "FRAME_POINTER",
    "INSTRUCTION_BYTES",
    "REGISTERS",
    "AluOperation",
    "AtomicOperation",
    "CallKind",
    "Instruction",
    "InstructionClass",
    "JumpOperation",
    "Mode",
    "Size",
    "WideKind",
    "decode_program",
    "encode_program",
]

#: r0 to r10.
REGISTERS = 11
#: r10, which programs read and never write.
FRAME_POINTER = 10
INSTRUCTION_BYTES = 8


class InstructionClass(enum.IntEnum):
    """Low three bits of an opcode."""

    LD = 0
    LDX = 1
    ST = 2
    STX = 3
    ALU = 4
    JMP = 5
    JMP32 = 6
    ALU64 = 7


class Mode(enum.IntEnum):
    """Bits 7 to 5 of the opcode of a load or a store."""

    IMM = 0
    ABS = 1
    IND = 2
    MEM = 3
    MEMSX = 4
    ATOMIC = 6


class Size(enum.IntEnum):
    """Bits 4 and 3 of the opcode of a load or a store."""

    W = 0
    H = 1
    B = 2
    DW = 3

    @property
    def bytes(self) -> int:
        """Bytes that are moved."""
        return (4, 2, 1, 8)[self]


class AluOperation(enum.IntEnum):
    """Bits 7 to 4 of an arithmetic opcode."""

    ADD = 0x0
    SUB = 0x1
    MUL = 0x2
    DIV = 0x3  # SDIV with offset 1
    OR = 0x4
    AND = 0x5
    LSH = 0x6
    RSH = 0x7
    NEG = 0x8
    MOD = 0x9  # SMOD with offset 1
    XOR = 0xA
    MOV = 0xB  # MOVSX with offset 8, 16 or 32
    ARSH = 0xC
    END = 0xD


#: Operations that combine dst with an immediate or src, without a meaning of the offset.
BINARY_OPERATIONS = frozenset(
    {
        AluOperation.ADD,
        AluOperation.SUB,
        AluOperation.MUL,
        AluOperation.OR,
        AluOperation.AND,
        AluOperation.LSH,
        AluOperation.RSH,
        AluOperation.XOR,
        AluOperation.ARSH,
    }
)


class JumpOperation(enum.IntEnum):
    """Bits 7 to 4 of a jump opcode."""

    JA = 0x0
    JEQ = 0x1
    JGT = 0x2
    JGE = 0x3
    JSET = 0x4
    JNE = 0x5
    JSGT = 0x6
    JSGE = 0x7
    CALL = 0x8
    EXIT = 0x9
    JLT = 0xA
    JLE = 0xB
    JSLT = 0xC
    JSLE = 0xD


class AtomicOperation(enum.IntEnum):
    """Immediate of an atomic store; `FETCH` is a flag of the first four, always set in others."""

    ADD = 0x00
    OR = 0x40
    AND = 0x50
    XOR = 0xA0
    FETCH = 0x01
    XCHG = 0xE1
    CMPXCHG = 0xF1


class CallKind(enum.IntEnum):
    """Source register of a call."""

    HELPER = 0
    LOCAL = 1
    BTF = 2


class WideKind(enum.IntEnum):
    """Source register of a 64-bit immediate load."""

    IMMEDIATE = 0
    MAP_FD = 1
    MAP_VALUE = 2
    VARIABLE = 3
    CODE = 4
    MAP_INDEX = 5
    MAP_INDEX_VALUE = 6


_FORMAT = struct.Struct("<BBhi")
_WIDE = InstructionClass.LD | Mode.IMM << 5 | Size.DW << 3


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; a 64-bit immediate load is one, in two slots.

    Attributes
    ----------
    opcode : int
        8 bits.
    dst, src : int
        Registers, or what the opcode makes of their fields.
    offset : int
        Signed, 16 bits.
    imm : int
        Signed, 32 bits; for a 64-bit immediate load the low half.
    high : int
        Signed, 32 bits; high half of a 64-bit immediate load, 0 in all others.
    """

    opcode: int
    dst: int = 0
    src: int = 0
    offset: int = 0
    imm: int = 0
    high: int = 0

    @property
    def instruction_class(self) -> InstructionClass:
        """Class of the opcode."""
        return InstructionClass(self.opcode & 7)

    @property
    def is_wide(self) -> bool:
        """Whether it takes two slots."""
        return self.opcode == _WIDE

    @property
    def slots(self) -> int:
        """Slots of 8 bytes."""
        return 2 if self.is_wide else 1

    @property
    def imm64(self) -> int:
        """Both halves of the immediate; unsigned, 64 bits."""
        return self.imm & 0xFFFFFFFF | (self.high & 0xFFFFFFFF) << 32

    def encode(self) -> bytes:
        """The 8 or 16 bytes.

        Raises
        ------
        InputError
            If a field does not fit.
        """
        for name, register in (("dst", self.dst), ("src", self.src)):
            if not 0 <= register <= 15:
                raise InputError(f"{self} does not fit in its fields: {name} has 4 bits")
        try:
            first = _FORMAT.pack(self.opcode, self.dst | self.src << 4, self.offset, self.imm)
            return first + (_FORMAT.pack(0, 0, 0, self.high) if self.is_wide else b"")
        except struct.error as error:
            raise InputError(f"{self} does not fit in its fields: {error}") from None


def encode_program(instructions: "list[Instruction] | tuple[Instruction, ...]") -> bytes:
    """Encode instructions one after the other."""
    return b"".join(instruction.encode() for instruction in instructions)


def decode_program(code: bytes) -> list[Instruction]:
    """Split a program into instructions.

    Only what is needed to split it is checked; whether an instruction is legal is the loader's
    question.

    Raises
    ------
    InputError
        If the length is no multiple of 8, or a 64-bit immediate load has no proper second slot.
    """
    if len(code) % INSTRUCTION_BYTES:
        raise InputError(
            f"the program has {len(code)} bytes; it must be a multiple of {INSTRUCTION_BYTES}"
        )
    instructions = []
    at = 0
    while at < len(code):
        opcode, registers, offset, imm = _FORMAT.unpack_from(code, at)
        high = 0
        if opcode == _WIDE:
            slot = at // INSTRUCTION_BYTES
            if at + 2 * INSTRUCTION_BYTES > len(code):
                raise InputError(f"instruction {slot}: a 64-bit immediate load without its end")
            at += INSTRUCTION_BYTES
            second, fields, zero, high = _FORMAT.unpack_from(code, at)
            if second or fields or zero:
                raise InputError(
                    f"instruction {slot}: the second slot of a 64-bit immediate load holds "
                    "more than an immediate"
                )
        instructions.append(Instruction(opcode, registers & 0xF, registers >> 4, offset, imm, high))
        at += INSTRUCTION_BYTES
    return instructions
