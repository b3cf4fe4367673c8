"""Conditional jumps: which ways are possible, and what each of them teaches."""

from fanweave.golden.isa.ebpf import Instruction, InstructionClass, JumpOperation
from fanweave.sw.ebpf.verifier.arithmetic import operand
from fanweave.sw.ebpf.verifier.conditions import learn, of_itself
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.origins import mark_counting
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import CONTEXT_LENGTH, NOT_NULL, Kind, Value

__all__ = ["branch"]

_EQUALITY = (JumpOperation.JEQ, JumpOperation.JNE)
_JMP32 = int(InstructionClass.JMP32)
_REGISTER = 8


def branch(environment: Environment, state: State, instruction: Instruction) -> list[State]:
    """States behind a conditional jump, their slots set; the given one is among them or unused.

    Raises
    ------
    Violation
        If an operand was not set, or an address is compared with what it cannot be compared with.
    """
    operation = instruction.opcode >> 4
    a, b = state.read(instruction.dst), operand(state, instruction)
    onward, target = state.slot + 1, state.slot + 1 + instruction.offset
    if a.kind is Kind.NUMBER and b.kind is Kind.NUMBER:
        return _numbers(state, instruction, a, b, onward, target)
    taken = _addresses(environment, state, instruction, a, b)
    if taken is not None:
        state.slot = target if taken else onward
        return [state]
    other = state.copy()
    state.slot, other.slot = onward, target
    for value in (a, b):
        if value.kind in NOT_NULL and operation in _EQUALITY:
            equal = operation == JumpOperation.JEQ
            state.settle_null(value, null=not equal)
            other.settle_null(value, null=equal)
    return [state, other]


def _numbers(
    state: State, instruction: Instruction, a: Value, b: Value, onward: int, target: int
) -> list[State]:
    operation = instruction.opcode >> 4
    bits = 32 if instruction.opcode & 7 == _JMP32 else 64
    if instruction.opcode & _REGISTER and instruction.src == instruction.dst:
        always = of_itself(operation)
        if always is not None:
            state.slot = target if always else onward
            return [state]
    found = {
        slot: learn(operation, a.scalar, b.scalar, taken=taken, bits=bits)
        for slot, taken in ((onward, False), (target, True))
    }
    if onward == target:
        state.slot = onward
        return [state]
    possible = [(slot, learnt) for slot, learnt in found.items() if learnt is not None]
    if len(possible) < 2:
        # Only because of what these numbers are.
        mark_counting(a.sources)
        mark_counting(b.sources)
    states = [state] + [state.copy() for _ in possible[1:]]
    ways = list(zip(states, possible, strict=False))
    for way, (slot, learnt) in ways:
        way.slot = slot
        _note(way, instruction, a, b, learnt)
    return [way for way, _ in ways]


def _note(
    state: State, instruction: Instruction, a: Value, b: Value, learnt: tuple[Scalar, Scalar]
) -> None:
    """Write down what a condition taught about its operands."""
    frame = state.frames[-1]
    from_register = bool(instruction.opcode & _REGISTER)
    operands = [(instruction.dst, a, b, learnt[0])]
    if from_register and instruction.src != instruction.dst:
        operands.append((instruction.src, b, a, learnt[1]))
    for register, value, other, scalar in operands:
        if scalar is value.scalar:
            continue
        known = state.learn(value, scalar, other.sources)
        frame.registers[register] = known
        if value.identity == CONTEXT_LENGTH and scalar.full.umin > state.context_bytes:
            state.context_bytes = scalar.full.umin
            mark_counting(known.sources)


def _addresses(
    environment: Environment, state: State, instruction: Instruction, a: Value, b: Value
) -> bool | None:
    """Whether a jump that looks at an address is taken; None if both is possible."""
    operation = instruction.opcode >> 4
    narrow = instruction.opcode & 7 == _JMP32
    both = a.kind is not Kind.NUMBER and b.kind is not Kind.NUMBER
    zero = not both and 0 in (a.constant, b.constant)
    if narrow or operation == JumpOperation.JSET or not (both or (zero and operation in _EQUALITY)):
        register, value = (
            (instruction.dst, a) if a.kind is not Kind.NUMBER else (instruction.src, b)
        )
        raise Violation(Rule.ADDRESS_COMPARISON, environment.say(register, value))
    if both:
        # Nothing is learnt, not even of what may be null.
        if a.kind in NOT_NULL or b.kind in NOT_NULL:
            register, value = (instruction.dst, a) if a.kind in NOT_NULL else (instruction.src, b)
            raise Violation(Rule.NULL_CHECK, environment.say(register, value))
        return None
    mark_counting(a.sources)
    mark_counting(b.sources)
    address = a if a.kind is not Kind.NUMBER else b
    if address.kind in NOT_NULL:
        return None
    return operation == JumpOperation.JNE
