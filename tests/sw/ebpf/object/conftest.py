"""Compiled programs, and ways to damage them."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.samples import SAMPLES

SECTION_FIELDS = {"name": (0, 4), "type": (4, 4), "flags": (8, 8), "offset": (24, 8)} | {
    "size": (32, 8),
    "link": (40, 4),
    "info": (44, 4),
}


SYMBOL_FIELDS = {"info": (4, 1), "section": (6, 2), "value": (8, 8), "size": (16, 8)}
RELOCATION_FIELDS = {"offset": (0, 8), "type": (8, 4), "symbol": (12, 4)}


@cache
def _build(text, cpu):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        return compile_c(source, cpu=cpu).data


@pytest.fixture(scope="session")
def build():
    """Compile C: ``build(text, cpu)`` gives the object file; the header bpf.h is included."""

    def compiled(text, cpu="v3"):
        return _build(f"#include <fanweave/bpf.h>\n{text}\n", cpu)

    return compiled


@pytest.fixture(scope="session")
def sample():
    """A sample, compiled."""
    return lambda name, cpu="v3": _build(SAMPLES[name], cpu)


@pytest.fixture(scope="session")
def load(build):
    """Compile C and load it."""
    return lambda text, cpu="v3": load_object(build(text, cpu), "program.o")


def patched(data, offset, size, value):
    """A file with another number at an offset."""
    return data[:offset] + value.to_bytes(size, "little") + data[offset + size :]


@pytest.fixture(scope="session")
def patch():
    """Set a number: ``patch(data, offset, size, value)``."""
    return patched


@pytest.fixture(scope="session")
def patch_section():
    """Set a field of a section's header: ``patch_section(data, name, field, value)``."""

    def changed(data, name, field, value):
        number = read_elf(data, "file").find(name).number
        place, size = SECTION_FIELDS[field]
        table = int.from_bytes(data[40:48], "little")
        return patched(data, table + 64 * number + place, size, value)

    return changed


@pytest.fixture(scope="session")
def patch_symbol():
    """Set a field of a symbol: ``patch_symbol(data, name, field, value)``."""

    def changed(data, name, field, value):
        elf = read_elf(data, "file")
        number = next(symbol.number for symbol in elf.symbols if symbol.name == name)
        place, size = SYMBOL_FIELDS[field]
        return patched(data, elf.find(".symtab").offset + 24 * number + place, size, value)

    return changed


@pytest.fixture(scope="session")
def patch_relocation():
    """Set a field of a relocation of a section: the first one that names a symbol."""

    def changed(data, section, symbol, field, value):
        elf = read_elf(data, "file")
        rows = elf.relocations[elf.find(section).number]
        number = next(n for n, row in enumerate(rows) if row.symbol.name == symbol)
        place, size = RELOCATION_FIELDS[field]
        table = elf.find(f".rel{section}").offset
        return patched(data, table + 16 * number + place, size, value)

    return changed
