"""A program as a machine takes it: slots, and what its 64-bit immediates stand for."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fanweave.golden.ebpf.arithmetic import MASK32, MASK64
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction, WideKind, decode_program
from fanweave.golden.isa.ebpf_machine import map_address, map_handle

__all__ = ["Program"]


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions of a program; two programs are the same only if they are one object.

    Jumps and local calls count slots of 8 bytes; a 64-bit immediate load takes two. The immediate
    of one that names a map is the map's number in the machine.

    Attributes
    ----------
    instructions : tuple of Instruction
        In order.
    name : str
        For messages and traces.
    """

    instructions: tuple[Instruction, ...]
    name: str = "program"

    @classmethod
    def of(cls, instructions: Iterable[Instruction], name: str = "program") -> "Program":
        """Make a program of any sequence."""
        return cls(tuple(instructions), name)

    @classmethod
    def from_bytes(cls, code: bytes, name: str = "program") -> "Program":
        """Make a program of its encoding.

        Raises
        ------
        InputError
            If it cannot be split into instructions.
        """
        return cls(tuple(decode_program(code)), name)

    @cached_property
    def slots(self) -> tuple[Instruction | None, ...]:
        """The instruction at each slot; None at the second slot of a wide one."""
        slots: list[Instruction | None] = []
        for instruction in self.instructions:
            slots.append(instruction)
            slots += [None] * (instruction.slots - 1)
        return tuple(slots)


def wide_value(instruction: Instruction) -> int:
    """What a 64-bit immediate load puts into its register.

    Raises
    ------
    InputError
        If its kind has no meaning in a machine without an operating system.
    """
    kind = instruction.src
    if kind == WideKind.IMMEDIATE:
        return instruction.imm64
    if kind in (WideKind.MAP_FD, WideKind.MAP_INDEX):
        return map_handle(instruction.imm) & MASK64
    if kind in (WideKind.MAP_VALUE, WideKind.MAP_INDEX_VALUE):
        return map_address(instruction.imm) + (instruction.high & MASK32) & MASK64
    raise InputError(f"64-bit immediate loads of kind {kind} are not possible here")
