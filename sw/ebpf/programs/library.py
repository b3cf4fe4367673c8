"""The programs by name, built."""

from functools import cache
from pathlib import Path

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.ebpf.programs.frames import FRAME_BYTES
from fanweave.sw.ebpf.verifier import ContextRule, Report, verify

__all__ = ["BUDGET", "PROGRAMS", "build_program", "verify_program"]

_FOLDER = Path(__file__).resolve().parent
#: Names, of programs and of their sources.
PROGRAMS = ("subnet", "tcp_port_80", "tcp_sack")
#: Instructions of an event.
BUDGET = 1000


@cache
def build_program(name: str) -> ObjectFile:
    """Compile and load a program; once in a process.

    Raises
    ------
    InputError
        If there is no such program, or no compiler.
    """
    if name not in PROGRAMS:
        raise InputError(f"program {name!r} is not known; choose one of {', '.join(PROGRAMS)}")
    source = _FOLDER / f"{name}.c"
    return load_object(compile_c(source).data, source.name)


def verify_program(name: str) -> Report:
    """What the verifier says of a program.

    Raises
    ------
    InputError
        If it refuses it, or there is none of this name.
    """
    (program,) = build_program(name).programs
    return verify(program.program, context=ContextRule.exactly(FRAME_BYTES), budget=BUDGET)
