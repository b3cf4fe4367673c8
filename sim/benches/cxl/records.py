"""What is planned for a switch, what happened at it, and both as bytes."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from fanweave.golden.cxl.messages import Message
from fanweave.golden.cxl.tables import Device
from fanweave.golden.isa.cxl_event import EVENT_BYTES, EVENT_FIELDS, Channel
from fanweave.golden.isa.cxl_messages import MESSAGES
from fanweave.golden.isa.cxl_switch import MoveStep

__all__ = [
    "EVENT_BITS",
    "MESSAGE_WORDS",
    "Asked",
    "Dead",
    "Frozen",
    "Gave",
    "Left",
    "Moved",
    "Planned",
    "Record",
    "Told",
    "Took",
    "What",
    "Wrote",
    "read_records",
]


@dataclass(frozen=True, slots=True)
class Took:
    """The switch took a message at a port, hosts counted first."""

    port: int
    message: Message


@dataclass(frozen=True, slots=True)
class Wrote:
    """A register was written, by its word address."""

    address: int
    data: int


@dataclass(frozen=True, slots=True)
class Gave:
    """The switch gave a message at a port."""

    port: int
    message: Message


@dataclass(frozen=True, slots=True)
class Asked:
    """An event went to the engine."""

    tag: int
    program: int
    context: bytes


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict came from the engine; ``failed`` if it says nothing."""

    tag: int
    r0: int
    failed: bool


@dataclass(frozen=True, slots=True)
class Left:
    """A request left its entry, ``judged`` by a verdict or not."""

    port: int
    channel: Channel
    judged: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A step of a page's move.

    Attributes
    ----------
    step : MoveStep
        Which.
    host, entry, page, group : int
        Whose page, its place in the table, its number, and a group of its lines.
    target : Device
        Where it goes.
    """

    step: MoveStep
    host: int
    entry: int
    page: int
    group: int
    target: Device


@dataclass(frozen=True, slots=True)
class Dead:
    """From now on these ports are dead, a bit each, and no others."""

    ports: int


@dataclass(frozen=True, slots=True)
class Frozen:
    """A port takes nothing and gives no credits, until a cycle."""

    until: int


#: What happens at a switch, or in an island.
What = Took | Wrote | Gave | Asked | Told | Left | Moved | Dead


@dataclass(frozen=True, slots=True)
class Record:
    """What happened in a cycle."""

    cycle: int
    what: What


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is sent, at the earliest in a cycle.

    Attributes
    ----------
    cycle : int
        Of the clock, from when the plan is played.
    port : int
        Hosts first; without meaning for writes.
    sent : Message, Wrote or Frozen
        A message, a write of a register, or a link that does not move.
    """

    cycle: int
    port: int = 0
    sent: Message | Wrote | Frozen

    def pack(self) -> bytes:
        """As the program around the switch reads it."""
        if isinstance(self.sent, Wrote):
            words = _WRITE.pack(self.sent.address, self.sent.data)
            return _HEADER.pack(self.cycle, _WROTE, 0, 0) + words
        if isinstance(self.sent, Frozen):
            return _HEADER.pack(self.cycle, _FROZEN, self.port, 0) + _WORD.pack(self.sent.until)
        channel = self.sent.channel
        words = self.sent.pack().to_bytes(4 * MESSAGE_WORDS[channel], "little")
        return _HEADER.pack(self.cycle, _TOOK, self.port, channel) + words


#: Cycle, kind, port, channel.
_HEADER = struct.Struct("<IBBBx")
_WRITE = struct.Struct("<II")
_WORD = struct.Struct("<I")
#: Step, host, entry, group, port, logical device; page.
_MOVE = struct.Struct("<6BxxQ")
#: Kinds, as numbers.
_TOOK, _WROTE, _GAVE, _ASKED, _TOLD, _LEFT, _MOVED, _DEAD, _FROZEN = range(9)
#: 32-bit words of a message, by channel.
MESSAGE_WORDS = {
    channel: -(-sum(field.bits for field in message.all_fields) // 32)
    for channel, message in MESSAGES.items()
}
#: Bits of an event's context without the zeros behind its fields.
EVENT_BITS = sum(8 * field.bytes for field in EVENT_FIELDS)
_TAG_BITS, _PROGRAM_BITS, _R0_BITS = 16, 8, 64
_EVENT_BYTES = -(-(EVENT_BITS + _TAG_BITS + _PROGRAM_BITS) // 32) * 4
#: Of a verdict, behind whether it failed: what only a memory of verdicts fills.
_AGAIN_BITS = 1 + 3 + 40
_VERDICT_BYTES = -(-(_R0_BITS + _TAG_BITS + 1 + _AGAIN_BITS) // 32) * 4


def read_records(log: BinaryIO) -> Iterator[Record]:
    """Records of a log, in order."""
    while header := log.read(_HEADER.size):
        cycle, kind, port, number = _HEADER.unpack(header)
        yield Record(cycle, _READERS[kind](log, port, Channel(number)))


def _message(log: BinaryIO, channel: Channel) -> Message:
    bits = int.from_bytes(log.read(4 * MESSAGE_WORDS[channel]), "little")
    return Message.unpack(channel, bits)


def _asked(log: BinaryIO) -> Asked:
    bits = int.from_bytes(log.read(_EVENT_BYTES), "little")
    context = (bits & (1 << EVENT_BITS) - 1).to_bytes(EVENT_BYTES, "little")
    bits >>= EVENT_BITS
    return Asked(bits & (1 << _TAG_BITS) - 1, bits >> _TAG_BITS, context)


def _told(log: BinaryIO) -> Told:
    bits = int.from_bytes(log.read(_VERDICT_BYTES), "little")
    r0, bits = bits & (1 << _R0_BITS) - 1, bits >> _R0_BITS
    return Told(bits & (1 << _TAG_BITS) - 1, r0, bool(bits >> _TAG_BITS & 1))


def _moved(log: BinaryIO) -> Moved:
    step, host, entry, group, port, ld_id, page = _MOVE.unpack(log.read(_MOVE.size))
    return Moved(MoveStep(step), host, entry, page, group, Device(port, ld_id))


_READERS: dict[int, Callable[[BinaryIO, int, Channel], What]] = {
    _TOOK: lambda log, port, channel: Took(port, _message(log, channel)),
    _WROTE: lambda log, port, channel: Wrote(*_WRITE.unpack(log.read(_WRITE.size))),
    _GAVE: lambda log, port, channel: Gave(port, _message(log, channel)),
    _ASKED: lambda log, port, channel: _asked(log),
    _TOLD: lambda log, port, channel: _told(log),
    _LEFT: lambda log, port, channel: Left(
        port, channel, bool(_WORD.unpack(log.read(_WORD.size))[0])
    ),
    _MOVED: lambda log, port, channel: _moved(log),
    _DEAD: lambda log, port, channel: Dead(_WORD.unpack(log.read(_WORD.size))[0]),
}
