"""Calls of helpers: arguments by their kinds in the table of helpers, and results."""

from fanweave.golden.isa.ebpf_helpers import ArgumentKind, Helper, ResultKind
from fanweave.golden.isa.ebpf_machine import MAPS, map_handle
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.verifier.access import read_bytes, write_bytes
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.origins import mark_counting
from fanweave.sw.ebpf.verifier.ranges import Range
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import BITS, Scalar
from fanweave.sw.ebpf.verifier.state import State
from fanweave.sw.ebpf.verifier.values import Kind, Value, number

__all__ = ["UNKNOWN_MAP", "call_helper"]

#: Number of a map of which no definition is known.
UNKNOWN_MAP = -1
_A = ArgumentKind
_RETURN = 0
_ZERO = Scalar.constant(0)
_MOST_ERRNO = 4095

#: Helpers that change their map, and those that take values out of it.
_CHANGING = frozenset({"map_update_elem", "map_delete_elem", "map_push_elem", "map_pop_elem"})
_READING = frozenset({"map_pop_elem", "map_peek_elem"})


class _Call:
    """What arguments so far say about the later ones, and about the result."""

    __slots__ = ("helper", "length", "map", "record")

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        self.map = UNKNOWN_MAP
        self.length = 0
        self.record = 0


def call_helper(environment: Environment, state: State, helper: Helper) -> None:
    """Check a call and set what it leaves.

    Raises
    ------
    Violation
        If an argument is not what the helper takes.
    """
    environment.used_helpers.add(helper.number)
    call = _Call(helper)
    for register, kind in enumerate(helper.arguments, start=1):
        _ARGUMENTS[kind](environment, state, call, register)
    if call.record:
        state.end_record(call.record)
    state.forget_arguments()
    _result(environment, state, call)


def _number(environment: Environment, state: State, call: _Call, register: int) -> None:
    value = state.read(register)
    if value.kind is not Kind.NUMBER:
        raise Violation(Rule.ADDRESS_AS_NUMBER, environment.say(register, value))


def _context(environment: Environment, state: State, call: _Call, register: int) -> None:
    value = state.read(register)
    if value.kind is not Kind.CONTEXT or value.scalar != _ZERO:
        raise Violation(Rule.CONTEXT_ARGUMENT, environment.say(register, value))


def _map(environment: Environment, state: State, call: _Call, register: int) -> None:
    value = state.read(register)
    if value.kind is Kind.MAP_OR_NULL:
        raise Violation(Rule.NULL_CHECK, environment.say(register, value))
    call.map = _map_number(environment, value, register)
    spec = environment.maps[call.map]
    if spec.kind not in call.helper.maps:
        kinds = ", ".join(sorted(kind.name for kind in call.helper.maps))
        raise Violation(
            Rule.MAP_TYPE,
            f"{environment.say(register, value)}, map {spec.name!r} is of type {spec.kind.name}; "
            f"{call.helper.name} works on {kinds}",
        )
    environment.use_map(call.map)
    if call.helper.name in _READING and spec.flags & MapFlag.WRONLY_PROG:
        raise Violation(Rule.MAP_WRITE_ONLY, environment.say(register, value))
    if call.helper.name in _CHANGING and spec.flags & MapFlag.RDONLY_PROG:
        raise Violation(Rule.MAP_READ_ONLY, environment.say(register, value))


def _map_number(environment: Environment, value: Value, register: int) -> int:
    """The map that a register names; also by a number that is a map's handle."""
    if value.kind is Kind.MAP:
        if value.place == UNKNOWN_MAP:
            raise Violation(Rule.INNER_MAP, environment.say(register, value))
        return value.place
    constant = value.constant
    if constant is not None:
        found = constant - map_handle(0)
        if 0 <= found < min(environment.named, MAPS):
            mark_counting(value.sources)
            return found
    raise Violation(Rule.MAP_ARGUMENT, environment.say(register, value))


def _key(environment: Environment, state: State, call: _Call, register: int) -> None:
    read_bytes(environment, state, register, environment.maps[call.map].key_size)


def _value(environment: Environment, state: State, call: _Call, register: int) -> None:
    read_bytes(environment, state, register, environment.maps[call.map].value_size)


def _written(environment: Environment, state: State, call: _Call, register: int) -> None:
    write_bytes(environment, state, register, environment.maps[call.map].value_size)


def _memory(environment: Environment, state: State, call: _Call, register: int) -> None:
    """Bytes whose number is in the next register."""
    length = state.read(register + 1)
    if length.kind is not Kind.NUMBER:
        raise Violation(Rule.ADDRESS_AS_NUMBER, environment.say(register + 1, length))
    mark_counting(length.sources)
    read_bytes(environment, state, register, length.scalar.full.umax)


def _length(environment: Environment, state: State, call: _Call, register: int) -> None:
    """A number of bytes; what is reserved is at least the least."""
    value = state.read(register)
    if value.kind is not Kind.NUMBER:
        raise Violation(Rule.ADDRESS_AS_NUMBER, environment.say(register, value))
    mark_counting(value.sources)
    call.length = value.scalar.full.umin


def _reserved(environment: Environment, state: State, call: _Call, register: int) -> None:
    value = state.read(register)
    if value.kind is Kind.RECORD_OR_NULL:
        raise Violation(Rule.NULL_CHECK, environment.say(register, value))
    if value.kind is not Kind.RECORD or value.scalar != _ZERO:
        raise Violation(Rule.RECORD_ARGUMENT, environment.say(register, value))
    call.record = value.identity


_ARGUMENTS = {
    _A.ANYTHING: _number,
    _A.CONTEXT: _context,
    _A.MAP: _map,
    _A.KEY: _key,
    _A.VALUE: _value,
    _A.WRITTEN: _written,
    _A.MEMORY: _memory,
    _A.LENGTH: _length,
    _A.RESERVED: _reserved,
}


def _result(environment: Environment, state: State, call: _Call) -> None:
    match call.helper.result:
        case ResultKind.NUMBER:
            value = number(Scalar.unknown())
        case ResultKind.ERROR:
            value = number(_ERROR)
        case ResultKind.VALUE:
            value = _found(environment, call.map)
        case ResultKind.RECORD:
            identity = environment.identity()
            state.records |= {identity}
            value = Value(Kind.RECORD_OR_NULL, _ZERO, identity, call.map, call.length)
        case ResultKind.NOTHING:
            state.unset(_RETURN)
            return
    state.write(_RETURN, value)


def _found(environment: Environment, number_of_map: int) -> Value:
    """What a lookup gives."""
    identity = environment.identity()
    spec = environment.maps[number_of_map]
    if spec.kind is MapType.ARRAY_OF_MAPS:
        template = environment.inner.get(number_of_map, UNKNOWN_MAP)
        return Value(Kind.MAP_OR_NULL, _ZERO, identity, template)
    return Value(Kind.VALUE_OR_NULL, _ZERO, identity, number_of_map, spec.value_size)


def _error() -> Scalar:
    found = Range.of(BITS, signed=(-_MOST_ERRNO, 0))
    assert found is not None
    made = Scalar.of(found)
    assert made is not None
    return made


#: 0, or a negative error number.
_ERROR = _error()
