"""The checks that a loader in hardware makes: the shape of a program, without running it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

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


def check_program(
    program: Program,
    *,
    maps: int = 0,
    max_slots: int = MAX_SLOTS,
    lines: Mapping[int, str] | None = None,
    functions: Mapping[int, str] | None = None,
) -> None:
    """Refuse a program that no machine may be given.

    Parameters
    ----------
    program : Program
        The program.
    maps : int
        Maps that it may name.
    max_slots : int
        Slots of the instruction memory.
    lines : mapping of int to str, optional
        By slot: place and text of the source's line, for messages.
    functions : mapping of int to str, optional
        By first slot: names of functions, for messages.

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
    for slot, instruction in enumerate(slots):
        if instruction is None:
            continue
        fault = fault_of(instruction) or _reference_fault(instruction, maps)
        if fault is None:
            fault = _target_fault(program, slot, instruction)
        if fault is not None:
            line = (lines or {}).get(slot)
            place = f"{program.name}, instruction {slot}" + (f", {line}" if line else "")
            raise InputError(f"{place}: {fault}")
    _check_end(program)
    _check_calls(program, functions or {})


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
            known = (
                f"there are {maps}" if maps else "there are none; --maps-in or --maps defines them"
            )
            return f"map {instruction.imm} does not exist; {known}"
    is_call = instruction.opcode == JumpOperation.CALL << 4 | InstructionClass.JMP
    if is_call and instruction.src == CallKind.BTF:
        return "calls by BTF id are not possible here"
    if is_call and instruction.src == CallKind.HELPER and instruction.imm not in HELPERS:
        known = ", ".join(f"{number} {helper.name}" for number, helper in HELPERS.items())
        name = helper_name(instruction.imm)
        return f"helper {instruction.imm} ({name}) is not supported; supported are {known}"
    return None


def _targets(slot: int, instruction: Instruction) -> Iterator[int]:
    """Where a jump can go besides the next instruction."""
    if instruction.instruction_class not in _JUMPS:
        return
    operation = instruction.opcode >> 4
    if operation in (JumpOperation.EXIT, JumpOperation.CALL):
        return
    long = operation == JumpOperation.JA and instruction.instruction_class is InstructionClass.JMP32
    yield slot + 1 + (instruction.imm if long else instruction.offset)


def _target_fault(program: Program, slot: int, instruction: Instruction) -> str | None:
    """What is wrong with where an instruction leads."""
    targets = list(_targets(slot, instruction))
    if _is_local_call(instruction):
        targets.append(slot + 1 + instruction.imm)
    for target in targets:
        if not 0 <= target < len(program.slots):
            return f"it leads to slot {target}; the program has {len(program.slots)}"
        if program.slots[target] is None:
            return f"it leads into the middle of the 64-bit immediate load at {target - 1}"
    return None


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


def _check_calls(program: Program, functions: Mapping[int, str]) -> None:
    """Bound the depth of local calls.

    Frame by frame: what is called from there, by code that is reached without a return. However
    many functions there are, each slot is looked at once a frame.
    """
    callers: list[dict[int, int]] = [{0: -1}]
    while len(callers) <= CALL_FRAMES:
        called = _callees(program, callers[-1])
        if not called:
            return
        callers.append(called)
    for entry in callers[-1]:
        chain = [entry]
        for frame in reversed(callers[1:]):
            chain.append(frame[chain[-1]])
        chain.reverse()
        for place, function in enumerate(chain):
            if function in chain[:place]:
                loop = chain[chain.index(function) + 1 : place]
                raise InputError(
                    f"{program.name}: {_name(function, functions)} calls itself"
                    f"{_by_way_of(loop, functions)}; write a loop, as no recursion is possible"
                )
    raise InputError(
        f"{program.name}: local calls are more than {CALL_FRAMES} deep: "
        + " calls ".join(_name(function, functions) for function in chain)
    )


def _name(entry: int, functions: Mapping[int, str]) -> str:
    return f"{functions[entry]!r}" if entry in functions else f"the function at {entry}"


def _by_way_of(loop: Sequence[int], functions: Mapping[int, str]) -> str:
    names = " and ".join(_name(function, functions) for function in loop)
    return f" by way of {names}" if loop else ""


def _callees(program: Program, entries: Iterable[int]) -> dict[int, int]:
    """Functions that the code of some functions calls -> one of those that do."""
    found: dict[int, int] = {}
    seen: set[int] = set()
    for entry in entries:
        waiting = [entry]
        while waiting:
            slot = waiting.pop()
            if slot in seen or slot >= len(program.slots):
                continue
            seen.add(slot)
            instruction = program.slots[slot]
            assert instruction is not None
            if _is_local_call(instruction):
                found.setdefault(slot + 1 + instruction.imm, entry)
            waiting += _targets(slot, instruction)
            if not _ends(instruction):
                waiting.append(slot + instruction.slots)
    return found
