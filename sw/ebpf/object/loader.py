"""Loads object files: checked, linked, with the numbers of their maps."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.btf import Btf
from fanweave.sw.ebpf.object.btf_ext import BtfExt, read_btf_ext, refuse_core
from fanweave.sw.ebpf.object.btf_reader import read_btf
from fanweave.sw.ebpf.object.elf import MAGIC, Elf
from fanweave.sw.ebpf.object.elf_reader import MAX_BYTES, read_elf
from fanweave.sw.ebpf.object.functions import find_functions
from fanweave.sw.ebpf.object.linker import Linker
from fanweave.sw.ebpf.object.map_table import read_maps
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["is_object", "load_object", "read_object", "types_of"]

_LICENSE = "license"
#: Sections of what only a kernel has -> what it is.
_ELSEWHERE = {
    ".struct_ops": "operations of a kernel's structure",
    ".struct_ops.link": "operations of a kernel's structure",
    ".addr_space.1": "variables in an arena",
    ".jumptables": "tables of jumps; build with -fno-jump-tables",
}


def is_object(data: bytes) -> bool:
    """Whether these are the bytes of an ELF file, and no raw instructions."""
    return data.startswith(MAGIC)


def read_object(path: Path) -> bytes:
    """The bytes of an object file.

    Raises
    ------
    InputError
        If it cannot be read, or is too large to be one.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path} has more than {MAX_BYTES} bytes, which no object file may have")
    return data


def types_of(elf: Elf) -> tuple[Btf | None, BtfExt | None]:
    """Types and lines of a file, if it has them.

    Raises
    ------
    InputError
        If they are malformed.
    """
    section = elf.find(".BTF")
    if section is None:
        return None, None
    btf = read_btf(elf, section)
    more = elf.find(".BTF.ext")
    return btf, None if more is None else read_btf_ext(elf, more, btf)


def load_object(
    source: bytes | Path,
    name: str | None = None,
    *,
    map_types: Mapping[int, MapType] | None = None,
) -> ObjectFile:
    """Load an object file, as ``clang -target bpf`` writes it.

    Parameters
    ----------
    source : bytes or Path
        The file, or where it is.
    name : str, optional
        For messages; the path if there is one.
    map_types : mapping of int to MapType, optional
        Numbers that another runtime has for types of maps, and what is meant here.

    Returns
    -------
    ObjectFile
        Programs with all functions that they call, and maps. Whether the programs are legal is
        `check_program`'s question, and whether the maps are possible `create_map`'s.

    Raises
    ------
    InputError
        If the file is malformed, or needs what is not here; the message names file, section,
        offset and what was expected.
    """
    if isinstance(source, Path):
        data, name = read_object(source), name or str(source)
    else:
        data, name = source, name or "object"
    elf = read_elf(data, name)
    for section in elf.sections:
        if section.name in _ELSEWHERE:
            raise elf.refusal(section, f"{_ELSEWHERE[section.name]}, which are not possible here")
    btf, ext = types_of(elf)
    if btf is not None and ext is not None:
        refuse_core(elf, btf, ext)
    maps = read_maps(elf, btf, map_types or {})
    linker = Linker(elf, find_functions(elf), maps, btf, ext)
    entries = linker.entries()
    if not entries:
        raise elf.refusal("sections", "there is no program: no visible function in any section")
    programs = tuple(linker.link(entry) for entry in entries)
    linker.check_unused()
    names = Counter(program.name for program in programs)
    for program, times in names.items():
        if times > 1:
            raise elf.refusal(f"program {program!r}", f"the name is there {times} times")
    return ObjectFile(
        name=elf.name,
        programs=programs,
        maps=maps.finish(names),
        license=_license(elf),
    )


def _license(elf: Elf) -> str:
    section = elf.find(_LICENSE)
    if section is None:
        return ""
    text, _, _ = section.data.partition(b"\0")
    return text.decode(errors="backslashreplace")
