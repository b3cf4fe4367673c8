"""One instruction: what a state becomes by it."""

from fanweave.golden.isa.ebpf import (
    CallKind,
    Instruction,
    InstructionClass,
    JumpOperation,
    Mode,
    Size,
    WideKind,
)
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.verifier import access, arithmetic
from fanweave.sw.ebpf.verifier.branches import branch
from fanweave.sw.ebpf.verifier.calls import TAIL_CALL, enter, leave, tail_call
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.helper_calls import call_helper
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar, sign_extend
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import Kind, Value, number

__all__ = ["step"]

_C = InstructionClass
_ALU, _ALU64, _JMP, _JMP32 = int(_C.ALU), int(_C.ALU64), int(_C.JMP), int(_C.JMP32)
_LD, _LDX, _STX = int(_C.LD), int(_C.LDX), int(_C.STX)
_JA, _CALL, _EXIT = int(JumpOperation.JA), int(JumpOperation.CALL), int(JumpOperation.EXIT)
_ATOMIC, _MEMSX = int(Mode.ATOMIC), int(Mode.MEMSX)
_SIZES = tuple(Size(code).bytes for code in range(4))
_MAPS = (WideKind.MAP_FD, WideKind.MAP_INDEX)
_ZERO = Scalar.constant(0)
_WORD = 8


def step(environment: Environment, state: State, instruction: Instruction) -> list[State]:
    """Execute the instruction at a state's slot.

    Parameters
    ----------
    environment : Environment
        What the program works with.
    state : State
        Changes.
    instruction : Instruction
        A legal one, as `check_program` finds out.

    Returns
    -------
    list of State
        What is possible afterwards; nothing if the program ends.

    Raises
    ------
    Violation
        If a rule is violated.
    """
    kind = instruction.opcode & 7
    if kind in (_ALU, _ALU64):
        arithmetic.execute(environment, state, instruction)
    elif kind in (_JMP, _JMP32):
        return _jump(environment, state, instruction, kind)
    elif kind == _LDX:
        _load(environment, state, instruction)
    elif kind == _LD:
        state.write(instruction.dst, _immediate(environment, instruction))
        state.slot += 1
    else:
        _store(environment, state, instruction, kind)
    state.slot += 1
    return [state]


def _jump(
    environment: Environment, state: State, instruction: Instruction, kind: int
) -> list[State]:
    operation = instruction.opcode >> 4
    if operation == _JA:
        state.slot += 1 + (instruction.imm if kind == _JMP32 else instruction.offset)
        return [state]
    if operation == _EXIT:
        return [] if leave(environment, state) else [state]
    if operation != _CALL:
        return branch(environment, state, instruction)
    if instruction.src == CallKind.LOCAL:
        enter(state, state.slot + 1 + instruction.imm)
        return [state]
    if instruction.imm == TAIL_CALL:
        environment.note_tail_call(state.depth)
        return tail_call(environment, state)
    call_helper(environment, state, HELPERS[instruction.imm])
    state.slot += 1
    return [state]


def _load(environment: Environment, state: State, instruction: Instruction) -> None:
    size = _SIZES[instruction.opcode >> 3 & 3]
    value = access.load(environment, state, instruction.src, instruction.offset, size)
    if instruction.opcode >> 5 == _MEMSX:
        value = number(sign_extend(value.scalar, 8 * size), value.sources)
    state.write(instruction.dst, value)


def _store(environment: Environment, state: State, instruction: Instruction, kind: int) -> None:
    size = _SIZES[instruction.opcode >> 3 & 3]
    dst, src, offset = instruction.dst, instruction.src, instruction.offset
    if instruction.opcode >> 5 == _ATOMIC:
        access.atomic(environment, state, instruction.imm, dst, src, offset, size)
        return
    if kind != _STX:
        value = number(Scalar.constant(instruction.imm))
        access.store(environment, state, dst, offset, size, value, None)
        return
    value = state.recognised(src, environment.identity) if size == _WORD else state.read(src)
    access.store(environment, state, dst, offset, size, value, src)


def _immediate(environment: Environment, instruction: Instruction) -> Value:
    """What a 64-bit immediate load gives."""
    if instruction.src == WideKind.IMMEDIATE:
        return number(Scalar.constant(instruction.imm64))
    spec = environment.maps[instruction.imm]
    environment.use_map(instruction.imm)
    if instruction.src in _MAPS:
        return Value(Kind.MAP, _ZERO, place=instruction.imm)
    place = instruction.high & 0xFFFF_FFFF
    pitch = -(-spec.value_size // _WORD) * _WORD
    if spec.kind is not MapType.ARRAY:
        raise Violation(Rule.MAP_VALUE_ADDRESS, f"map {spec.name!r} is of type {spec.kind.name}")
    if place >= pitch * spec.max_entries or place % pitch >= spec.value_size:
        raise Violation(
            Rule.MAP_VALUE_ADDRESS,
            f"map {spec.name!r} has {spec.max_entries} values of {spec.value_size} bytes, none of "
            f"them with a byte at {place}",
        )
    return Value(
        Kind.VALUE, Scalar.constant(place % pitch), place=instruction.imm, size=spec.value_size
    )
