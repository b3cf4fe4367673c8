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
