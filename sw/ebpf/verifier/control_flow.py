"""What is known of a program's control flow before it is followed: where paths meet and end."""

from collections import defaultdict
from collections.abc import Iterator

from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf import CallKind, Instruction, InstructionClass, JumpOperation

__all__ = ["ending_slots", "meeting_slots"]

_JUMPS = (InstructionClass.JMP, InstructionClass.JMP32)
_CALL = JumpOperation.CALL << 4 | InstructionClass.JMP


def _successors(slot: int, instruction: Instruction) -> Iterator[int]:
    """Where control goes, in the function: a call is a step to the next instruction."""
    kind = instruction.instruction_class
    operation = instruction.opcode >> 4
    if kind in _JUMPS and operation == JumpOperation.EXIT:
        return
    if kind in _JUMPS and operation == JumpOperation.JA:
        long = kind is InstructionClass.JMP32
        yield slot + 1 + (instruction.imm if long else instruction.offset)
        return
    yield slot + instruction.slots
    if kind in _JUMPS and operation != JumpOperation.CALL:
        yield slot + 1 + instruction.offset


def _predecessors(program: Program) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for slot, instruction in enumerate(program.slots):
        if instruction is not None:
            for successor in _successors(slot, instruction):
                found[successor].append(slot)
    return found


def meeting_slots(program: Program) -> frozenset[int]:
    """Slots that more than one instruction leads to, and those behind local calls."""
    calls = {
        slot: slot + 1 + instruction.imm
        for slot, instruction in enumerate(program.slots)
        if instruction is not None
        and instruction.opcode == _CALL
        and instruction.src == CallKind.LOCAL
    }
    # What begins a program or a function is reached without an instruction before it.
    entries = {0, *calls.values()}
    met = {
        slot
        for slot, before in _predecessors(program).items()
        if len(before) + (slot in entries) > 1
    }
    return frozenset(met | {slot + 1 for slot in calls})


def ending_slots(program: Program) -> frozenset[int]:
    """Slots from which an exit of the function can be reached."""
    before = _predecessors(program)
    waiting = [
        slot
        for slot, instruction in enumerate(program.slots)
        if instruction is not None and not list(_successors(slot, instruction))
    ]
    found: set[int] = set()
    while waiting:
        slot = waiting.pop()
        if slot not in found:
            found.add(slot)
            waiting += before.get(slot, ())
    return frozenset(found)
