"""Sections, symbols and relocations; and what is no object file."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object import elf_reader
from fanweave.sw.ebpf.object.elf import RelocationKind, SymbolKind, relocation_name
from fanweave.sw.ebpf.object.elf_reader import read_elf


def test_sections_symbols_and_relocations(sample):
    elf = read_elf(sample("variables"), "file")
    code = elf.find("event")
    assert (code.executable, code.writable, code.allocated) == (True, False, True)
    assert code.data == sample("variables")[code.offset : code.offset + code.size]
    assert elf.find(".bss").data == b""
    assert elf.find(".bss").size == 40
    assert elf.find("none") is None
    assert [section.number for section in elf.sections] == list(range(len(elf.sections)))
    by_name = {symbol.name: symbol for symbol in elf.symbols if symbol.name}
    first, twice = by_name["first"], by_name["twice"]
    assert (first.kind, first.local, first.section) == (SymbolKind.FUNCTION, False, code.number)
    assert twice.local
    assert by_name[".bss"].kind is SymbolKind.SECTION
    kinds = {relocation.kind for relocation in elf.relocations[code.number]}
    assert kinds == {RelocationKind.WIDE, RelocationKind.CALL}
    targets = {relocation.symbol.name for relocation in elf.relocations[code.number]}
    assert {"old", "start", "limit", "shared"} <= targets


def test_relocations_of_debugging_information_and_types_are_left_alone(sample):
    elf = read_elf(sample("event"), "file")
    assert {elf.sections[number].name for number in elf.relocations} == {"cxl"}


def test_names_of_relocations():
    assert relocation_name(1) == "R_BPF_64_64 (1)"
    assert relocation_name(10) == "R_BPF_64_32 (10)"
    assert relocation_name(99) == "unknown (99)"


@pytest.mark.parametrize(
    ("offset", "size", "value", "message"),
    [
        (0, 4, 0, "file, offset 0x0: it begins with 00 00 00 00 and not with 7f 45 4c 46"),
        (4, 1, 1, "file, offset 0x4: class 1; it must be 2, ELF64"),
        (5, 1, 2, "file, offset 0x5: byte order 2; it must be 1, little-endian"),
        (16, 2, 2, "file, offset 0x10: type ET_EXEC; it must be ET_REL"),
        (18, 2, 62, "file, offset 0x12: machine EM_X86_64; it must be EM_BPF"),
        (18, 2, 4711, "file, offset 0x12: machine 4711; it must be EM_BPF"),
        (58, 2, 40, "file, offset 0x3a: section headers of 40 bytes; they have 64"),
        (60, 2, 0, "file, offset 0x3c: there are no sections"),
        (60, 2, 0xFFF0, "section headers of 64 bytes; the file ends at"),
        (62, 2, 0xFF00, "file, offset 0x3e: names of sections in section 65280"),
        (62, 2, 0, "file, section 0: type SHT_NULL; the names of sections need SHT_STRTAB"),
        (40, 8, 1 << 63, "file, offset 0x8000000000000000: "),
    ],
)
def test_headers_that_are_none(sample, patch, offset, size, value, message):
    with pytest.raises(InputError) as refused:
        read_elf(patch(sample("event"), offset, size, value), "file")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("section", "field", "value", "message"),
    [
        ("cxl", "offset", 1 << 40, "bytes at offset 0x10000000000; the file ends at"),
        ("cxl", "size", 1 << 62, "0x4000000000000000 bytes at offset"),
        ("cxl", "name", 1 << 20, "no name of less than 512 bytes at 0x100000 of a table of"),
        ("cxl", "flags", 0x806, "'cxl': it is compressed; build without -gz"),
        (".symtab", "link", 200, "'.symtab': its link is section 200, which is no SHT_STRTAB"),
        (".symtab", "link", 2, "'.symtab': its link is section 2, which is no SHT_STRTAB"),
        (".symtab", "size", 25, "'.symtab': 25 bytes; it must be a multiple of 24"),
        (".symtab", "size", 24, "it names symbol"),
        (".relcxl", "size", 15, "'.relcxl': 15 bytes; it must be a multiple of 16"),
        (".relcxl", "info", 0, "'.relcxl': it changes section 0; there are"),
        (".relcxl", "info", 99, "'.relcxl': it changes section 99; there are"),
        (".relcxl", "type", 4, "'.relcxl': relocations with addends; eBPF has them without"),
        (".debug_str", "type", 2, "a second table of symbols; there may be one"),
    ],
)
def test_sections_that_are_damaged(sample, patch_section, section, field, value, message):
    with pytest.raises(InputError) as refused:
        read_elf(patch_section(sample("event"), section, field, value), "file")
    assert str(refused.value).startswith("file, section ")
    assert message in str(refused.value)


def test_sections_on_each_other_do_not_cost_memory(sample, patch_section):
    data = sample("event")
    data = patch_section(data, ".debug_info", "offset", 0)
    data = patch_section(data, ".debug_info", "size", len(data))
    with pytest.raises(InputError, match="it overlaps others in the file"):
        read_elf(data, "file")


def _entry(data, section, number, size):
    return read_elf(data, "file").find(section).offset + number * size


def test_symbols_that_are_damaged(sample, patch):
    data = sample("event")
    where = _entry(data, ".symtab", 3, 24)
    with pytest.raises(InputError, match=r"symbol 3 .*: it lies in section 99; there are"):
        read_elf(patch(data, where + 6, 2, 99), "file")
    with pytest.raises(InputError, match=r"symbol 3: no name of less than 512 bytes at 0xffffff"):
        read_elf(patch(data, where, 4, 0xFFFFFF), "file")
    assert read_elf(patch(data, where + 4, 1, 0x1F), "file").symbols[3].kind is SymbolKind.OTHER


def test_relocations_that_are_damaged(sample, patch):
    data = sample("event")
    where = _entry(data, ".relcxl", 1, 16)
    with pytest.raises(InputError, match=r"'.relcxl', entry 1: it names symbol 77; there are"):
        read_elf(patch(data, where + 12, 4, 77), "file")
    with pytest.raises(InputError, match=r"entry 1: it changes 8 bytes at 0xffff of section"):
        read_elf(patch(data, where, 8, 0xFFFF), "file")


def test_a_section_has_one_table_of_relocations(sample, patch_section):
    data = sample("variables")
    number = read_elf(data, "file").find("event").number
    with pytest.raises(InputError, match=r"'event' has relocations in two sections"):
        read_elf(patch_section(data, ".rel.text", "info", number), "file")


@pytest.mark.parametrize("length", [0, 3, 4, 40, 63, 64, 500, 2000])
def test_files_that_are_cut_off(sample, length):
    with pytest.raises(InputError, match=r"^file, "):
        read_elf(sample("event")[:length], "file")


def test_files_that_are_too_long(sample, monkeypatch):
    monkeypatch.setattr(elf_reader, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match=r"file, header: the file has \d+ bytes; at most 1000 are"):
        read_elf(sample("event"), "file")
