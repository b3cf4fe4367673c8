"""Objects of runtimes that have numbers of their own for types of maps and for helpers.

The verifier and the golden machine know the numbers of Linux. An object for another runtime is read
with what stands for its numbers here; the file itself stays as the runtime wants it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.bpftime import DEVICE_HELPERS, DEVICE_MAPS
from fanweave.golden.isa.ebpf import (
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["DIALECTS", "Dialect", "load_dialect"]

_CALL = JumpOperation.CALL << 4 | InstructionClass.JMP


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """Numbers of a runtime.

    Attributes
    ----------
    name : str
        Of the runtime.
    map_types : mapping of int to MapType
        Type there -> type here.
    helpers : mapping of int to int
        Helper there -> helper here, with the same arguments and the same kind of result.
    refused : mapping of int to str
        Helpers for which there is none -> name.
    """

    name: str
    map_types: Mapping[int, MapType]
    helpers: Mapping[int, int]
    refused: Mapping[int, str]


_NUMBERS = {helper.name: helper.number for helper in HELPERS.values()}
#: By runtime.
DIALECTS: Mapping[str, Dialect] = {
    "bpftime": Dialect(
        name="bpftime",
        map_types={row.number: row.stands_for for row in DEVICE_MAPS if row.stands_for is not None},
        helpers={row.number: _NUMBERS[row.stands_for] for row in DEVICE_HELPERS if row.stands_for},
        refused={row.number: row.name for row in DEVICE_HELPERS if not row.stands_for},
    )
}


def load_dialect(data: bytes, name: str, dialect: Dialect | None) -> ObjectFile:
    """Load an object file of a runtime, or of this project if there is none.

    Raises
    ------
    InputError
        If it cannot be loaded, or calls a helper of the runtime that nothing stands for here.
    """
    if dialect is None:
        return load_object(data, name)
    loaded = load_object(data, name, map_types=dialect.map_types)
    programs = tuple(
        replace(
            made,
            program=Program.of(
                (_translated(each, dialect, name) for each in made.program.instructions),
                made.program.name,
            ),
        )
        for made in loaded.programs
    )
    return replace(loaded, programs=programs)


def _translated(instruction: Instruction, dialect: Dialect, name: str) -> Instruction:
    if instruction.opcode != _CALL or instruction.src != CallKind.HELPER:
        return instruction
    number = instruction.imm
    if number in dialect.refused:
        raise InputError(
            f"{name}: helper {number} ({dialect.refused[number]}) of {dialect.name} has no like "
            f"here, so it cannot be verified; {', '.join(map(str, dialect.helpers))} have"
        )
    return replace(instruction, imm=dialect.helpers.get(number, number))
