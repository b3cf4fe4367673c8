"""The helpers: what a call of each does to maps and memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fanweave.golden.ebpf.maps import ArrayOfMaps, Map, RingMap
from fanweave.golden.ebpf.memory import MachineFaultError, Memory
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import (
    MAP_SPAN,
    OPEN_RECORDS,
    RANDOM_SEED,
    FaultCause,
    Region,
    map_address,
    map_handle,
)
from fanweave.golden.isa.ebpf_maps import Errno, RingFlag

__all__ = ["Engine", "call_helper", "next_random"]

_BY_NAME = {helper.name: helper for helper in HELPERS.values()}
_LOOKUP, _UPDATE, _DELETE, _PUSH, _POP, _RING = (
    _BY_NAME[name].maps
    for name in (
        "map_lookup_elem",
        "map_update_elem",
        "map_delete_elem",
        "map_push_elem",
        "map_pop_elem",
        "ringbuf_reserve",
    )
)

#: A plain number: of a flag the complement would be the other flags, and not all other bits.
_RING_FLAGS = int(RingFlag.NO_WAKEUP | RingFlag.FORCE_WAKEUP)
_MASK64 = (1 << 64) - 1
_MASK32 = (1 << 32) - 1


def next_random(state: int) -> int:
    """Next state of the generator, and its number: xorshift with 13, 17 and 5 on 32 bits.

    Source: G. Marsaglia, *Xorshift RNGs*, 2003. The state is never zero.
    """
    state ^= state << 13 & _MASK32
    state ^= state >> 17
    state ^= state << 5 & _MASK32
    return state & _MASK32


@dataclass
class Engine:
    """What an engine keeps from event to event.

    Attributes
    ----------
    number : int
        What programs see as their processor.
    time_ns : int
        Time of the event; it stands still while the event is handled.
    random : int
        State of the generator.
    """

    number: int = 0
    time_ns: int = 0
    random: int = field(default=RANDOM_SEED)


def call_helper(number: int, arguments: tuple[int, ...], memory: Memory, engine: Engine) -> int:
    """Call a helper other than a tail call.

    Arguments are looked at in the order of their registers; the first that is wrong ends the
    event.

    Parameters
    ----------
    number : int
        Its number.
    arguments : tuple of int
        r1 to r5.
    memory : Memory
        Of the event.
    engine : Engine
        Where it is handled.

    Returns
    -------
    int
        r0; unsigned, 64 bits.

    Raises
    ------
    MachineFaultError
        If there is no such helper, or an argument is no map of a fitting type or points outside
        of memory.
    """
    helper = _TABLE.get(number)
    if helper is None:
        raise MachineFaultError(FaultCause.UNKNOWN_HELPER)
    return helper(memory, engine, *arguments) & _MASK64


def _require_writable(found: Map) -> None:
    if not found.writable:
        raise MachineFaultError(FaultCause.FORBIDDEN)


def _require_readable(found: Map) -> None:
    if not found.readable:
        raise MachineFaultError(FaultCause.FORBIDDEN)


def _lookup(memory: Memory, engine: Engine, handle: int, key: int, *_: int) -> int:
    found = memory.map_of(handle, _LOOKUP)
    wanted = memory.read(key, found.spec.key_size)
    if isinstance(found, ArrayOfMaps):
        inner = found.entry(int.from_bytes(wanted, "little"))
        return 0 if inner is None else map_handle(inner)
    place = found.lookup(wanted, engine.number)
    return 0 if place is None else map_address(handle - Region.MAP_HANDLES) + place


def _update(
    memory: Memory, engine: Engine, handle: int, key: int, value: int, flags: int, *_: int
) -> int:
    found = memory.map_of(handle, _UPDATE)
    _require_writable(found)
    memory.require_operand(found.spec.value_size)
    wanted = memory.read(key, found.spec.key_size)
    return found.update(wanted, memory.read(value, found.spec.value_size), flags, engine.number)


def _delete(memory: Memory, engine: Engine, handle: int, key: int, *_: int) -> int:
    found = memory.map_of(handle, _DELETE)
    _require_writable(found)
    return found.delete(memory.read(key, found.spec.key_size))


def _push(memory: Memory, engine: Engine, handle: int, value: int, flags: int, *_: int) -> int:
    found = memory.map_of(handle, _PUSH)
    _require_writable(found)
    memory.require_operand(found.spec.value_size)
    return found.push(memory.read(value, found.spec.value_size), flags)


def _pop(memory: Memory, engine: Engine, handle: int, value: int, *_: int) -> int:
    found = memory.map_of(handle, _POP)
    _require_readable(found)
    _require_writable(found)
    memory.require_operand(found.spec.value_size)
    # A bad address must not cost the value.
    memory.locate(value, found.spec.value_size, write=True)
    result, taken = found.pop()
    memory.write(value, taken)
    return result


def _peek(memory: Memory, engine: Engine, handle: int, value: int, *_: int) -> int:
    found = memory.map_of(handle, _POP)
    _require_readable(found)
    memory.require_operand(found.spec.value_size)
    result, seen = found.peek()
    memory.write(value, seen)
    return result


def _ring_of(memory: Memory, handle: int) -> RingMap:
    found = memory.map_of(handle, _RING)
    assert isinstance(found, RingMap)
    return found


def _ring_output(
    memory: Memory, engine: Engine, handle: int, data: int, length: int, flags: int, *_: int
) -> int:
    ring = _ring_of(memory, handle)
    memory.require_operand(length)
    record = memory.read(data, length)
    if flags & ~_RING_FLAGS:
        return -Errno.INVALID
    place = ring.reserve(length)
    if place is None:
        return -Errno.AGAIN
    ring.memory[place : place + length] = record
    ring.finish(place, keep=True)
    return 0


def _ring_reserve(
    memory: Memory, engine: Engine, handle: int, length: int, flags: int, *_: int
) -> int:
    ring = _ring_of(memory, handle)
    if flags or len(memory.records) == OPEN_RECORDS:
        return 0
    place = ring.reserve(length)
    if place is None:
        return 0
    memory.records.append((ring, place))
    return map_address(handle - Region.MAP_HANDLES) + place


def _ring_finish(memory: Memory, address: int, *, keep: bool) -> int:
    number, place = divmod(address - Region.MAP_VALUES, MAP_SPAN)
    found = memory.maps[number] if 0 <= number < len(memory.maps) else None
    if not isinstance(found, RingMap) or not found.finish(place, keep=keep):
        raise MachineFaultError(FaultCause.BAD_MAP)
    memory.records.remove((found, place))
    return 0


def _ring_submit(memory: Memory, engine: Engine, address: int, *_: int) -> int:
    return _ring_finish(memory, address, keep=True)


def _ring_discard(memory: Memory, engine: Engine, address: int, *_: int) -> int:
    return _ring_finish(memory, address, keep=False)


def _ring_query(memory: Memory, engine: Engine, handle: int, what: int, *_: int) -> int:
    return _ring_of(memory, handle).query(what)


def _random(memory: Memory, engine: Engine, *_: int) -> int:
    engine.random = next_random(engine.random)
    return engine.random


_FUNCTIONS: dict[str, Callable[..., int]] = {
    "map_lookup_elem": _lookup,
    "map_update_elem": _update,
    "map_delete_elem": _delete,
    "ktime_get_ns": lambda memory, engine, *_: engine.time_ns,
    "get_prandom_u32": _random,
    "get_smp_processor_id": lambda memory, engine, *_: engine.number,
    "map_push_elem": _push,
    "map_pop_elem": _pop,
    "map_peek_elem": _peek,
    "ringbuf_output": _ring_output,
    "ringbuf_reserve": _ring_reserve,
    "ringbuf_submit": _ring_submit,
    "ringbuf_discard": _ring_discard,
    "ringbuf_query": _ring_query,
}
#: By number; a tail call is the interpreter's.
_TABLE = {_BY_NAME[name].number: function for name, function in _FUNCTIONS.items()}
