"""Loads, stores and atomic operations: what may be accessed, and what comes of it."""

from fanweave.golden.isa.ebpf import AtomicOperation
from fanweave.golden.isa.ebpf_machine import FRAME_BYTES
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.origins import mark_counting
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import of_bytes
from fanweave.sw.ebpf.verifier.stack import WORD
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import NOT_NULL, Kind, Value, number

__all__ = ["atomic", "load", "read_bytes", "store", "write_bytes"]

_BOUNDS_RULE = {
    Kind.CONTEXT: Rule.CONTEXT_BOUNDS,
    Kind.STACK: Rule.STACK_BOUNDS,
    Kind.VALUE: Rule.VALUE_BOUNDS,
    Kind.RECORD: Rule.RECORD_BOUNDS,
}


class _Place:
    """Where an access lies: from `low` on, if it is not known better, up to `high`.

    On the stack places are counted from the lowest byte of the frame.
    """

    __slots__ = ("high", "low", "value")

    def __init__(self, value: Value, low: int, high: int) -> None:
        self.value = value
        self.low = low
        self.high = high

    @property
    def is_known(self) -> bool:
        return self.low == self.high


def _locate(
    environment: Environment,
    state: State,
    register: int,
    offset: int,
    size: int,
    *,
    read: bool,
    write: bool,
) -> _Place:
    """Check an access of so many bytes at a register's address."""
    value = state.read(register)
    kind = value.kind
    if kind in NOT_NULL:
        raise Violation(Rule.NULL_CHECK, environment.say(register, value))
    if kind not in _BOUNDS_RULE:
        raise Violation(Rule.NO_ADDRESS, environment.say(register, value))
    low, high = value.scalar.full.smin + offset, value.scalar.full.smax + offset
    available = value.size
    if kind is Kind.STACK:
        low, high, available = low + FRAME_BYTES, high + FRAME_BYTES, FRAME_BYTES
    elif kind is Kind.CONTEXT:
        available = state.context_bytes
    if low < 0 or high + size > available:
        raise Violation(
            _BOUNDS_RULE[kind],
            f"{environment.say(register, value)}; {_extent(low, high, size, kind)}, "
            f"{_room(kind, available)}",
        )
    _permit(environment, register, value, read=read, write=write)
    if kind is Kind.STACK:
        environment.touch_stack(value.place, FRAME_BYTES - low)
    elif kind is Kind.CONTEXT:
        environment.touch_context(high + size)
    return _Place(value, low, high)


def _extent(low: int, high: int, size: int, kind: Kind) -> str:
    if kind is Kind.STACK:
        low, high = low - FRAME_BYTES, high - FRAME_BYTES
    where = f"at {low}" if low == high else f"at {low} to {high}"
    return f"an access of {size} bytes {where}"


def _room(kind: Kind, available: int) -> str:
    if kind is Kind.STACK:
        return f"where the frame has {-FRAME_BYTES} to -1"
    return f"where {available} bytes are"


def _permit(
    environment: Environment, register: int, value: Value, *, read: bool, write: bool
) -> None:
    """Whether memory may be read or written at all."""
    if value.kind is Kind.CONTEXT and write and not environment.context.writable:
        raise Violation(Rule.CONTEXT_READ_ONLY, environment.say(register, value))
    if value.kind is Kind.VALUE:
        if read and not environment.readable(value.place):
            raise Violation(Rule.MAP_WRITE_ONLY, environment.say(register, value))
        if write and not environment.writable(value.place):
            raise Violation(Rule.MAP_READ_ONLY, environment.say(register, value))


def load(environment: Environment, state: State, register: int, offset: int, size: int) -> Value:
    """What a load gives.

    Raises
    ------
    Violation
        If it is not allowed.
    """
    place = _locate(environment, state, register, offset, size, read=True, write=False)
    if place.value.kind is not Kind.STACK:
        return number(of_bytes(size))
    stack = state.stack(place.value.place)
    if place.is_known:
        return stack.read(place.low, size)
    stack.read_any(place.low, place.high - place.low + size)
    return number(of_bytes(size))


def store(
    environment: Environment,
    state: State,
    register: int,
    offset: int,
    size: int,
    value: Value,
    source: int | None,
) -> None:
    """Store a value, which may be that of a register.

    Raises
    ------
    Violation
        If it is not allowed.
    """
    place = _locate(environment, state, register, offset, size, read=False, write=True)
    if value.kind is not Kind.NUMBER:
        assert source is not None
        _permit_address(place, size, value, environment.say(source, value))
    if place.value.kind is not Kind.STACK:
        return
    stack = state.changing_stack(place.value.place)
    if place.is_known:
        stack.write(place.low, size, value)
        return
    zero = value.constant == 0
    if zero:
        mark_counting(value.sources)
    stack.write_somewhere(place.low, place.high - place.low + size, zero=zero)


def _permit_address(place: _Place, size: int, value: Value, said: str) -> None:
    """An address is stored as a whole, in a frame that does not outlive what it points to."""
    on_stack = place.value.kind is Kind.STACK and place.is_known
    if not on_stack or size != WORD or place.low % WORD:
        raise Violation(Rule.ADDRESS_STORED, said)
    if value.kind is Kind.STACK and value.place > place.value.place:
        raise Violation(Rule.FRAME_ENDS, said)


def atomic(
    environment: Environment,
    state: State,
    operation: int,
    dst: int,
    src: int,
    offset: int,
    size: int,
) -> None:
    """An atomic operation, with what it fetches.

    Raises
    ------
    Violation
        If it is not allowed.
    """
    compares = operation == AtomicOperation.CMPXCHG
    for register in (src, 0) if compares else (src,):
        if state.read(register).kind is not Kind.NUMBER:
            said = environment.say(register, state.read(register))
            raise Violation(Rule.ADDRESS_STORED, said)
    place = _locate(environment, state, dst, offset, size, read=True, write=True)
    full = place.value.scalar.full
    if full.mask & (size - 1) or full.value + offset & (size - 1):
        raise Violation(
            Rule.ATOMIC_ALIGNMENT,
            f"{environment.say(dst, place.value)}; the operation has {size} bytes at {offset:+d}",
        )
    if place.value.kind is Kind.STACK:
        stack = state.changing_stack(place.value.place)
        length = place.high - place.low + size
        stack.read_any(place.low, length)
        if place.is_known:
            stack.write_any(place.low, size)
        else:
            stack.write_somewhere(place.low, length, zero=False)
    if operation & AtomicOperation.FETCH:
        state.write(0 if compares else src, number(of_bytes(size)))


def read_bytes(environment: Environment, state: State, register: int, size: int) -> None:
    """A helper reads so many bytes at a register's address.

    Raises
    ------
    Violation
        If they may not be read.
    """
    if size == 0:
        state.read(register)
        return
    place = _locate(environment, state, register, 0, size, read=True, write=False)
    if place.value.kind is Kind.STACK:
        length = place.high - place.low + size
        state.stack(place.value.place).read_any(place.low, length)


def write_bytes(environment: Environment, state: State, register: int, size: int) -> None:
    """A helper writes so many bytes at a register's address.

    Raises
    ------
    Violation
        If they may not be written.
    """
    place = _locate(environment, state, register, 0, size, read=False, write=True)
    if place.value.kind is not Kind.STACK:
        return
    stack = state.changing_stack(place.value.place)
    if place.is_known:
        stack.write_any(place.low, size)
    else:
        stack.write_somewhere(place.low, place.high - place.low + size, zero=False)
