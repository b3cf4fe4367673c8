"""From C and assembly to objects for the cluster's cores."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sw.clang import argument, run_clang
from fanweave.sw.kernels.headers import LINKER_SCRIPT, write_generated

__all__ = ["ASSEMBLER_OPTIONS", "TARGET_OPTIONS", "assemble", "build_program"]

#: Everything that the tables have and the compiler knows.
_CPU = "generic_rv32+m+a+f+zicsr+zifencei+zfhmin+zve32f+zvfh+zvl512b"
TARGET_OPTIONS: tuple[str, ...] = (
    *("-target", "riscv32-freestanding", f"-mcpu={_CPU}", "-mabi=ilp32f"),
)
#: The assembler also takes elements of 64 bits, which the cores refuse unless ELEN is 64.
ASSEMBLER_OPTIONS: tuple[str, ...] = (
    *("-target", "riscv32-freestanding", f"-mcpu={_CPU}+zve64x", "-mabi=ilp32f"),
)
_PROGRAM_OPTIONS = (
    *("-O2", "-Wall", "-Wextra", "-ffreestanding", "-fno-builtin", "-nostdlib", "-static"),
    *("-fno-stack-protector", "-fno-sanitize=all", "-fomit-frame-pointer", "-ffp-contract=off"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fno-vectorize"),
    *("-fno-slp-vectorize", "-mcmodel=medany"),
)
_SOURCES = Path(__file__).resolve().parent / "source"
_ALWAYS = (_SOURCES / "start.S", _SOURCES / "memory.c")


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


def build_program(
    sources: Sequence[Path], *, define: Sequence[str] = (), name: str | None = None
) -> bytes:
    """Compile and link a program with the start-up code and the project's linker script.

    Parameters
    ----------
    sources : sequence of Path
        C and assembly files; one of them has ``int main(void)``.
    define : sequence of str
        ``NAME`` or ``NAME=VALUE``.
    name : str or None
        What messages call it; the first source if None.

    Returns
    -------
    bytes
        An ELF file that is loaded as it is.

    Raises
    ------
    InputError
        If the compiler or linker refuses it; the message is what it says.
    """
    title = name or str(sources[0])
    for source in sources:
        if not source.is_file():
            raise InputError(f"{source} is not a file; a C or assembly source is expected")
    with tempfile.TemporaryDirectory(prefix="fanweave-") as temporary:
        folder = Path(temporary)
        write_generated(folder)
        target = folder / "program.elf"
        done = run_clang(
            [
                *TARGET_OPTIONS,
                *_PROGRAM_OPTIONS,
                f"-I{folder}",
                *(f"-D{item}" for item in define),
                *("-T", str(folder / LINKER_SCRIPT)),
                *("-o", str(target)),
                *(argument(source) for source in _ALWAYS),
                *(argument(source) for source in sources),
            ],
            title,
        )
        if not done.ok or not target.is_file():
            raise InputError(f"{title} does not compile:\n{done.said}")
        return target.read_bytes()
