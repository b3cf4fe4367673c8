"""What an object file holds: sections, symbols, relocations.

Source: *Tool Interface Standard, Executable and Linking Format*, and the types of relocations in
the Linux kernel's documentation, *BPF LLVM Relocations*.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from elftools.elf.enums import ENUM_RELOC_TYPE_BPF

from fanweave.golden.errors import InputError

__all__ = [
    "MAGIC",
    "Elf",
    "Relocation",
    "RelocationKind",
    "Section",
    "Symbol",
    "SymbolKind",
    "relocation_name",
]

#: How every ELF file begins.
MAGIC = b"\x7fELF"


class SymbolKind(enum.Enum):
    """What a symbol stands for."""

    NOTYPE = "STT_NOTYPE"
    OBJECT = "STT_OBJECT"
    FUNCTION = "STT_FUNC"
    SECTION = "STT_SECTION"
    FILE = "STT_FILE"
    OTHER = ""


class RelocationKind(enum.IntEnum):
    """Types of relocations that mean something to a loader."""

    WIDE = ENUM_RELOC_TYPE_BPF["R_BPF_64_64"]  # a 64-bit immediate load
    ADDRESS = ENUM_RELOC_TYPE_BPF["R_BPF_64_ABS64"]  # 8 bytes of data
    CALL = ENUM_RELOC_TYPE_BPF["R_BPF_64_32"]  # a call


_RELOCATION_NAMES = {
    number: name for name, number in ENUM_RELOC_TYPE_BPF.items() if isinstance(number, int)
}


def relocation_name(kind: int) -> str:
    """LLVM's name of a type of relocation, and its number."""
    return f"{_RELOCATION_NAMES.get(kind, 'unknown')} ({kind})"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section.

    Attributes
    ----------
    number : int
        Index in the table.
    name : str
        Its name.
    kind : str
        Type, such as ``SHT_PROGBITS``.
    offset, size : int
        Place in the file, and bytes.
    data : bytes
        Contents; empty if they are not in the file.
    writable, allocated, executable : bool
        Flags.
    link, info : int
        What its type makes of them.
    """

    number: int
    name: str
    kind: str
    offset: int
    size: int
    data: bytes = field(repr=False)
    writable: bool
    allocated: bool
    executable: bool
    link: int
    info: int

    def __str__(self) -> str:
        return f"section {self.number} {self.name!r}"


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A symbol.

    Attributes
    ----------
    number : int
        Index in the table.
    name : str
        Its name; of a section's symbol the section's.
    kind : SymbolKind
        What it stands for.
    local : bool
        Whether only this file sees it.
    section : int or None
        Number of the section that it lies in; None if it is not defined here.
    value, size : int
        Place in the section, and bytes.
    """

    number: int
    name: str
    kind: SymbolKind
    local: bool
    section: int | None
    value: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Relocation:
    """A place that gets the value of a symbol.

    Attributes
    ----------
    offset : int
        Bytes from the beginning of the section.
    kind : int
        Type; see `RelocationKind`.
    symbol : Symbol
        Whose value.
    """

    offset: int
    kind: int
    symbol: Symbol


@dataclass(frozen=True, kw_only=True)
class Elf:
    """A file.

    Attributes
    ----------
    name : str
        For messages.
    sections : tuple of Section
        By number.
    symbols : tuple of Symbol
        By number.
    relocations : mapping of int to tuple of Relocation
        By the number of the section that they change.
    """

    name: str
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: Mapping[int, tuple[Relocation, ...]]

    def find(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((section for section in self.sections if section.name == name), None)

    def refusal(self, place: object, problem: str) -> InputError:
        """An error that names the file and the place."""
        return InputError(f"{self.name}, {place}: {problem}")
