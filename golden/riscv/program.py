"""ELF programs: checked, loaded, and their symbols."""

import io
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS
from fanweave.golden.riscv.memory import Memory

__all__ = ["Program", "Segment", "load_program", "parse_program", "read_program"]


@dataclass(frozen=True)
class Segment:
    """Bytes to be loaded.

    Attributes
    ----------
    address : int
        Where to.
    data : bytes
        What the file holds.
    size : int
        Bytes in memory; those behind the data are zero.
    """

    address: int
    data: bytes = field(repr=False)
    size: int


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program for the cluster.

    Attributes
    ----------
    name : str
        Where it came from.
    entry : int
        Address of its first instruction.
    segments : tuple of Segment
        Its contents.
    symbols : dict of str to int
        Addresses of its symbols.
    functions : tuple of (int, str)
        Addresses and names of what code can be in, sorted.
    """

    name: str
    entry: int
    segments: tuple[Segment, ...]
    symbols: dict[str, int]
    functions: tuple[tuple[int, str], ...]

    def place(self, address: int) -> str:
        """An address as a function and a distance from it, such as ``main+0x10``."""
        index = bisect_right(self.functions, (address, "\U0010ffff")) - 1
        if index < 0:
            return f"{address:#010x}"
        start, name = self.functions[index]
        return f"{name}+{address - start:#x}" if address > start else name

    def word(self, address: int) -> int | None:
        """Instruction that the file has at an address; None if it has none."""
        for part in self.segments:
            at = address - part.address
            if 0 <= at <= len(part.data) - 4:
                return int.from_bytes(part.data[at : at + 4], "little")
        return None


def read_program(path: Path) -> Program:
    """Read an ELF file.

    Raises
    ------
    InputError
        If it cannot be read, or is not a program for the cluster.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return parse_program(data, str(path))


def parse_program(data: bytes, name: str) -> Program:
    """A program from the bytes of an ELF file; `name` is for messages."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    if data[:4] != b"\x7fELF":
        raise InputError(f"{name} is not an ELF file; fanweave run takes RISC-V programs in ELF")
    try:
        file = ELFFile(io.BytesIO(data))
        _check_machine(file, name)
        segments = _segments(file, name)
        symbols, functions = _symbols(file)
        entry = file["e_entry"]
    except InputError:
        raise
    except (ELFError, ValueError, KeyError, IndexError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{name} is a damaged ELF file: {error}") from error
    if not any(r.fetch and r.base <= entry < r.end for r in REGIONS):
        raise InputError(
            f"{name} begins at {entry:#x}, where no instructions are; link it with the script of "
            "fanweave.sw.kernels"
        )
    return Program(
        name=name,
        entry=entry,
        segments=segments,
        symbols=symbols,
        functions=tuple(sorted(functions)),
    )


def _check_machine(file: "object", name: str) -> None:
    from elftools.elf.elffile import ELFFile

    assert isinstance(file, ELFFile)
    machine, kind = file["e_machine"], file["e_type"]
    if machine != "EM_RISCV" or file.elfclass != 32 or not file.little_endian:
        order = "little" if file.little_endian else "big"
        raise InputError(
            f"{name} is a program for {file.get_machine_arch()}, {file.elfclass} bits, {order} "
            "endian; expected RISC-V, 32 bits, little endian"
        )
    if kind != "ET_EXEC":
        raise InputError(f"{name} is of type {kind}; expected a linked program, ET_EXEC")


def _segments(file: "object", name: str) -> tuple[Segment, ...]:
    from elftools.elf.elffile import ELFFile

    assert isinstance(file, ELFFile)
    found = []
    for part in file.iter_segments():
        if part["p_type"] != "PT_LOAD" or part["p_memsz"] == 0:
            continue
        address, size = part["p_paddr"], part["p_memsz"]
        if not any(r.base <= address and address + size <= r.end and r.dma for r in REGIONS):
            raise InputError(
                f"{name} has a segment at {address:#x} of {size} bytes, where no memory is"
            )
        found.append(Segment(address, part.data()[:size], size))
    if not found:
        raise InputError(f"{name} has nothing to load")
    return tuple(found)


def _symbols(file: "object") -> tuple[dict[str, int], list[tuple[int, str]]]:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    assert isinstance(file, ELFFile)
    symbols: dict[str, int] = {}
    functions: list[tuple[int, str]] = []
    for section in file.iter_sections():
        if not isinstance(section, SymbolTableSection):
            continue
        for symbol in section.iter_symbols():
            kind = symbol["st_info"]["type"]
            if not symbol.name or kind in ("STT_SECTION", "STT_FILE"):
                continue
            symbols[symbol.name] = symbol["st_value"]
            local = symbol.name.startswith((".L", "$"))
            code = any(r.fetch and r.base <= symbol["st_value"] < r.end for r in REGIONS)
            if (
                code
                and kind in ("STT_FUNC", "STT_NOTYPE")
                and not local
                and symbol["st_shndx"] != "SHN_ABS"
            ):
                functions.append((symbol["st_value"], symbol.name))
    return symbols, functions


def load_program(program: Program, memory: Memory) -> None:
    """Put a program into memory."""
    for segment in program.segments:
        span = memory.span(segment.address, segment.size, dma=True)
        assert span is not None
        span[:] = 0
        span[: len(segment.data)] = np.frombuffer(segment.data, np.uint8)
    tohost = program.symbols.get("tohost")
    memory.tohost = tohost if tohost is not None and memory.span(tohost, 4) is not None else None
