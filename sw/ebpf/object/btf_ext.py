"""Reads the section ``.BTF.ext``: functions, source lines, dependencies on a kernel.

Source: the Linux kernel's documentation, *BPF Type Format (BTF)*.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.btf import Btf, BtfError
from fanweave.sw.ebpf.object.btf_reader import HEADER_BYTES, read_header, table_of
from fanweave.sw.ebpf.object.elf import Elf, Section

__all__ = ["BtfExt", "CoreRelocation", "LineInfo", "read_btf_ext", "refuse_core"]

_TABLES = struct.Struct("<4I")
_CORE_TABLE = struct.Struct("<2I")
_WORDS = struct.Struct("<2I")
#: Bytes of a record, at least.
_FUNCTION_BYTES, _LINE_BYTES, _CORE_BYTES = 8, 16, 16


@dataclass(frozen=True, kw_only=True)
class LineInfo:
    """Where an instruction comes from; file and text are offsets of strings.

    Attributes
    ----------
    offset : int
        Bytes from the beginning of the section.
    file, text : int
        Of the file's name and of the line.
    line, column : int
        From 1; 0 if unknown.
    """

    offset: int
    file: int
    text: int
    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class CoreRelocation:
    """A place that depends on the layout of a kernel's type.

    Attributes
    ----------
    section : str
        Of the instruction.
    offset : int
        Bytes from the section's beginning.
    type : int
        Number of the type.
    access : str
        Numbers of the members on the way, with colons.
    """

    section: str
    offset: int
    type: int
    access: str


@dataclass(frozen=True, kw_only=True)
class BtfExt:
    """What is known of instructions.

    Attributes
    ----------
    lines : dict of str to list of LineInfo
        By section.
    functions : dict of str to dict of int to int
        By section and offset: the type of the function there.
    core : tuple of CoreRelocation
        Places that a loader for a kernel would have to change.
    """

    lines: dict[str, list[LineInfo]]
    functions: dict[str, dict[int, int]]
    core: tuple[CoreRelocation, ...]


def read_btf_ext(elf: Elf, section: Section, btf: Btf) -> BtfExt:
    """Functions, lines and dependencies on a kernel.

    Raises
    ------
    InputError
        If the section is not as the format wants it.
    """
    start = read_header(elf, section)
    functions_at, functions_length, lines_at, lines_length = _TABLES.unpack_from(
        section.data, HEADER_BYTES
    )
    functions: dict[str, dict[int, int]] = {}
    lines: dict[str, list[LineInfo]] = {}
    core: list[CoreRelocation] = []
    table = table_of(elf, section, start, functions_at, functions_length, "functions")
    for name, row in _records(elf, section, btf, table, _FUNCTION_BYTES, "functions"):
        offset, kind = struct.unpack_from("<2I", row)
        functions.setdefault(name, {})[offset] = kind
    table = table_of(elf, section, start, lines_at, lines_length, "lines")
    for name, row in _records(elf, section, btf, table, _LINE_BYTES, "lines"):
        offset, file, text, position = struct.unpack_from("<4I", row)
        lines.setdefault(name, []).append(
            LineInfo(
                offset=offset, file=file, text=text, line=position >> 10, column=position & 0x3FF
            )
        )
    if start >= HEADER_BYTES + _TABLES.size + _CORE_TABLE.size:
        where, length = _CORE_TABLE.unpack_from(section.data, HEADER_BYTES + _TABLES.size)
        table = table_of(elf, section, start, where, length, "relocations")
        for name, row in _records(elf, section, btf, table, _CORE_BYTES, "relocations"):
            offset, kind, access, _ = struct.unpack_from("<4I", row)
            core.append(
                CoreRelocation(
                    section=name, offset=offset, type=kind, access=_text(elf, section, btf, access)
                )
            )
    return BtfExt(lines=lines, functions=functions, core=tuple(core))


def _text(elf: Elf, section: Section, btf: Btf, offset: int) -> str:
    try:
        return btf.text(offset)
    except BtfError as error:
        raise elf.refusal(section, str(error)) from None


def _records(
    elf: Elf, section: Section, btf: Btf, table: bytes, least: int, what: str
) -> Iterator[tuple[str, bytes]]:
    """Names of sections, and the records of each."""
    if not table:
        return
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 or size < least or size % 4:
        raise elf.refusal(
            section, f"{what} of {size} bytes each; it must be {least} or more, a multiple of 4"
        )
    at = 4
    while at < len(table):
        if at + _WORDS.size > len(table):
            raise elf.refusal(section, f"{what}: a section's header is cut off")
        name, count = _WORDS.unpack_from(table, at)
        at += _WORDS.size
        if at + count * size > len(table):
            raise elf.refusal(
                section, f"{what}: {count} records of {size} bytes in {len(table) - at}"
            )
        text = _text(elf, section, btf, name)
        for _ in range(count):
            yield text, table[at : at + size]
            at += size


def refuse_core(elf: Elf, btf: Btf, ext: BtfExt) -> None:
    """Refuse an object file that was made for a kernel's types.

    Raises
    ------
    InputError
        If it has such relocations; the message names the first one's type and members.
    """
    if not ext.core:
        return
    first = ext.core[0]
    raise InputError(
        f"{elf.name}, section {first.section!r}, offset {first.offset:#x}: it depends on the "
        f"layout of {btf.describe(first.type)} (CO-RE, access {first.access}) in a kernel, and "
        "there is none here; build without preserve_access_index and vmlinux.h"
    )
