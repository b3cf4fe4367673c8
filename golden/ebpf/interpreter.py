"""The reference machine: one instruction after the other, as the text of RFC 9669 says it."""

import operator
from collections.abc import Callable, Mapping

from fanweave.golden.ebpf.arithmetic import MASK32, MASK64, alu, byte_order, compare, signed
from fanweave.golden.ebpf.event import Event, Frame, frame_pointer
from fanweave.golden.ebpf.helpers import call_helper
from fanweave.golden.ebpf.maps import ProgramArray
from fanweave.golden.ebpf.memory import MachineFaultError, Memory
from fanweave.golden.ebpf.program import Program, wide_value
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import (
    FRAME_POINTER,
    AluOperation,
    AtomicOperation,
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES, TAIL_CALLS, FaultCause
from fanweave.golden.isa.ebpf_maps import Errno

__all__ = ["Trace", "advance", "atomic", "interpret", "step"]

#: Called with the event before each instruction.
Trace = Callable[[Event, Instruction], None]

_TAIL_CALL = next(number for number, helper in HELPERS.items() if helper.name == "tail_call")
_C = InstructionClass
_PLAIN_ATOMICS: dict[int, Callable[[int, int], int]] = {
    AtomicOperation.ADD: operator.add,
    AtomicOperation.OR: operator.or_,
    AtomicOperation.AND: operator.and_,
    AtomicOperation.XOR: operator.xor,
}
#: What stands in the second slot of a 64-bit immediate load: no instruction.
_MIDDLE = Instruction(0)


def interpret(
    event: Event, programs: Mapping[int, Program], budget: int, trace: Trace | None = None
) -> None:
    """Run an event to its end.

    Parameters
    ----------
    event : Event
        Changes.
    programs : mapping of int to Program
        What program arrays name.
    budget : int
        Instructions that may be executed.
    trace : callable, optional
        Sees every instruction before it is executed.

    Raises
    ------
    MachineFaultError
        If the event ends early; the event says where.
    """
    while not advance(event, programs, budget, trace):
        pass


def advance(
    event: Event, programs: Mapping[int, Program], budget: int, trace: Trace | None = None
) -> bool:
    """Execute the next instruction of an event; returns whether the event has ended.

    See `interpret`.
    """
    slots = event.program.slots
    if not 0 <= event.slot < len(slots):
        raise MachineFaultError(FaultCause.END_OF_PROGRAM)
    instruction = slots[event.slot] or _MIDDLE
    if event.executed >= budget:
        raise MachineFaultError(FaultCause.WATCHDOG)
    if trace is not None:
        trace(event, instruction)
    event.executed += 1
    return step(event, instruction, programs)


def step(event: Event, instruction: Instruction, programs: Mapping[int, Program]) -> bool:
    """Execute one instruction; returns whether the event has ended."""
    kind = instruction.instruction_class
    if fault_of(instruction) is not None:
        raise _illegal()
    if kind in (_C.JMP, _C.JMP32):
        return _jump(event, instruction, programs)
    if kind in (_C.ALU, _C.ALU64):
        _arithmetic(event, instruction)
    elif kind is _C.LD:
        _load_immediate(event, instruction)
    elif kind is _C.LDX:
        _load(event, instruction)
    else:
        _store(event, instruction)
    event.slot += instruction.slots
    return False


def _illegal() -> MachineFaultError:
    return MachineFaultError(FaultCause.ILLEGAL_INSTRUCTION)


def _arithmetic(event: Event, instruction: Instruction) -> None:
    bits = 64 if instruction.instruction_class is _C.ALU64 else 32
    operation = AluOperation(instruction.opcode >> 4)
    dst = event.registers[instruction.dst]
    from_register = bool(instruction.opcode & 8)
    if operation is AluOperation.END:
        swap = bits == 64 or from_register
        event.registers[instruction.dst] = byte_order(dst, instruction.imm, swap=swap)
        return
    src = event.registers[instruction.src] if from_register else instruction.imm & MASK64
    result = alu(operation, dst, src, offset=instruction.offset, bits=bits)
    event.registers[instruction.dst] = result


def _load_immediate(event: Event, instruction: Instruction) -> None:
    try:
        value = wide_value(instruction)
    except InputError:
        raise _illegal() from None
    event.registers[instruction.dst] = value


def _address(register: int, offset: int) -> int:
    return register + offset & MASK64


def _load(event: Event, instruction: Instruction) -> None:
    size = Size(instruction.opcode >> 3 & 3)
    mode = instruction.opcode >> 5
    address = _address(event.registers[instruction.src], instruction.offset)
    value = event.memory.load(address, size.bytes)
    if mode == Mode.MEMSX:
        value = signed(value, 8 * size.bytes) & MASK64
    event.registers[instruction.dst] = value


def _store(event: Event, instruction: Instruction) -> None:
    size = Size(instruction.opcode >> 3 & 3)
    mode = instruction.opcode >> 5
    address = _address(event.registers[instruction.dst], instruction.offset)
    from_register = instruction.instruction_class is _C.STX
    if mode == Mode.ATOMIC:
        _atomic(event, instruction, size, address)
        return
    value = event.registers[instruction.src] if from_register else instruction.imm & MASK64
    event.memory.store(address, size.bytes, value)


def _atomic(event: Event, instruction: Instruction, size: Size, address: int) -> None:
    fetch = bool(instruction.imm & AtomicOperation.FETCH)
    exchange = instruction.imm == AtomicOperation.CMPXCHG
    src, r0 = event.registers[instruction.src], event.registers[0]
    old = atomic(event.memory, instruction.imm, size, address, src, r0)
    if exchange:
        event.registers[0] = old
    elif fetch:
        event.registers[instruction.src] = old


def atomic(memory: Memory, operation: int, size: Size, address: int, src: int, r0: int) -> int:
    """Change a word in memory; returns what it was.

    Raises
    ------
    MachineFaultError
        If the address is not aligned or not there.
    """
    if address % size.bytes:
        raise MachineFaultError(FaultCause.MISALIGNED_ATOMIC)
    mask = (1 << 8 * size.bytes) - 1
    old = memory.load(address, size.bytes)
    if operation == AtomicOperation.CMPXCHG:
        new = src if old == r0 & mask else old
    elif operation == AtomicOperation.XCHG:
        new = src
    else:
        new = _PLAIN_ATOMICS[operation & ~AtomicOperation.FETCH](old, src)
    memory.store(address, size.bytes, new)
    return old


def _jump(event: Event, instruction: Instruction, programs: Mapping[int, Program]) -> bool:
    narrow = instruction.instruction_class is _C.JMP32
    operation = JumpOperation(instruction.opcode >> 4)
    if operation is JumpOperation.JA:
        event.slot += 1 + (instruction.imm if narrow else instruction.offset)
        return False
    if operation is JumpOperation.EXIT:
        return _exit(event)
    if operation is JumpOperation.CALL:
        return _call(event, instruction, programs)
    from_register = bool(instruction.opcode & 8)
    src = event.registers[instruction.src] if from_register else instruction.imm & MASK64
    taken = compare(operation, event.registers[instruction.dst], src, bits=32 if narrow else 64)
    event.slot += 1 + (instruction.offset if taken else 0)
    return False


def _exit(event: Event) -> bool:
    if not event.frames:
        return True
    frame = event.frames.pop()
    event.registers[6:10] = frame.saved
    event.registers[FRAME_POINTER] = frame_pointer(len(event.frames))
    event.memory.frames = len(event.frames) + 1
    event.program = frame.program
    event.slot = frame.slot
    return False


def _call(event: Event, instruction: Instruction, programs: Mapping[int, Program]) -> bool:
    if instruction.src == CallKind.LOCAL:
        if len(event.frames) + 1 >= CALL_FRAMES:
            raise MachineFaultError(FaultCause.CALL_DEPTH)
        event.frames.append(Frame(event.slot + 1, tuple(event.registers[6:10]), event.program))
        event.registers[6:10] = (0, 0, 0, 0)
        event.registers[FRAME_POINTER] = frame_pointer(len(event.frames))
        event.memory.frames = len(event.frames) + 1
        event.slot += 1 + instruction.imm
        return False
    if instruction.src != CallKind.HELPER:
        raise _illegal()
    arguments = tuple(event.registers[1:6])
    if instruction.imm == _TAIL_CALL:
        _tail_call(event, arguments, programs)
        return False
    event.registers[0] = call_helper(instruction.imm, arguments, event.memory, event.engine)
    event.slot += 1
    return False


def _tail_call(event: Event, arguments: tuple[int, ...], programs: Mapping[int, Program]) -> None:
    """Go on in another program; where there is none, go on with an error."""
    found = event.memory.map_of(arguments[1], HELPERS[_TAIL_CALL].maps)
    assert isinstance(found, ProgramArray)
    number = found.entry(arguments[2] & MASK32)
    if number is None or number not in programs or event.tail_calls >= TAIL_CALLS:
        event.registers[0] = -Errno.NOENT & MASK64
        event.slot += 1
        return
    event.tail_calls += 1
    event.program = programs[number]
    event.slot = 0
