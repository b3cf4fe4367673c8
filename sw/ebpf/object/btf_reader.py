"""Reads the section ``.BTF``: the types of an object file.

Source: the Linux kernel's documentation, *BPF Type Format (BTF)*.
"""

import struct

from fanweave.sw.ebpf.object.btf import VOID, Btf, BtfError, BtfKind, BtfMember, BtfType
from fanweave.sw.ebpf.object.elf import Elf, Section

__all__ = ["HEADER_BYTES", "read_btf", "read_header", "table_of"]

_MAGIC = 0xEB9F
_HEADER = struct.Struct("<HBBI")
_TABLES = struct.Struct("<4I")
#: Bytes before the places of the tables.
HEADER_BYTES = _HEADER.size
_TYPE = struct.Struct("<3I")
_KIND_FLAG = 1 << 31
_WORDS = struct.Struct("<2I")
#: Bytes behind a type: a fixed part, and a part for each of its members.
_TAILS: dict[BtfKind, tuple[int, int]] = {
    BtfKind.INT: (4, 0),
    BtfKind.ARRAY: (12, 0),
    BtfKind.STRUCT: (0, 12),
    BtfKind.UNION: (0, 12),
    BtfKind.ENUM: (0, 8),
    BtfKind.FUNC_PROTO: (0, 8),
    BtfKind.VAR: (4, 0),
    BtfKind.DATASEC: (0, 12),
    BtfKind.DECL_TAG: (4, 0),
    BtfKind.ENUM64: (0, 12),
}
#: Kinds whose third word is a size and no type.
_WITH_SIZE = frozenset(
    {
        *(BtfKind.INT, BtfKind.STRUCT, BtfKind.UNION, BtfKind.ENUM, BtfKind.ENUM64),
        *(BtfKind.DATASEC, BtfKind.FLOAT),
    }
)


def read_header(elf: Elf, section: Section) -> int:
    """Check the first bytes; returns where the tables begin.

    Raises
    ------
    InputError
        If they are not those of the format.
    """
    if len(section.data) < _HEADER.size:
        raise elf.refusal(section, f"{len(section.data)} bytes are too few for a header")
    magic, version, _, length = _HEADER.unpack_from(section.data)
    if magic != _MAGIC or version != 1:
        raise elf.refusal(
            f"{section}, offset 0x0",
            f"magic {magic:#06x}, version {version}; it must be {_MAGIC:#06x} and 1",
        )
    if not _HEADER.size + _TABLES.size <= length <= len(section.data):
        raise elf.refusal(
            f"{section}, offset 0x4",
            f"a header of {length} bytes; it must have from {_HEADER.size + _TABLES.size} to "
            f"{len(section.data)}",
        )
    return int(length)


def table_of(elf: Elf, section: Section, start: int, offset: int, length: int, what: str) -> bytes:
    """A table of a section; its offset counts from `start`.

    Raises
    ------
    InputError
        If it does not lie in the section.
    """
    begin = start + offset
    if begin + length > len(section.data):
        raise elf.refusal(
            section,
            f"{what}: {length:#x} bytes at {begin:#x}; the section ends at {len(section.data):#x}",
        )
    return section.data[begin : begin + length]


def read_btf(elf: Elf, section: Section) -> Btf:
    """Types of an object file.

    Raises
    ------
    InputError
        If the section is not as the format wants it; the message has the offset in it.
    """
    start = read_header(elf, section)
    where, length, names, names_length = _TABLES.unpack_from(section.data, _HEADER.size)
    table = table_of(elf, section, start, where, length, "types")
    strings = table_of(elf, section, start, names, names_length, "strings")
    made = Btf(types=(), strings=strings)
    types = [VOID]
    at = 0
    while at < len(table):
        place = f"{section}, offset {start + where + at:#x}"
        try:
            found, at = _type(made, len(types), table, at)
        except struct.error:
            raise elf.refusal(place, f"type {len(types)} is cut off") from None
        except BtfError as error:
            raise elf.refusal(place, f"type {len(types)}: {error}") from None
        types.append(found)
    return Btf(types=tuple(types), strings=strings)


def _type(strings: Btf, number: int, table: bytes, at: int) -> tuple[BtfType, int]:
    """The type at a place, and the place behind it."""
    name, information, word = _TYPE.unpack_from(table, at)
    at += _TYPE.size
    code, count = information >> 24 & 0x1F, information & 0xFFFF
    if code not in list(BtfKind) or code == BtfKind.UNKNOWN:
        raise BtfError(f"kind {code}; there are 1 to {max(BtfKind)}")
    kind = BtfKind(code)
    fixed, each = _TAILS.get(kind, (0, 0))
    tail = table[at : at + fixed + each * count]
    if len(tail) < fixed + each * count:
        raise BtfError(f"{kind.name} with {count} members is cut off")
    size, other = (word, 0) if kind in _WITH_SIZE else (0, word)
    if kind is BtfKind.ARRAY:
        other, _, size = struct.unpack("<3I", tail)
    flag = bool(information & _KIND_FLAG)
    members = [
        _member(strings, kind, tail[each * n : each * (n + 1)], flag)
        for n in range(count if each else 0)
    ]
    made = BtfType(
        number=number,
        kind=kind,
        name=strings.text(name) if name else "",
        size=size,
        type=other,
        members=tuple(members),
    )
    return made, at + len(tail)


def _member(strings: Btf, kind: BtfKind, row: bytes, flag: bool) -> BtfMember:
    first, second = _WORDS.unpack_from(row)
    third = int.from_bytes(row[8:], "little")
    if kind is BtfKind.DATASEC:
        return BtfMember(type=first, offset=second, value=third)
    name = strings.text(first) if first else ""
    if kind in (BtfKind.ENUM, BtfKind.ENUM64):
        value = int.from_bytes(row[4:], "little", signed=flag)
        return BtfMember(name=name, value=value)
    if kind is BtfKind.FUNC_PROTO:
        return BtfMember(name=name, type=second)
    # With the flag the offset's upper byte is the width of a bit field.
    offset, width = (third & 0xFFFFFF, third >> 24) if flag else (third, 0)
    return BtfMember(name=name, type=second, offset=offset, value=width)
