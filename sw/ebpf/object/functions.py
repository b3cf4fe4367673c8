"""Functions of an object file: which code belongs to which name."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    INSTRUCTION_BYTES,
    Instruction,
    InstructionClass,
    JumpOperation,
    decode_program,
)
from fanweave.sw.ebpf.object.elf import Elf, Section, Symbol, SymbolKind

__all__ = ["SHARED", "Code", "decode", "find_functions"]

_JUMPS = (InstructionClass.JMP, InstructionClass.JMP32)
#: Functions here are called by programs, and are none themselves.
SHARED = ".text"


@dataclass(frozen=True, kw_only=True)
class Code:
    """A function's place.

    Attributes
    ----------
    name : str
        Its name; of code without names the section's.
    section : Section
        Where it is.
    start, end : int
        First byte, and the one behind it.
    local : bool
        Whether it is ``static``.
    """

    name: str
    section: Section = field(repr=False)
    start: int
    end: int
    local: bool

    @property
    def key(self) -> tuple[int, int]:
        """Section and first byte."""
        return self.section.number, self.start

    @property
    def slots(self) -> int:
        """Slots of 8 bytes."""
        return (self.end - self.start) // INSTRUCTION_BYTES

    def __str__(self) -> str:
        return f"{self.section}, function {self.name!r}"


def find_functions(elf: Elf) -> tuple[Code, ...]:
    """All functions, by section and place.

    A section with code and without names is one function.

    Raises
    ------
    InputError
        If a function does not lie in its section, is cut off within an instruction, or lies on
        another one.
    """
    symbols: dict[int | None, list[Symbol]] = defaultdict(list)
    for symbol in elf.symbols:
        if symbol.kind is SymbolKind.FUNCTION:
            symbols[symbol.section].append(symbol)
    found: list[Code] = []
    for section in elf.sections:
        if not section.executable or section.kind != "SHT_PROGBITS":
            continue
        if section.size % INSTRUCTION_BYTES:
            raise elf.refusal(
                section,
                f"{section.size} bytes of code; it must be a multiple of {INSTRUCTION_BYTES}",
            )
        named = [_code(elf, section, symbol) for symbol in symbols[section.number]]
        if not named and section.data:
            whole = Code(name=section.name, section=section, start=0, end=section.size, local=False)
            named.append(whole)
        named.sort(key=lambda code: (code.start, code.end))
        found += _without_gaps(elf, named)
    return tuple(found)


def _code(elf: Elf, section: Section, symbol: Symbol) -> Code:
    start, end = symbol.value, symbol.value + symbol.size
    if start % INSTRUCTION_BYTES or symbol.size % INSTRUCTION_BYTES or end > section.size:
        raise elf.refusal(
            f"{section}, function {symbol.name!r}",
            f"{symbol.size:#x} bytes at {start:#x}; both must be multiples of "
            f"{INSTRUCTION_BYTES} and end within {section.size:#x}",
        )
    if start == section.size:
        raise elf.refusal(f"{section}, function {symbol.name!r}", "it has no code")
    return Code(name=symbol.name, section=section, start=start, end=end, local=symbol.local)


def _without_gaps(elf: Elf, codes: list[Code]) -> list[Code]:
    """Functions of one section, in order; those without a size go up to the next one."""
    starts = sorted({code.start for code in codes})
    following = dict(pairwise(starts))
    made: list[Code] = []
    for code in codes:
        limit = following.get(code.start, code.section.size)
        if code.end == code.start:
            code = replace(code, end=limit)
        elif code.end > limit:
            raise elf.refusal(code, f"it ends at {code.end:#x}, in the one at {limit:#x}")
        made.append(code)
    return made


def decode(elf: Elf, code: Code) -> list[tuple[int, Instruction]]:
    """A function's instructions, and the byte of the section at which each begins.

    Raises
    ------
    InputError
        If it cannot be split into instructions, jumps out of itself, or runs off its end.
    """
    try:
        instructions = decode_program(code.section.data[code.start : code.end])
    except InputError as error:
        raise elf.refusal(code, str(error)) from None
    placed = []
    slot = 0
    for instruction in instructions:
        placed.append((code.start + slot * INSTRUCTION_BYTES, instruction))
        target = _jump_target(slot, instruction)
        if target is not None and not 0 <= target < code.slots:
            raise elf.refusal(
                f"{code}, offset {placed[-1][0]:#x}",
                f"a jump to slot {target} of the function, which has {code.slots}",
            )
        slot += instruction.slots
    if not _leaves(instructions[-1]):
        raise elf.refusal(
            code, "control can run off its end; its last instruction must be an exit or a jump"
        )
    return placed


def _jump_target(slot: int, instruction: Instruction) -> int | None:
    kind = instruction.instruction_class
    operation = instruction.opcode >> 4
    if kind not in _JUMPS or operation in (JumpOperation.CALL, JumpOperation.EXIT):
        return None
    long = operation == JumpOperation.JA and kind is InstructionClass.JMP32
    return slot + 1 + (instruction.imm if long else instruction.offset)


def _leaves(instruction: Instruction) -> bool:
    return instruction.instruction_class in _JUMPS and (
        instruction.opcode >> 4 in (JumpOperation.JA, JumpOperation.EXIT)
    )
