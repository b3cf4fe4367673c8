"""Layouts of messages and of what goes with them inside the switch, from the tables."""

from functools import cache

from amaranth import unsigned
from amaranth.hdl import Module, Value
from amaranth.lib import data, enum

from fanweave.golden.isa.cxl_event import EVENT_FIELDS, VERDICT_FIELDS, Channel
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS, LD_BITS, MESSAGES, TAG_BITS
from fanweave.golden.isa.cxl_switch import MAX_WAYS, MoveStep

__all__ = [
    "GROUP_BITS",
    "HOST_BITS",
    "MOVE_BITS",
    "PAGE_BITS",
    "PORT_BITS",
    "SEQUENCE_BITS",
    "TIME_BITS",
    "Binding",
    "Decided",
    "Decision",
    "EventPayload",
    "Failure",
    "Hold",
    "Moving",
    "PolicyEvent",
    "PolicyVerdict",
    "Promotion",
    "RangeEntry",
    "RegisterWrite",
    "Rule",
    "Unanswered",
    "Watch",
    "copy_fields",
    "event_layout",
    "message_layout",
    "moved_page_layout",
    "route_layout",
]

#: Numbers of hosts, and the one behind them, which stands for the switch itself.
HOST_BITS = 3
PORT_BITS = 5
#: Bits of a page's number: the line's address without its lowest six.
PAGE_BITS = ADDRESS_BITS - 6
#: Most bits of a group of lines in a page, and of an entry of a table of moved pages.
GROUP_BITS = 6
MOVE_BITS = 3
SEQUENCE_BITS = 16
TIME_BITS = 32


@cache
def message_layout(channel: Channel) -> data.StructLayout:
    """A message, header from low to high and then its trailer."""
    return data.StructLayout({field.name: field.bits for field in MESSAGES[channel].all_fields})


def copy_fields(m: Module, target: data.View, source: data.View) -> None:
    """Drive those fields of a struct that another one has too."""
    names = {name for name, _ in source.shape()}
    for name, _ in target.shape():
        if name in names:
            m.d.comb += Value.cast(target[name]).eq(Value.cast(source[name]))


class RegisterWrite(data.Struct):
    """A register write, by word address."""

    address: unsigned(10)
    data: unsigned(32)


class Binding(data.Struct):
    """Where a virtual port leads; ``port`` counts hosts too."""

    bound: unsigned(1)
    port: unsigned(PORT_BITS)
    ld_id: unsigned(LD_BITS)


class RangeEntry(data.Struct):
    """A range of addresses of a host."""

    enable: unsigned(1)
    ways: unsigned(2)
    granularity: unsigned(3)
    first: unsigned(PAGE_BITS)
    last: unsigned(PAGE_BITS)
    targets: data.ArrayLayout(4, MAX_WAYS)


class Rule(data.Struct):
    """A rule of the event filter."""

    enable: unsigned(1)
    inline: unsigned(1)
    deny: unsigned(1)
    program: unsigned(8)
    skip: unsigned(16)
    ports: unsigned(16)
    channels: unsigned(6)
    opcodes: unsigned(16)
    first: unsigned(PAGE_BITS)
    last: unsigned(PAGE_BITS)


class Failure(enum.Enum, shape=unsigned(2)):
    """Why the switch answers a request itself."""

    NONE = 0
    UNMAPPED = 1
    DENIED = 2
    LOST = 3


@cache
def route_layout(channel: Channel) -> data.StructLayout:
    """A request on its way to a device, or to where errors are answered."""
    return data.StructLayout(
        {
            "message": message_layout(channel),
            "ld_id": LD_BITS,  # the device's; the message keeps the host's
            "failure": Failure,
            "copy": 1,
        }
    )


class Unanswered(data.Struct):
    """A request that the switch has to answer: on which channels, and why."""

    host: unsigned(HOST_BITS)
    tag: unsigned(TAG_BITS)
    ld_id: unsigned(LD_BITS)
    ndr: unsigned(1)
    drs: unsigned(1)
    conflict: unsigned(1)
    lost: unsigned(1)


#: The context of an event, to the bit as the engine's programs see it.
EventPayload = data.StructLayout({field.name: 8 * field.bytes for field in EVENT_FIELDS})


def event_layout() -> data.StructLayout:
    """An event with what the switch keeps of it until its verdict comes."""
    return data.StructLayout(
        {
            "event": EventPayload,
            "program": 8,
            "host": HOST_BITS,
            "inline": 1,
            "sequence": SEQUENCE_BITS,
        }
    )


class Decided(data.Struct):
    """A request leaves its entry; ``judged`` if a verdict came for it in time."""

    valid: unsigned(1)
    judged: unsigned(1)


class PolicyEvent(data.Struct):
    """An event for the engine; its verdict has the same tag."""

    event: EventPayload
    tag: unsigned(16)
    program: unsigned(8)


class PolicyVerdict(data.Struct):
    """What a program returned; ``failed`` if it returned nothing.

    ``again`` says that the event may have had a verdict before. If so, this one can only ask for a
    move, of ``page`` of ``host``, as the switch no longer knows what the event was about.
    """

    r0: unsigned(64)
    tag: unsigned(16)
    failed: unsigned(1)
    again: unsigned(1)
    host: unsigned(HOST_BITS)
    page: unsigned(PAGE_BITS)


#: A verdict, taken apart.
Decision = data.StructLayout({field.name: field.bits for field in VERDICT_FIELDS})


class Promotion(data.Struct):
    """A page that is to move, and the port that it goes to."""

    host: unsigned(HOST_BITS)
    page: unsigned(PAGE_BITS)
    target: unsigned(PORT_BITS)


@cache
def moved_page_layout(groups: int) -> data.StructLayout:
    """An entry of a table of moved pages, whose lines are in so many groups.

    Groups in ``there`` are at ``new``; the others at ``old`` if that is bound, else where the
    ranges say.
    """
    return data.StructLayout(
        {"valid": 1, "page": PAGE_BITS, "new": Binding, "old": Binding, "there": groups}
    )


class Watch(data.Struct):
    """The page that moves."""

    valid: unsigned(1)
    host: unsigned(HOST_BITS)
    page: unsigned(PAGE_BITS)


class Hold(data.Struct):
    """The lines whose requests wait: a group of a host's page."""

    valid: unsigned(1)
    host: unsigned(HOST_BITS)
    page: unsigned(PAGE_BITS)
    group: unsigned(GROUP_BITS)


class Moving(data.Struct):
    """A step of a move, for observers; see `MoveStep`."""

    step: unsigned(max(MoveStep).bit_length())
    host: unsigned(HOST_BITS)
    entry: unsigned(MOVE_BITS)
    page: unsigned(PAGE_BITS)
    group: unsigned(GROUP_BITS)
    port: unsigned(PORT_BITS)
    ld_id: unsigned(LD_BITS)
