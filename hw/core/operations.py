"""What each scalar instruction asks of which unit; the rest follows from the tables' fields."""

import enum

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind

__all__ = [
    "AluOperation",
    "AtomicOperation",
    "Condition",
    "CsrOperation",
    "DivideOperation",
    "FloatOperation",
    "MultiplyOperation",
    "SystemOperation",
    "Unit",
    "asks",
    "is_integer_result",
]


class Unit(enum.IntEnum):
    """Who executes an instruction."""

    ALU = 0
    BRANCH = 1
    JUMP = 2  # its target is the sum that an ALU would give
    LOAD = 3
    STORE = 4
    ATOMIC = 5
    MULTIPLY = 6
    DIVIDE = 7
    CSR = 8
    SYSTEM = 9
    FLOAT = 10  # a pipeline; the result comes later
    COMPARE = 11  # floating-point operands, an integer result at once
    OFFLOAD = 12


class AluOperation(enum.IntEnum):
    """Results of the ALU."""

    ADD = 0
    SUB = 1
    SLT = 2
    SLTU = 3
    XOR = 4
    OR = 5
    AND = 6
    SLL = 7
    SRL = 8
    SRA = 9


class Condition(enum.IntEnum):
    """When a branch is taken."""

    BEQ = 0
    BNE = 1
    BLT = 2
    BGE = 3
    BLTU = 4
    BGEU = 5


class MultiplyOperation(enum.IntEnum):
    """Products."""

    MUL = 0
    MULH = 1
    MULHSU = 2
    MULHU = 3


class DivideOperation(enum.IntEnum):
    """Quotients and rests; bit 0 is set for unsigned ones, bit 1 for rests."""

    DIV = 0
    DIVU = 1
    REM = 2
    REMU = 3


class AtomicOperation(enum.IntEnum):
    """What becomes of a word in memory."""

    AMOSWAP = 0
    AMOADD = 1
    AMOXOR = 2
    AMOAND = 3
    AMOOR = 4
    AMOMIN = 5
    AMOMAX = 6
    AMOMINU = 7
    AMOMAXU = 8
    LR = 9
    SC = 10


class CsrOperation(enum.IntEnum):
    """How a CSR changes."""

    CSRRW = 0
    CSRRS = 1
    CSRRC = 2


class SystemOperation(enum.IntEnum):
    """What changes the way through a program, or waits."""

    FENCE = 0
    FENCE_I = 1
    ECALL = 2
    EBREAK = 3
    MRET = 4
    WFI = 5


class FloatOperation(enum.IntEnum):
    """Floating-point instructions, by their result: a number to round, a number as it is, or an
    integer."""

    FADD_S = 0
    FSUB_S = 1
    FMUL_S = 2
    FMADD_S = 3
    FMSUB_S = 4
    FNMSUB_S = 5
    FNMADD_S = 6
    FCVT_S_W = 7
    FCVT_S_WU = 8
    FCVT_S_H = 9
    FCVT_H_S = 10
    FDIV_S = 11
    FSQRT_S = 12
    FSGNJ_S = 13
    FSGNJN_S = 14
    FSGNJX_S = 15
    FMIN_S = 16
    FMAX_S = 17
    FMV_W_X = 18
    FMV_H_X = 19
    FEQ_S = 20
    FLT_S = 21
    FLE_S = 22
    FCLASS_S = 23
    FCVT_W_S = 24
    FCVT_WU_S = 25
    FMV_X_W = 26
    FMV_X_H = 27


def is_integer_result(operation: FloatOperation) -> bool:
    """Whether a floating-point instruction writes an integer register."""
    return operation >= FloatOperation.FEQ_S


#: Encodings that the core refuses though the tables know them: FP64 has no register, and the old
#: forms of Ventaglio's products do not say where the indices are.
_REFUSED = frozenset({"p.fld.rrpost", "vfxmacc.vf", "vfxmul.vf"})


def asks(row: InstructionKind) -> tuple[Unit, int] | None:
    """Unit of an instruction, and what it has to do there; None if the core refuses it."""
    name = row.name
    if name in _REFUSED:
        return None
    simple = name.upper().removesuffix(".W").replace(".", "_")
    if row.extension in (Extension.I, Extension.ZIFENCEI):
        return _integer(simple, row)
    if row.extension is Extension.M:
        if simple in MultiplyOperation.__members__:
            return Unit.MULTIPLY, MultiplyOperation[simple]
        return Unit.DIVIDE, DivideOperation[simple]
    if row.extension is Extension.A:
        return Unit.ATOMIC, AtomicOperation[simple]
    if row.extension is Extension.ZICSR:
        return Unit.CSR, CsrOperation[simple.removesuffix("I")]
    if row.extension in (Extension.F, Extension.ZFHMIN):
        return _floating(name)
    if row.extension is Extension.POST_INCREMENT and row.memory is None:
        return Unit.LOAD, "bhw".index(name[4])
    return Unit.OFFLOAD, 0


def _integer(simple: str, row: InstructionKind) -> tuple[Unit, int]:
    if simple in ("LUI", "AUIPC"):
        return Unit.ALU, AluOperation.ADD
    if simple in ("JAL", "JALR"):
        return Unit.JUMP, AluOperation.ADD
    if simple in Condition.__members__:
        return Unit.BRANCH, Condition[simple]
    if simple in SystemOperation.__members__:
        return Unit.SYSTEM, SystemOperation[simple]
    if row.name in _SIZES:
        return (Unit.STORE if row.name.startswith("s") else Unit.LOAD), _SIZES[row.name]
    base = simple if simple in AluOperation.__members__ else simple.replace("I", "", 1)
    return Unit.ALU, AluOperation[_IMMEDIATE.get(simple, base)]


#: Logarithm of the bytes; bit 2 is set where a load does not extend the sign.
_SIZES = {
    "lb": 0,
    "lh": 1,
    "lw": 2,
    "lbu": 4,
    "lhu": 5,
    "sb": 0,
    "sh": 1,
    "sw": 2,
}
_IMMEDIATE = {"SLTI": "SLT", "SLTIU": "SLTU"}


def _floating(name: str) -> tuple[Unit, int]:
    if name in ("flw", "flh"):
        return Unit.LOAD, 2 if name == "flw" else 1
    if name in ("fsw", "fsh"):
        return Unit.STORE, 2 if name == "fsw" else 1
    operation = FloatOperation[name.upper().replace(".", "_")]
    return (Unit.COMPARE if is_integer_result(operation) else Unit.FLOAT), operation
