"""From C and assembly to objects for the cluster's cores."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sw.clang import argument, run_clang

__all__ = ["ASSEMBLER_OPTIONS", "TARGET_OPTIONS", "assemble"]

#: Everything that the tables have and the compiler knows.
_CPU = "generic_rv32+m+a+f+zicsr+zifencei+zfhmin+zve32f+zvfh+zvl512b"
TARGET_OPTIONS: tuple[str, ...] = (
    *("-target", "riscv32-freestanding", f"-mcpu={_CPU}", "-mabi=ilp32f"),
)
#: The assembler also takes elements of 64 bits, which the cores refuse unless ELEN is 64.
ASSEMBLER_OPTIONS: tuple[str, ...] = (
    *("-target", "riscv32-freestanding", f"-mcpu={_CPU}+zve64x", "-mabi=ilp32f"),
)


def assemble(lines: Sequence[str]) -> bytes:
    """Machine code of lines of assembly, without branches to symbols.

    Raises
    ------
    InputError
        If the assembler refuses one; the message is what it says.
    """
    from elftools.elf.elffile import ELFFile

    with tempfile.TemporaryDirectory(prefix="fanweave-") as folder:
        source, target = Path(folder) / "lines.s", Path(folder) / "lines.o"
        source.write_text(".option norelax\n.text\n" + "\n".join(lines) + "\n")
        done = run_clang(
            [*ASSEMBLER_OPTIONS, "-c", "-o", str(target), argument(source)], "assembly"
        )
        if not done.ok:
            raise InputError(f"the assembler refuses:\n{done.said}")
        with target.open("rb") as stream:
            section = ELFFile(stream).get_section_by_name(".text")
            data: bytes = section.data()
            return data
