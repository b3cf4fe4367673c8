"""Control and status registers and traps of the cluster's cores.

Source: The RISC-V Instruction Set Manual, Volume II, version 20240411; vector and floating-point
CSRs: Volume I, version 20240411.
"""

import enum

from fanweave.golden.isa.registers import Field, Register
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_CSRS

__all__ = ["CSRS", "CSR_BY_NAME", "MISA", "Cause", "Flag", "RoundingMode", "Status"]


class Cause(enum.IntEnum):
    """Exceptions, the codes of ``mcause``."""

    FETCH_MISALIGNED = 0
    FETCH_FAULT = 1
    ILLEGAL_INSTRUCTION = 2
    BREAKPOINT = 3
    LOAD_MISALIGNED = 4
    LOAD_FAULT = 5
    STORE_MISALIGNED = 6
    STORE_FAULT = 7
    ECALL = 11


class RoundingMode(enum.IntEnum):
    """Floating-point rounding, the codes of ``frm`` and of an instruction's ``rm`` field."""

    RNE = 0
    RTZ = 1
    RDN = 2
    RUP = 3
    RMM = 4
    DYN = 7


class Flag(enum.IntFlag):
    """Floating-point exceptions, the bits of ``fflags``."""

    NX = 1
    UF = 2
    OF = 4
    DZ = 8
    NV = 16


class Status(enum.IntEnum):
    """State of the floating-point and vector registers in ``mstatus``."""

    OFF = 0
    INITIAL = 1
    CLEAN = 2
    DIRTY = 3


#: RV32 with A, F, I, M and V.
MISA = 1 << 30 | sum(1 << ord(letter) - ord("A") for letter in "AFIMV")

_FLOAT = (
    Register("fflags", 0x001, "rw", "Accrued floating-point exceptions.", (
        Field("flags", 0, 5, "NV, DZ, OF, UF, NX from high to low."),
    )),
    Register("frm", 0x002, "rw", "Dynamic rounding mode.", (
        Field("mode", 0, 3, "Rounding mode."),
    )),
    Register("fcsr", 0x003, "rw", "Both.", (
        Field("flags", 0, 5, "As fflags."),
        Field("mode", 5, 3, "As frm."),
    )),
)  # fmt: skip
_VECTOR = (
    Register("vstart", 0x008, "rw", "First element that a vector instruction works on.", (
        Field("element", 0, 9, "Set by a trap; every vector instruction sets it to zero."),
    )),
    Register("vxsat", 0x009, "rw", "Fixed-point saturation.", (
        Field("saturated", 0, 1, "Sticky."),
    )),
    Register("vxrm", 0x00A, "rw", "Fixed-point rounding mode.", (
        Field("mode", 0, 2, "0 nearest up, 1 nearest even, 2 down, 3 to odd."),
    )),
    Register("vcsr", 0x00F, "rw", "Both.", (
        Field("saturated", 0, 1, "As vxsat."),
        Field("mode", 1, 2, "As vxrm."),
    )),
    Register("vl", 0xC20, "ro", "Elements that a vector instruction works on.", (
        Field("elements", 0, 32, "Set by vsetvl."),
    )),
    Register("vtype", 0xC21, "ro", "How vector registers are read.", (
        Field("lmul", 0, 3, "Registers a group: 1, 2, 4, 8 for 0 to 3; 1/8, 1/4, 1/2 for 5 to 7."),
        Field("sew", 3, 3, "Bits of an element: 8, 16, 32, 64 for 0 to 3."),
        Field("vta", 6, 1, "Elements behind vl are agnostic."),
        Field("vma", 7, 1, "Elements that are masked off are agnostic."),
        Field("vill", 31, 1, "The last vsetvl asked for what there is not."),
    )),
    Register("vlenb", 0xC22, "ro", "Bytes of a vector register.", (
        Field("bytes", 0, 32, "VLEN / 8."),
    )),
)  # fmt: skip
_MACHINE = (
    Register("mstatus", 0x300, "rw", "State of the hart.", (
        Field("mie", 3, 1, "Interrupts are enabled."),
        Field("mpie", 7, 1, "What mie was before a trap."),
        Field("vs", 9, 2, "Vector state: 0 off (vector instructions trap), 3 dirty."),
        Field("mpp", 11, 2, "Mode before a trap; always 3, machine mode."),
        Field("fs", 13, 2, "Floating-point state: 0 off, 3 dirty."),
        Field("sd", 31, 1, "fs or vs is dirty."),
    )),
    Register("misa", 0x301, "ro", "Extensions; writes are ignored.", (
        Field("value", 0, 32, "RV32AFIMV."),
    )),
    Register("mie", 0x304, "rw", "Interrupt enables.", (Field("bits", 0, 32, "None is wired."),)),
    Register("mtvec", 0x305, "rw", "Where traps go.", (
        Field("mode", 0, 2, "0: all to base."),
        Field("base", 2, 30, "Address / 4."),
    )),
    Register("mstatush", 0x310, "ro", "Zero.", ()),
    Register("mscratch", 0x340, "rw", "For the trap handler.", (Field("value", 0, 32, "Any."),)),
    Register("mepc", 0x341, "rw", "Address of the instruction that trapped.", (
        Field("address", 0, 32, "A multiple of 4."),
    )),
    Register("mcause", 0x342, "rw", "Why it trapped.", (Field("code", 0, 32, "Cause."),)),
    Register("mtval", 0x343, "rw", "The faulting address or the illegal instruction.", (
        Field("value", 0, 32, "Depends on mcause."),
    )),
    Register("mip", 0x344, "ro", "Pending interrupts; none.", ()),
    Register("mcycle", 0xB00, "rw", "Cycles, low half.", (Field("count", 0, 32, "Low half."),)),
    Register("minstret", 0xB02, "rw", "Instructions, low half.", (
        Field("count", 0, 32, "Low half."),
    )),
    Register("mcycleh", 0xB80, "rw", "Cycles, high half.", (Field("count", 0, 32, "High half."),)),
    Register("minstreth", 0xB82, "rw", "Instructions, high half.", (
        Field("count", 0, 32, "High half."),
    )),
    Register("cycle", 0xC00, "ro", "As mcycle.", (Field("count", 0, 32, "Low half."),)),
    Register("instret", 0xC02, "ro", "As minstret.", (Field("count", 0, 32, "Low half."),)),
    Register("cycleh", 0xC80, "ro", "As mcycleh.", (Field("count", 0, 32, "High half."),)),
    Register("instreth", 0xC82, "ro", "As minstreth.", (Field("count", 0, 32, "High half."),)),
    Register("mvendorid", 0xF11, "ro", "Zero.", ()),
    Register("marchid", 0xF12, "ro", "Zero.", ()),
    Register("mimpid", 0xF13, "ro", "Zero.", ()),
    Register("mhartid", 0xF14, "ro", "Number of the hart.", (Field("hart", 0, 32, "From 0."),)),
)  # fmt: skip

#: All of them, by number. ``address`` is the CSR number; ``access`` is what the field says: CSRs
#: from 0xC00 on trap when written, the others ignore it.
CSRS: tuple[Register, ...] = tuple(
    sorted((*_FLOAT, *_VECTOR, *_MACHINE, *VENTAGLIO_CSRS), key=lambda entry: entry.address)
)

CSR_BY_NAME: dict[str, Register] = {entry.name: entry for entry in CSRS}
