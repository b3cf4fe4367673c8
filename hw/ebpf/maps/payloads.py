"""What travels between engines and the map unit."""

from amaranth import Value, unsigned
from amaranth.lib import data, enum

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_engine import BANK_WORDS, DESCRIPTOR, MapCommand
from fanweave.golden.isa.ebpf_machine import MAP_SPAN
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.hw.ebpf.payloads import THREAD_BITS, Cause

__all__ = [
    "BEAT_BITS",
    "PLACE_BITS",
    "Access",
    "AccessResult",
    "Command",
    "Descriptor",
    "OperationResult",
    "descriptor_layout",
    "is_command",
    "is_kind",
    "operation_layout",
]

#: Bits of a place in the addresses of one map.
PLACE_BITS = (MAP_SPAN - 1).bit_length()
#: Bits of the memory of values that are reached in a cycle.
BEAT_BITS = 64 * BANK_WORDS


class Command(enum.Enum, shape=unsigned(4)):
    """Operations; the same numbers as `MapCommand`."""

    LOOKUP = MapCommand.LOOKUP
    UPDATE = MapCommand.UPDATE
    DELETE = MapCommand.DELETE
    PUSH = MapCommand.PUSH
    POP = MapCommand.POP
    PEEK = MapCommand.PEEK
    OUTPUT = MapCommand.OUTPUT
    RESERVE = MapCommand.RESERVE
    SUBMIT = MapCommand.SUBMIT
    DISCARD = MapCommand.DISCARD
    QUERY = MapCommand.QUERY
    READ = MapCommand.READ
    CONSUME = MapCommand.CONSUME
    KEY = MapCommand.KEY
    CREATE = MapCommand.CREATE
    ADVANCE = MapCommand.ADVANCE


def descriptor_layout() -> data.StructLayout:
    """Fields of a descriptor, in the order and with the padding of the table."""
    members: dict[str, int] = {}
    behind = 0
    for field in DESCRIPTOR:
        if field.low > behind:
            members[f"reserved_{behind}"] = field.low - behind
        members[field.name] = field.width
        behind = field.low + field.width
    return data.StructLayout(members)


Descriptor = descriptor_layout()


def operation_layout(config: EbpfConfig) -> data.StructLayout:
    """An operation: ``key`` is filled up with zeros, and ``hash`` is `hash_key` of it.

    ``flags`` are those of an update or push, clipped to 3 bits so that what is greater stays so;
    ``length`` is that of a record; ``place`` that of a record's data, the slot of `Command.KEY`,
    or the question of a query.
    """
    return data.StructLayout(
        {
            "command": Command,
            "thread": THREAD_BITS,
            "map": 8,
            "descriptor": Descriptor,
            "engine": 3,
            "key": 8 * config.key_bytes,
            "hash": 32,
            "flags": 4,
            "length": PLACE_BITS + 1,
            "place": PLACE_BITS + 1,
        }
    )


def is_kind(descriptor: data.View, *kinds: MapType) -> Value:
    """Whether a map is of one of the types."""
    return descriptor.kind.matches(*kinds)


def is_command(operation: data.View, *commands: Command | MapCommand) -> Value:
    """Whether an operation has one of the commands."""
    return operation.command.as_value().matches(*commands)


class OperationResult(data.Struct):
    """What an operation gives.

    ``value`` is r0 of the helper. ``found`` says whether there was what was asked for: a record,
    a taken slot, an entry of a table. Of `Command.CONSUME`, ``value`` has the length of the record
    in its low half and the place of its data in the upper one.
    """

    thread: THREAD_BITS
    value: unsigned(64)
    found: unsigned(1)


class Access(data.Struct):
    """A load, a store or an atomic operation on values.

    All bytes from the address on to ``span`` of them must lie in one value, or in a record of the
    event, which ``in_record`` says. One that ``probes`` is checked as a store and changes nothing.
    """

    thread: THREAD_BITS
    map: unsigned(8)
    place: unsigned(PLACE_BITS)
    span: unsigned(16)
    in_record: unsigned(1)
    size: unsigned(2)
    stores: unsigned(1)
    loads: unsigned(1)
    probes: unsigned(1)
    atomic: unsigned(1)
    atomic_operation: unsigned(8)
    source: unsigned(64)
    r0: unsigned(64)


class AccessResult(data.Struct):
    """What was there before; the bytes behind the size are zero."""

    thread: THREAD_BITS
    value: unsigned(64)
    cause: Cause
