"""The checks that a loader in hardware makes: the shape of a program, without running it."""

from collections.abc import Iterator

from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    WideKind,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES
from fanweave.golden.isa.ebpf_names import helper_name

__all__ = ["MAX_SLOTS", "check_program"]

#: Slots of the largest program.
MAX_SLOTS = 65_536
_JUMPS = (InstructionClass.JMP, InstructionClass.JMP32)


def check_program(program: Program, *, maps: int = 0, max_slots: int = MAX_SLOTS) -> None:
    """Refuse a program that no machine may be given.

    Parameters
    ----------
    program : Program
        The program.
    maps : int
        Maps that it may name.
    max_slots : int
        Slots of the instruction memory.

    Raises
    ------
    InputError
        If an instruction does not exist or has a field that must be zero, a jump or a call leads
        outside or into the middle of an instruction, a helper or a map is unknown, control can
        run off the end, local calls are recursive or too deep, or the program is empty or too
        long. The message names the program and the slot.
    """
    slots = program.slots
    if not slots:
        raise InputError(f"{program.name}: the program is empty; it needs an exit at least")
    if len(slots) > max_slots:
        raise InputError(f"{program.name}: {len(slots)} slots; at most {max_slots} are possible")
    calls: dict[int, set[int]] = {}
    for slot, instruction in enumerate(slots):
        if instruction is None:
            continue
        fault = fault_of(instruction) or _reference_fault(instruction, maps)
        if fault is not None:
            raise InputError(f"{program.name}, instruction {slot}: {fault}")
        for target in _targets(slot, instruction):
            _check_target(program, slot, target)
        if _is_local_call(instruction):
            calls.setdefault(slot + 1 + instruction.imm, set()).add(slot)
    _check_end(program)
    _check_calls(program, set(calls))


def _is_local_call(instruction: Instruction) -> bool:
    return instruction.opcode == JumpOperation.CALL << 4 | InstructionClass.JMP and (
        instruction.src == CallKind.LOCAL
    )


def _reference_fault(instruction: Instruction, maps: int) -> str | None:
    """What is wrong with a helper or a map that an instruction names."""
    if instruction.is_wide and instruction.src != WideKind.IMMEDIATE:
        if instruction.src in (WideKind.VARIABLE, WideKind.CODE):
            return f"64-bit immediate loads of kind {instruction.src} are not possible here"
        if not 0 <= instruction.imm < maps:
            return f"map {instruction.imm} does not exist; there are {maps}"
    is_call = instruction.opcode == JumpOperation.CALL << 4 | InstructionClass.JMP
    if is_call and instruction.src == CallKind.BTF:
        return "calls by BTF id are not possible here"
    if is_call and instruction.src == CallKind.HELPER and instruction.imm not in HELPERS:
        known = ", ".join(f"{number} {helper.name}" for number, helper in HELPERS.items())
        name = helper_name(instruction.imm)
        return f"helper {instruction.imm} ({name}) is not supported; supported are {known}"
    return None


def _targets(slot: int, instruction: Instruction) -> Iterator[int]:
    """Where an instruction can go besides the next one."""
    if instruction.instruction_class not in _JUMPS:
        return
    operation = instruction.opcode >> 4
    if operation == JumpOperation.EXIT:
        return
    if operation == JumpOperation.CALL:
        if instruction.src == CallKind.LOCAL:
            yield slot + 1 + instruction.imm
        return
    long = operation == JumpOperation.JA and instruction.instruction_class is InstructionClass.JMP32
    yield slot + 1 + (instruction.imm if long else instruction.offset)


def _check_target(program: Program, slot: int, target: int) -> None:
    if not 0 <= target < len(program.slots):
        raise InputError(
            f"{program.name}, instruction {slot}: it leads to slot {target}; the program has "
            f"{len(program.slots)}"
        )
    if program.slots[target] is None:
        raise InputError(
            f"{program.name}, instruction {slot}: it leads into the middle of the 64-bit "
            f"immediate load at {target - 1}"
        )


def _ends(instruction: Instruction) -> bool:
    """Whether the next instruction is not reached from here."""
    return instruction.instruction_class in _JUMPS and instruction.opcode >> 4 in (
        JumpOperation.JA,
        JumpOperation.EXIT,
    )


def _check_end(program: Program) -> None:
    if not _ends(program.instructions[-1]):
        raise InputError(
            f"{program.name}: control can run off the end; the last instruction must be an exit "
            "or a jump"
        )


def _check_calls(program: Program, functions: set[int]) -> None:
    """Bound the depth of local calls, by the slots that each function can reach."""
    callees = {entry: _callees(program, entry) for entry in functions | {0}}
    depth: dict[int, int] = {}
    path: list[int] = []

    def visit(entry: int) -> int:
        if entry in path:
            raise InputError(f"{program.name}: the function at {entry} calls itself")
        if entry not in depth:
            path.append(entry)
            depth[entry] = 1 + max((visit(callee) for callee in callees[entry]), default=0)
            path.pop()
        return depth[entry]

    if visit(0) > CALL_FRAMES:
        raise InputError(
            f"{program.name}: local calls are {depth[0]} deep; at most {CALL_FRAMES} are possible"
        )


def _callees(program: Program, entry: int) -> set[int]:
    """Functions that the code reachable from an entry calls, without going into them."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [entry]
    while waiting:
        slot = waiting.pop()
        if slot in seen or slot >= len(program.slots):
            continue
        seen.add(slot)
        instruction = program.slots[slot]
        assert instruction is not None
        if _is_local_call(instruction):
            found.add(slot + 1 + instruction.imm)
        else:
            waiting += _targets(slot, instruction)
        if not _ends(instruction):
            waiting.append(slot + instruction.slots)
    return found
