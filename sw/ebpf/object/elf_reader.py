"""Reads object files.

`pyelftools` knows the structures. What a structure points to is looked at only after it was checked
against the length of the file, so that no file can make this take more memory or time than its
length allows.
"""

import io
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.elf import MAGIC, Elf, Relocation, Section, Symbol, SymbolKind

__all__ = ["MAX_BYTES", "read_elf"]

#: Bytes of the largest file.
MAX_BYTES = 1 << 24
_HEADER_BYTES = 64
#: Linux's names have at most 511 characters.
_NAME_BYTES = 512
_MACHINE = "EM_BPF"
_WRITE, _ALLOC, _EXECINSTR, _COMPRESSED = 1, 2, 4, 0x800
#: Sections whose contents a program does not depend on.
_DEBUG = (".debug_", ".zdebug_", ".eh_frame", ".llvm", ".comment", ".note")
#: Relocations of these only join sections that are whole in an object file.
_TYPES = (".BTF", ".BTF.ext")


def read_elf(data: bytes, name: str) -> Elf:
    """Take a file apart.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        For messages.

    Raises
    ------
    InputError
        If it is no relocatable file of eBPF code in ELF64, little-endian, or something in it lies
        outside of it.
    """
    return _Reader(data, name).read()


class _Reader:
    """Reads one file."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.stream = io.BytesIO(data)
        #: Bytes of the sections so far.
        self.taken = 0

    def refuse(self, place: object, problem: str) -> InputError:
        return InputError(f"{self.name}, {place}: {problem}")

    def read(self) -> Elf:
        if len(self.data) > MAX_BYTES:
            raise self.refuse(
                "header", f"the file has {len(self.data)} bytes; at most {MAX_BYTES} are possible"
            )
        self._check_identity()
        try:
            self.file = ELFFile(self.stream)
        except ELFError as error:
            raise self.refuse("header", f"{error}") from None
        header = self.file.header
        self._check_header(header)
        rows = self._table(header["e_shoff"], header["e_shnum"], "Elf_Shdr", "section headers")
        names = self._names(rows, header["e_shstrndx"])
        self.sections = tuple(self._section(n, row, names) for n, row in enumerate(rows))
        symbols = self._symbols()
        return Elf(
            name=self.name,
            sections=self.sections,
            symbols=symbols,
            relocations=self._relocations(symbols),
        )

    def _check_identity(self) -> None:
        if not self.data.startswith(MAGIC):
            raise self.refuse(
                "offset 0x0",
                f"it begins with {self.data[:4].hex(' ') or 'nothing'} and not with "
                f"{MAGIC.hex(' ')}: it is no ELF file",
            )
        if len(self.data) < _HEADER_BYTES:
            raise self.refuse(
                "header", f"the file has {len(self.data)} bytes; an ELF header has {_HEADER_BYTES}"
            )
        width, order = self.data[4], self.data[5]
        if width != 2:
            raise self.refuse("offset 0x4", f"class {width}; it must be 2, ELF64")
        if order != 1:
            raise self.refuse(
                "offset 0x5", f"byte order {order}; it must be 1, little-endian: -target bpfel"
            )

    def _check_header(self, header: Any) -> None:
        if header["e_machine"] != _MACHINE:
            raise self.refuse(
                "offset 0x12",
                f"machine {header['e_machine']}; it must be {_MACHINE}, of `fanweave ebpf build` "
                "or `clang -target bpf`",
            )
        if header["e_type"] != "ET_REL":
            raise self.refuse(
                "offset 0x10", f"type {header['e_type']}; it must be ET_REL, a file of `clang -c`"
            )
        size = self._struct("Elf_Shdr").sizeof()
        if header["e_shentsize"] != size:
            raise self.refuse(
                "offset 0x3a", f"section headers of {header['e_shentsize']} bytes; they have {size}"
            )
        if header["e_shnum"] == 0:
            raise self.refuse("offset 0x3c", "there are no sections")
        if header["e_shstrndx"] >= header["e_shnum"]:
            raise self.refuse(
                "offset 0x3e",
                f"names of sections in section {header['e_shstrndx']}; there are "
                f"{header['e_shnum']}",
            )

    def _struct(self, name: str) -> Any:
        return getattr(self.file.structs, name)

    def _table(self, offset: int, count: int, struct: str, what: str) -> list[Any]:
        """So many structures from an offset of the file on."""
        layout = self._struct(struct)
        size = layout.sizeof()
        if offset + count * size > len(self.data):
            raise self.refuse(
                f"offset {offset:#x}",
                f"{count} {what} of {size} bytes; the file ends at {len(self.data):#x}",
            )
        try:
            return [struct_parse(layout, self.stream, offset + n * size) for n in range(count)]
        except ELFError as error:
            raise self.refuse(f"offset {offset:#x}", f"{what}: {error}") from None

    def _contents(self, number: int, row: Any) -> bytes:
        if row["sh_type"] in ("SHT_NOBITS", "SHT_NULL"):
            return b""
        start, size = row["sh_offset"], row["sh_size"]
        if start + size > len(self.data):
            raise self.refuse(
                f"section {number}",
                f"{size:#x} bytes at offset {start:#x}; the file ends at {len(self.data):#x}",
            )
        return self.data[start : start + size]

    def _names(self, rows: list[Any], number: int) -> bytes:
        if rows[number]["sh_type"] != "SHT_STRTAB":
            raise self.refuse(
                f"section {number}",
                f"type {rows[number]['sh_type']}; the names of sections need SHT_STRTAB",
            )
        return self._contents(number, rows[number])

    def text(self, table: bytes, offset: int, place: object) -> str:
        """A string of a table."""
        end = table.find(b"\0", offset, offset + _NAME_BYTES)
        if end < 0:
            raise self.refuse(
                place,
                f"no name of less than {_NAME_BYTES} bytes at {offset:#x} of a table of "
                f"{len(table):#x}",
            )
        return table[offset:end].decode(errors="backslashreplace")

    def _section(self, number: int, row: Any, names: bytes) -> Section:
        name = self.text(names, row["sh_name"], f"section {number}") if number else ""
        flags = row["sh_flags"]
        if flags & _COMPRESSED and not name.startswith(_DEBUG):
            raise self.refuse(f"section {number} {name!r}", "it is compressed; build without -gz")
        contents = self._contents(number, row)
        # Without this, many headers of the same bytes would cost the product of both.
        self.taken += len(contents)
        if self.taken > len(self.data):
            raise self.refuse(f"section {number} {name!r}", "it overlaps others in the file")
        return Section(
            number=number,
            name=name,
            kind=str(row["sh_type"]),
            offset=row["sh_offset"],
            size=row["sh_size"],
            data=contents,
            writable=bool(flags & _WRITE),
            allocated=bool(flags & _ALLOC),
            executable=bool(flags & _EXECINSTR),
            link=row["sh_link"],
            info=row["sh_info"],
        )

    def _at(self, number: int, kind: str, owner: Section) -> Section:
        """A section that another one names."""
        if number >= len(self.sections) or self.sections[number].kind != kind:
            raise self.refuse(owner, f"its link is section {number}, which is no {kind}")
        return self.sections[number]

    def _rows(self, section: Section, struct: str) -> list[Any]:
        size = self._struct(struct).sizeof()
        if section.size % size:
            raise self.refuse(section, f"{section.size} bytes; it must be a multiple of {size}")
        return self._table(section.offset, section.size // size, struct, "entries")

    def _symbols(self) -> tuple[Symbol, ...]:
        tables = [section for section in self.sections if section.kind == "SHT_SYMTAB"]
        if not tables:
            return ()
        if len(tables) > 1:
            raise self.refuse(tables[1], "a second table of symbols; there may be one")
        (table,) = tables
        names = self._at(table.link, "SHT_STRTAB", table).data
        rows = self._rows(table, "Elf_Sym")
        return tuple(self._symbol(number, row, names, table) for number, row in enumerate(rows))

    def _symbol(self, number: int, row: Any, names: bytes, table: Section) -> Symbol:
        place = f"{table}, symbol {number}"
        name = self.text(names, row["st_name"], place) if row["st_name"] else ""
        index = row["st_shndx"]
        section: int | None = None
        if isinstance(index, int):
            if index >= len(self.sections):
                raise self.refuse(
                    f"{place} {name!r}",
                    f"it lies in section {index}; there are {len(self.sections)}",
                )
            section = index
        try:
            kind = SymbolKind(row["st_info"]["type"])
        except ValueError:
            kind = SymbolKind.OTHER
        if kind is SymbolKind.SECTION and section is not None:
            name = self.sections[section].name
        return Symbol(
            number=number,
            name=name,
            kind=kind,
            local=row["st_info"]["bind"] == "STB_LOCAL",
            section=section,
            value=row["st_value"],
            size=row["st_size"],
        )

    def _relocations(self, symbols: tuple[Symbol, ...]) -> dict[int, tuple[Relocation, ...]]:
        found: dict[int, tuple[Relocation, ...]] = {}
        for section in self.sections:
            if section.kind == "SHT_RELA":
                raise self.refuse(section, "relocations with addends; eBPF has them without")
            if section.kind != "SHT_REL":
                continue
            if not 0 < section.info < len(self.sections):
                raise self.refuse(
                    section,
                    f"it changes section {section.info}; there are {len(self.sections)}",
                )
            target = self.sections[section.info]
            if target.name.startswith(_DEBUG) or target.name in _TYPES:
                continue
            if target.number in found:
                raise self.refuse(section, f"{target} has relocations in two sections")
            found[target.number] = self._relocations_of(section, target, symbols)
        return found

    def _relocations_of(
        self, section: Section, target: Section, symbols: tuple[Symbol, ...]
    ) -> tuple[Relocation, ...]:
        made = []
        for number, row in enumerate(self._rows(section, "Elf_Rel")):
            offset, symbol = row["r_offset"], row["r_info_sym"]
            if symbol >= len(symbols):
                raise self.refuse(
                    f"{section}, entry {number}",
                    f"it names symbol {symbol}; there are {len(symbols)}",
                )
            if offset + 8 > target.size:
                raise self.refuse(
                    f"{section}, entry {number}",
                    f"it changes 8 bytes at {offset:#x} of {target}, which has {target.size:#x}",
                )
            made.append(Relocation(offset=offset, kind=row["r_info_type"], symbol=symbols[symbol]))
        return tuple(made)
