"""What both syntaxes share: numbers, registers, targets, and how a line becomes an instruction."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import REGISTERS, Instruction, InstructionClass, Mode, Size

__all__ = [
    "NUMBER",
    "TARGET",
    "Line",
    "LineError",
    "Rule",
    "number",
    "offset_of",
    "register",
    "target_of",
    "wide_load",
]

#: Patterns of a number, and of where a jump goes: so many slots on, or a label.
NUMBER = r"[+-]?\s*(?:0[xX][0-9a-fA-F]+|\d+)"
TARGET = r"[+-]\s*\d+|[A-Za-z_.][\w.]*"


_WIDE = InstructionClass.LD | Mode.IMM << 5 | Size.DW << 3


class LineError(InputError):
    """A line that is no instruction."""


@dataclass(frozen=True)
class Line:
    """What a line says: an instruction, and a label for its offset or immediate.

    Attributes
    ----------
    instruction : Instruction
        Complete but for the label.
    label : str or None
        Where it jumps to.
    in_immediate : bool
        Whether the distance belongs into the immediate.
    """

    instruction: Instruction
    label: str | None = None
    in_immediate: bool = False


@dataclass(frozen=True)
class Rule:
    """A form of a line, and what it makes of it."""

    pattern: re.Pattern[str]
    build: Callable[[re.Match[str]], Line | Instruction]

    @classmethod
    def of(cls, pattern: str, build: Callable[[re.Match[str]], Line | Instruction]) -> "Rule":
        """Make a rule; a blank in the pattern stands for any number of blanks."""
        return cls(re.compile(pattern.replace(" ", r"\s*") + r"\s*$"), build)


def number(text: str, *, bits: int = 32) -> int:
    """Read a number as a signed one of so many bits; unsigned ones wrap.

    Raises
    ------
    LineError
        If it does not fit either way.
    """
    value = int(re.sub(r"\s", "", text), 0)
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise LineError(f"{text.strip()} does not fit in {bits} bits")
    return value - (1 << bits) if value >> bits - 1 == 1 else value


def offset_of(text: str | None) -> int:
    """Read an offset of a load or a store; none is 0."""
    return number(text, bits=16) if text else 0


def register(text: str) -> int:
    """Read a register's number.

    Raises
    ------
    LineError
        If there is none of this number.
    """
    value = int(text)
    if value >= REGISTERS:
        raise LineError(f"there is no register r{value}; the last one is r{REGISTERS - 1}")
    return value


def target_of(text: str) -> tuple[int, str | None]:
    """Read where a jump goes: a distance, or 0 and a label."""
    text = text.replace(" ", "")
    return (int(text), None) if text[0] in "+-" else (0, text)


def wide_load(dst: str, text: str) -> Instruction:
    """A load of a 64-bit immediate into a register."""
    value = number(text, bits=64) & (1 << 64) - 1
    low, high = (_signed_word(part) for part in (value & 0xFFFFFFFF, value >> 32))
    return Instruction(_WIDE, register(dst), 0, 0, low, high)


def _signed_word(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
