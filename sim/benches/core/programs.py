"""Programs of scalar instructions, word by word."""

from dataclasses import dataclass

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.riscv import INSTRUCTION_BY_NAME
from fanweave.golden.isa.riscv_csr import CSR_BY_NAME

__all__ = ["DATA_BASE", "ScalarProgram", "assemble", "csr_access", "load_constant"]

#: Where programs load and store.
DATA_BASE = next(r.base for r in REGIONS if r.name is RegionName.L1) + 0x8000


@dataclass(frozen=True, kw_only=True)
class ScalarProgram:
    """A program in memory.

    Attributes
    ----------
    words : tuple of int
        From the address where cores start.
    data : bytes
        From `DATA_BASE`.
    end : int
        Address of an endless loop that it ends in.
    """

    words: tuple[int, ...]
    data: bytes
    end: int


def assemble(name: str, **fields: int) -> int:
    """An instruction; fields that are not given are zero, ``rm`` is dynamic."""
    kind = INSTRUCTION_BY_NAME[name]
    defaults = {"rm": 7, "vm": 1}
    return kind.encode(**{key: fields.get(key, defaults.get(key, 0)) for key in kind.fields})


def load_constant(register: int, value: int) -> list[int]:
    """Two instructions that put a number of 32 bits into a register."""
    low = (value & 0xFFF ^ 0x800) - 0x800
    high = value - low & 0xFFFFFFFF
    high = (high ^ 1 << 31) - (1 << 31)
    words = [assemble("lui", rd=register, imm=high)]
    return [*words, assemble("addi", rd=register, rs1=register, imm=low)]


def csr_access(name: str, csr: str, rd: int, rs1: int) -> int:
    """An instruction on a CSR, by its name."""
    return assemble(name, csr=CSR_BY_NAME[csr].address, rd=rd, rs1=rs1)
