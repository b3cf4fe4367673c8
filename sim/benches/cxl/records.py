"""What is planned for a switch, what happened at it, and both as bytes."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from fanweave.golden.cxl.messages import Message
from fanweave.golden.isa.cxl_event import EVENT_BYTES, EVENT_FIELDS, Channel
from fanweave.golden.isa.cxl_messages import MESSAGES

__all__ = [
    "EVENT_BITS",
    "MESSAGE_WORDS",
    "Asked",
    "Gave",
    "Left",
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


#: What happens at a switch, or in an island.
What = Took | Wrote | Gave | Asked | Told | Left


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
    sent : Message or Wrote
        A message, or a write of a register.
    """

    cycle: int
    port: int = 0
    sent: Message | Wrote

    def pack(self) -> bytes:
        """As the program around the switch reads it."""
        if isinstance(self.sent, Wrote):
            words = _WRITE.pack(self.sent.address, self.sent.data)
            return _HEADER.pack(self.cycle, _WROTE, 0, 0) + words
        channel = self.sent.channel
        words = self.sent.pack().to_bytes(4 * MESSAGE_WORDS[channel], "little")
        return _HEADER.pack(self.cycle, _TOOK, self.port, channel) + words


#: Cycle, kind, port, channel.
_HEADER = struct.Struct("<IBBBx")
_WRITE = struct.Struct("<II")
_DECISION = struct.Struct("<I")
#: Kinds, as numbers.
_TOOK, _WROTE, _GAVE, _ASKED, _TOLD, _LEFT = range(6)
#: 32-bit words of a message, by channel.
MESSAGE_WORDS = {
    channel: -(-sum(field.bits for field in message.all_fields) // 32)
    for channel, message in MESSAGES.items()
}
#: Bits of an event's context without the zeros behind its fields.
EVENT_BITS = sum(8 * field.bytes for field in EVENT_FIELDS)
_TAG_BITS, _PROGRAM_BITS, _R0_BITS = 16, 8, 64
_EVENT_BYTES = -(-(EVENT_BITS + _TAG_BITS + _PROGRAM_BITS) // 32) * 4
_VERDICT_BYTES = -(-(_R0_BITS + _TAG_BITS + 1) // 32) * 4


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
    return Told(bits & (1 << _TAG_BITS) - 1, r0, bool(bits >> _TAG_BITS))


_READERS: dict[int, Callable[[BinaryIO, int, Channel], What]] = {
    _TOOK: lambda log, port, channel: Took(port, _message(log, channel)),
    _WROTE: lambda log, port, channel: Wrote(*_WRITE.unpack(log.read(_WRITE.size))),
    _GAVE: lambda log, port, channel: Gave(port, _message(log, channel)),
    _ASKED: lambda log, port, channel: _asked(log),
    _TOLD: lambda log, port, channel: _told(log),
    _LEFT: lambda log, port, channel: Left(
        port, channel, bool(_DECISION.unpack(log.read(_DECISION.size))[0])
    ),
}
