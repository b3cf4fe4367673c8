"""Programs of object files as text: instructions with the names of maps, and source lines."""

from collections.abc import Iterator

import click

from fanweave.golden.ebpf.event import Event
from fanweave.golden.ebpf.interpreter import Trace
from fanweave.golden.isa.ebpf import (
    INSTRUCTION_BYTES,
    Instruction,
    InstructionClass,
    JumpOperation,
    WideKind,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.assembler import disassemble
from fanweave.sw.ebpf.object.engines import RunResult
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram

__all__ = ["fault_text", "instruction_text", "program_lines", "tracer"]

_MAPS = (WideKind.MAP_FD, WideKind.MAP_INDEX)
_VALUES = (WideKind.MAP_VALUE, WideKind.MAP_INDEX_VALUE)
_CALL = JumpOperation.CALL << 4 | InstructionClass.JMP


def instruction_text(instruction: Instruction, loaded: ObjectFile) -> str:
    """An instruction in Linux's syntax; maps and helpers by their names.

    Parameters
    ----------
    instruction : Instruction
        The instruction.
    loaded : ObjectFile
        Where its maps are.
    """
    kind = instruction.src
    known = 0 <= instruction.imm < len(loaded.maps)
    if instruction.is_wide and known and kind in (*_MAPS, *_VALUES):
        place = f" + {instruction.high}" if kind in _VALUES else ""
        what = "value" if kind in _VALUES else "map"
        return f"r{instruction.dst} = {what} {loaded.maps[instruction.imm].name}{place}"
    (line,) = disassemble([instruction])
    if instruction.opcode == _CALL and kind == 0 and instruction.imm in HELPERS:
        return f"{line:<8} # {HELPERS[instruction.imm].name}"
    return line


def program_lines(program: ObjectProgram, loaded: ObjectFile) -> Iterator[str]:
    """A program with the names of its functions and its source lines in between."""
    starts = {function.start: function for function in program.functions}
    slot = 0
    shown: tuple[str, int] | None = None
    for instruction in program.program.instructions:
        if function := starts.get(slot):
            shown = None
            yield f"{function.name}:  # {function.section or 'code'}, {function.slots} slots"
        line = program.lines.get(slot)
        # The compiler tells the parts of a line apart; people read the line once.
        if line and (line.file, line.line) != shown:
            shown = (line.file, line.line)
            yield f"    ; {line}: {line.text}".rstrip(": ")
        code = instruction.encode()[:INSTRUCTION_BYTES].hex(" ")
        yield f"{slot:6}: {code}  {instruction_text(instruction, loaded)}"
        slot += instruction.slots


def tracer(loaded: ObjectFile) -> Trace:
    """What shows each instruction, its line and all registers on standard error.

    Parameters
    ----------
    loaded : ObjectFile
        Where the programs are.
    """
    programs = {made.program: made for made in loaded.programs}
    shown: list[tuple[str, int]] = []

    def show(event: Event, instruction: Instruction) -> None:
        made = programs.get(event.program)
        line = None if made is None else made.lines.get(event.slot)
        if line and [(line.file, line.line)] != shown:
            shown[:] = [(line.file, line.line)]
            click.echo(f"; {line}: {line.text}", err=True)
        registers = " ".join(f"{value:x}" for value in event.registers)
        text = instruction_text(instruction, loaded)
        click.echo(f"{event.slot:5}: {text:40} {registers}", err=True)

    return show


def fault_text(loaded: ObjectFile, program: ObjectProgram, result: RunResult) -> str:
    """A sentence about how a run ended: where, why, after how many instructions."""
    place = loaded.name
    if program.section:
        place += f", {program.section}:{program.name}"
    if result.slot is not None:
        place += f", instruction {result.slot}"
        # After a tail call the slot may be another program's.
        alone = all(made.spec.kind is not MapType.PROG_ARRAY for made in loaded.maps)
        if alone and (line := program.line_at(result.slot)):
            place += f" ({line}: {line.text})"
    text = f"{place}: {result.fault.name.lower().replace('_', ' ')}"
    if result.instructions is not None:
        many = "" if result.instructions == 1 else "s"
        text += f" after {result.instructions} instruction{many}"
    return text
