"""Assembles and disassembles programs, in the syntax of Linux or of the conformance suite."""

import re
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType, ModuleType

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.sw.ebpf import conformance_syntax, kernel_syntax
from fanweave.sw.ebpf.syntax import Line, LineError

__all__ = ["SYNTAXES", "assemble", "disassemble"]

#: Modules with ``RULES`` and ``write``, by the name of their syntax.
SYNTAXES = MappingProxyType({"kernel": kernel_syntax, "conformance": conformance_syntax})
_LABEL = re.compile(r"([A-Za-z_.][\w.]*):\s*")
_COMMENT = re.compile(r"(?:#|//|;).*")


def assemble(text: str, *, syntax: str = "kernel", name: str = "program") -> list[Instruction]:
    """Assemble a program.

    A line holds an instruction, ``label:`` stands before one or alone, and ``#``, ``//`` and
    ``;`` begin a comment.

    Parameters
    ----------
    text : str
        The program.
    syntax : str
        One of `SYNTAXES`.
    name : str
        For messages.

    Raises
    ------
    InputError
        If a line is no instruction, or a label is missing or there twice; the message has the
        line's number.
    """
    rules = _syntax(syntax).RULES
    labels: dict[str, int] = {}
    lines: list[tuple[int, int, Line]] = []  # line of the text, slot, what it says
    slot = 0
    for row, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", raw).strip()
        while found := _LABEL.match(line):
            if found[1] in labels:
                raise InputError(f"{name}, line {row}: label {found[1]!r} is there twice")
            labels[found[1]] = slot
            line = line[found.end() :]
        if not line:
            continue
        said = _understand(line, rules, f"{name}, line {row}", syntax)
        lines.append((row, slot, said))
        slot += said.instruction.slots
    return [_resolve(said, at, labels, f"{name}, line {row}") for row, at, said in lines]


def _syntax(name: str) -> ModuleType:
    if name not in SYNTAXES:
        raise InputError(f"unknown syntax {name!r}; choose one of {', '.join(SYNTAXES)}")
    return SYNTAXES[name]


def _understand(line: str, rules: Iterable, where: str, syntax: str) -> Line:
    for rule in rules:
        found = rule.pattern.match(line)
        if found is None:
            continue
        try:
            said = rule.build(found)
        except LineError as error:
            raise InputError(f"{where}: {error}") from None
        return said if isinstance(said, Line) else Line(said)
    other = next(name for name in SYNTAXES if name != syntax)
    hint = ""
    if any(rule.pattern.match(line) for rule in SYNTAXES[other].RULES):
        hint = f"; it is one in the {other} syntax"
    raise InputError(f"{where}: {line!r} is no instruction in the {syntax} syntax{hint}")


def _resolve(said: Line, slot: int, labels: dict[str, int], where: str) -> Instruction:
    if said.label is None:
        return said.instruction
    if said.label not in labels:
        raise InputError(f"{where}: there is no label {said.label!r}")
    distance = labels[said.label] - slot - said.instruction.slots
    if said.in_immediate:
        return replace(said.instruction, imm=distance)
    if not -(1 << 15) <= distance < 1 << 15:
        raise InputError(f"{where}: label {said.label!r} is {distance} slots away; use a long jump")
    return replace(said.instruction, offset=distance)


def disassemble(instructions: Iterable[Instruction], *, syntax: str = "kernel") -> list[str]:
    """Write instructions, a line each; what is none becomes a comment with its bytes.

    Parameters
    ----------
    instructions : iterable of Instruction
        The program.
    syntax : str
        One of `SYNTAXES`.
    """
    write = _syntax(syntax).write
    lines = []
    for instruction in instructions:
        fault = fault_of(instruction)
        line = None if fault else write(instruction)
        lines.append(line or _comment(instruction, fault))
    return lines


def _comment(instruction: Instruction, fault: str | None) -> str:
    reason = fault or "no way to write it in this syntax"
    return f"# {instruction.encode().hex(' ')}  ({reason})"
