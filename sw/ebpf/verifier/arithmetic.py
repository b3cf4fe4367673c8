"""Arithmetic instructions on numbers and addresses."""

from fanweave.golden.isa.ebpf import AluOperation, Instruction, InstructionClass
from fanweave.sw.ebpf.verifier import scalar
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.origins import mark_counting, union
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import NOT_NULL, Kind, Value, number

__all__ = ["execute", "operand"]

#: How far an address may get from where its memory begins. It is less than the first address of
#: any region, so that no address ever becomes 0.
FARTHEST = 1 << 27
_ADD, _SUB, _MOV, _END = (
    int(operation)
    for operation in (AluOperation.ADD, AluOperation.SUB, AluOperation.MOV, AluOperation.END)
)
_NEG = int(AluOperation.NEG)
_ALU64 = int(InstructionClass.ALU64)
_REGISTER = 8
_MOVABLE = frozenset({Kind.CONTEXT, Kind.STACK, Kind.VALUE, Kind.RECORD})


def operand(state: State, instruction: Instruction) -> Value:
    """The second operand: a register, or the immediate."""
    if instruction.opcode & _REGISTER:
        return state.read(instruction.src)
    return number(Scalar.constant(instruction.imm))


def execute(environment: Environment, state: State, instruction: Instruction) -> None:
    """Execute an instruction of the classes ALU and ALU64.

    Raises
    ------
    Violation
        If an operand was not set, or an address is treated as a number.
    """
    operation = instruction.opcode >> 4
    bits = 64 if instruction.opcode & 7 == _ALU64 else 32
    dst = instruction.dst
    if operation == _MOV:
        _move(environment, state, instruction, bits)
        return
    a = state.read(dst)
    if operation == _END:
        _require_number(environment, dst, a)
        swap = bits == 64 or bool(instruction.opcode & _REGISTER)
        made = scalar.byte_order(a.scalar, instruction.imm, swap=swap)
        state.write(dst, number(made, a.sources))
        return
    b = a if operation == _NEG else operand(state, instruction)
    if a.kind is Kind.NUMBER and b.kind is Kind.NUMBER:
        made = scalar.apply(operation, a.scalar, b.scalar, bits=bits, offset=instruction.offset)
        state.write(dst, number(made, union(a.sources, b.sources)))
        return
    if bits != 64:
        _refuse(environment, instruction, a, b)
    state.write(dst, _move_address(environment, instruction, operation, a, b))


def _require_number(environment: Environment, register: int, value: Value) -> None:
    if value.kind is not Kind.NUMBER:
        raise Violation(Rule.ADDRESS_ARITHMETIC, environment.say(register, value))


def _refuse(environment: Environment, instruction: Instruction, a: Value, b: Value) -> None:
    """Say which operand is the address that is not possible here."""
    if a.kind is not Kind.NUMBER:
        raise Violation(Rule.ADDRESS_ARITHMETIC, environment.say(instruction.dst, a))
    raise Violation(Rule.ADDRESS_ARITHMETIC, environment.say(instruction.src, b))


def _move(environment: Environment, state: State, instruction: Instruction, bits: int) -> None:
    if bits == 64 and not instruction.offset and instruction.opcode & _REGISTER:
        value = state.recognised(instruction.src, environment.identity)
        state.write(instruction.dst, value)
        return
    value = operand(state, instruction)
    _require_number(environment, instruction.src, value)
    made = scalar.move(value.scalar, bits=bits, sign_bits=instruction.offset)
    state.write(instruction.dst, number(made, value.sources))


def _move_address(
    environment: Environment, instruction: Instruction, operation: int, a: Value, b: Value
) -> Value:
    """An address and a number, or the distance of two addresses in the same memory."""
    if operation == _SUB and _same_memory(a, b):
        return number(Scalar.unknown())
    address, distance = (a, b) if a.kind is not Kind.NUMBER else (b, a)
    for register, value in ((instruction.dst, a), (instruction.src, b)):
        if value.kind in NOT_NULL:
            raise Violation(Rule.NULL_CHECK, environment.say(register, value))
    possible = operation == _ADD or (operation == _SUB and address is a)
    if not possible or address.kind not in _MOVABLE or distance.kind is not Kind.NUMBER:
        _refuse(environment, instruction, a, b)
    mark_counting(distance.sources)
    by = distance.scalar.full
    if by.smin < -FARTHEST or by.smax > FARTHEST:
        said = f"it moves by {distance.scalar}; {_limit()}"
        raise Violation(Rule.ADDRESS_RANGE, f"{environment.say(instruction.dst, a)}, {said}")
    moved = scalar.apply(operation, address.scalar, distance.scalar, bits=64)
    if moved.full.smin < -FARTHEST or moved.full.smax > FARTHEST:
        said = f"it would be at {moved}; {_limit()}"
        raise Violation(Rule.ADDRESS_RANGE, f"{environment.say(instruction.dst, a)}, {said}")
    return address.moved(moved)


def _limit() -> str:
    return f"from -{FARTHEST} to {FARTHEST} are possible"


def _same_memory(a: Value, b: Value) -> bool:
    return (
        a.kind in _MOVABLE
        and a.kind is b.kind
        and a.place == b.place
        and (a.kind is not Kind.RECORD or a.identity == b.identity)
    )
