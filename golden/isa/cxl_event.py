"""What a program of the switch's policy engine gets and gives: the context of a CXL message's event
and the verdict.

Names and numbers of messages are those of the CXL 3.1 specification, chapter 3 (CXL.mem); the
layout of the context and of the verdict is this project's.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = [
    "CXL_ENUMS",
    "EVENT_BYTES",
    "EVENT_FIELDS",
    "VERDICT_FIELDS",
    "BirspOpcode",
    "BisnpOpcode",
    "Channel",
    "DevLoad",
    "Direction",
    "DrsOpcode",
    "EventField",
    "NdrOpcode",
    "ReqOpcode",
    "RwdOpcode",
    "Verdict",
    "VerdictAction",
    "VerdictField",
    "decode_event",
    "decode_fields",
    "encode_event",
    "encode_fields",
    "layout",
    "payload_digest",
]


class Direction(enum.IntEnum):
    """Where a message goes."""

    M2S = 0  # from a host to memory
    S2M = 1  # back


class Channel(enum.IntEnum):
    """Kind of message; it says what the opcode means."""

    M2S_REQ = 0
    M2S_RWD = 1
    M2S_BIRSP = 2
    S2M_NDR = 3
    S2M_DRS = 4
    S2M_BISNP = 5

    @property
    def direction(self) -> Direction:
        """Where messages of this kind go."""
        return Direction.M2S if self <= Channel.M2S_BIRSP else Direction.S2M


class ReqOpcode(enum.IntEnum):
    """Opcodes of requests without data."""

    MEM_INV = 0
    MEM_RD = 1
    MEM_RD_DATA = 2
    MEM_RD_FWD = 3
    MEM_WR_FWD = 4
    MEM_SPEC_RD = 8
    MEM_INV_NT = 9
    MEM_CLN_EVCT = 10


class RwdOpcode(enum.IntEnum):
    """Opcodes of requests with data."""

    MEM_WR = 1
    MEM_WR_PTL = 2
    BI_CONFLICT = 4


class BirspOpcode(enum.IntEnum):
    """Opcodes of answers to back-invalidations."""

    I = 0  # noqa: E741 -- the specification's name of the state
    S = 1
    E = 2
    I_BLK = 4
    S_BLK = 5
    E_BLK = 6


class NdrOpcode(enum.IntEnum):
    """Opcodes of answers without data."""

    CMP = 0
    CMP_S = 1
    CMP_E = 2
    CMP_M = 3
    BI_CONFLICT_ACK = 4


class DrsOpcode(enum.IntEnum):
    """Opcodes of answers with data."""

    MEM_DATA = 0
    MEM_DATA_NXM = 1


class BisnpOpcode(enum.IntEnum):
    """Opcodes of back-invalidations."""

    CUR = 0
    DATA = 1
    INV = 2
    CUR_BLK = 4
    DATA_BLK = 5
    INV_BLK = 6


class DevLoad(enum.IntEnum):
    """How busy a device says that it is."""

    LIGHT = 0
    OPTIMAL = 1
    MODERATE_OVERLOAD = 2
    SEVERE_OVERLOAD = 3


class VerdictAction(enum.IntEnum):
    """What becomes of the message."""

    PASS = 0  # where its address says
    REDIRECT = 1  # to another port
    DELAY = 2  # on its way when its port has earned so many tokens
    DENY = 3  # not at all: a request is answered with an error
    MIRROR = 4  # on its way, and a copy to another port
    PROMOTE = 5  # on its way, and the host is asked to move the page to another port's memory
    SPILL = 6  # a read goes to another port while so many are open at its own


#: By the prefix of their names in C.
CXL_ENUMS: Mapping[str, type[enum.IntEnum]] = {
    "": VerdictAction,
    "DIRECTION": Direction,
    "CHANNEL": Channel,
    "REQ": ReqOpcode,
    "RWD": RwdOpcode,
    "BIRSP": BirspOpcode,
    "NDR": NdrOpcode,
    "DRS": DrsOpcode,
    "BISNP": BisnpOpcode,
    "LOAD": DevLoad,
}


@dataclass(frozen=True, kw_only=True)
class EventField:
    """A field of the context; little-endian, at a multiple of its size.

    Attributes
    ----------
    name : str
        In C and in Python.
    offset : int
        Bytes from the beginning.
    bytes : int
        1, 2, 4 or 8.
    meaning : str
        In a line.
    """

    name: str
    offset: int
    bytes: int
    meaning: str


def layout(rows: Iterable[tuple[str, int, str]]) -> tuple[EventField, ...]:
    """Fields one behind the other, of rows with name, bytes and meaning."""
    fields: list[EventField] = []
    offset = 0
    for name, size, meaning in rows:
        fields.append(EventField(name=name, offset=offset, bytes=size, meaning=meaning))
        offset += size
    return tuple(fields)


#: Bytes of the context; those behind the last field are zero.
EVENT_BYTES = 64
#: In the order of their offsets, without a gap.
EVENT_FIELDS = layout(
    (
        ("address", 8, "Host physical address of the line, in bytes; of an answer its request's."),
        ("payload_digest", 8, "Exclusive or of the eight 64-bit words of the data; 0 without."),
        ("latency_ns", 4, "Since the request came in; 0 for a request."),
        ("tag", 2, "Of the request, as its host chose it; bi_tag of a back-invalidation."),
        ("bi_id", 2, "Of a back-invalidation and its answer; else 0."),
        ("port", 1, "Port that the message came in by."),
        ("island", 1, "Port that it goes out by if nothing changes that."),
        ("direction", 1, "0 to memory, 1 back."),
        ("channel", 1, "Kind of message."),
        ("opcode", 1, "As the channel codes it."),
        ("ld_id", 1, "Logical device."),
        (
            "dev_load",
            1,
            "How busy the device is, as its last answer (or this one) says.",
        ),
        ("poison", 1, "1 if the data are poisoned."),
        ("snoop", 1, "SnpType of a request."),
        ("meta_field", 1, "MetaField."),
        ("meta_value", 1, "MetaValue."),
        ("traffic_class", 1, "TC of a request."),
    )
)


def encode_event(**values: int) -> bytes:
    """The context of an event.

    Parameters
    ----------
    **values : int
        Fields by name; the others are 0.

    Returns
    -------
    bytes
        `EVENT_BYTES` of them.

    Raises
    ------
    InputError
        If there is no such field, or a value does not fit.
    """
    return encode_fields(EVENT_FIELDS, EVENT_BYTES, values)


def encode_fields(fields: Sequence[EventField], size: int, values: Mapping[str, int]) -> bytes:
    """The same of any layout, with so many bytes."""
    by_name = {field.name: field for field in fields}
    context = bytearray(size)
    for name, value in values.items():
        field = by_name.get(name)
        if field is None:
            raise InputError(f"an event has no field {name!r}; it has {', '.join(by_name)}")
        if not 0 <= value < 1 << 8 * field.bytes:
            raise InputError(
                f"{name} = {value} does not fit in {field.bytes} bytes; it must be from 0 to "
                f"{(1 << 8 * field.bytes) - 1:#x}"
            )
        context[field.offset : field.offset + field.bytes] = value.to_bytes(field.bytes, "little")
    return bytes(context)


def decode_event(context: bytes) -> dict[str, int]:
    """Fields of a context by name.

    Raises
    ------
    InputError
        If it has another length.
    """
    return decode_fields(EVENT_FIELDS, EVENT_BYTES, context)


def decode_fields(fields: Sequence[EventField], size: int, context: bytes) -> dict[str, int]:
    """The same of any layout, with so many bytes."""
    if len(context) != size:
        raise InputError(f"the event has {len(context)} bytes; it must have {size}")
    return {
        field.name: int.from_bytes(context[field.offset : field.offset + field.bytes], "little")
        for field in fields
    }


def payload_digest(data: bytes) -> int:
    """Exclusive or of the little-endian 64-bit words of a message's data."""
    digest = 0
    for at in range(0, len(data), 8):
        digest ^= int.from_bytes(data[at : at + 8], "little")
    return digest


@dataclass(frozen=True, kw_only=True)
class VerdictField:
    """A field of r0 at the end of a program.

    Attributes
    ----------
    name : str
        As an attribute of `Verdict`.
    lsb, bits : int
        Place and width.
    actions : frozenset of VerdictAction
        Those that use it; for others it must be 0.
    meaning : str
        In a line.
    """

    name: str
    lsb: int
    bits: int
    actions: frozenset[VerdictAction]
    meaning: str


_A = VerdictAction
#: Bits 63 to 48 are zero.
VERDICT_FIELDS = (
    VerdictField(
        name="action", lsb=0, bits=8, actions=frozenset(_A), meaning="What becomes of the message."
    ),
    VerdictField(
        name="island",
        lsb=8,
        bits=8,
        actions=frozenset({_A.REDIRECT, _A.MIRROR, _A.PROMOTE, _A.SPILL}),
        meaning="Port of REDIRECT, MIRROR, PROMOTE and SPILL.",
    ),
    VerdictField(
        name="tokens",
        lsb=16,
        bits=32,
        actions=frozenset({_A.DELAY, _A.SPILL}),
        meaning="Tokens that DELAY takes from the port of entry; open reads that make SPILL go.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a program says about a message.

    Attributes
    ----------
    action : VerdictAction
        What becomes of it.
    island : int
        A port, for those actions that take one.
    tokens : int
        For `VerdictAction.DELAY`.
    """

    action: VerdictAction
    island: int = 0
    tokens: int = 0

    def encode(self) -> int:
        """r0; unsigned, 64 bits.

        Raises
        ------
        InputError
            If a field does not fit, or the action does not use it.
        """
        r0 = 0
        for field in VERDICT_FIELDS:
            value = getattr(self, field.name)
            high = (1 << field.bits) - 1 if self.action in field.actions else 0
            if not 0 <= value <= high:
                raise InputError(
                    f"{field.name} = {value} of {self.action.name}; it must be from 0 to {high}"
                )
            r0 |= value << field.lsb
        return r0

    @classmethod
    def decode(cls, r0: int) -> "Verdict | None":
        """What r0 says; None if it says nothing, and the default verdict holds."""
        values = {field.name: r0 >> field.lsb & (1 << field.bits) - 1 for field in VERDICT_FIELDS}
        action = values.pop("action")
        if action not in list(VerdictAction):
            return None
        verdict = cls(action=VerdictAction(action), **values)
        try:
            return verdict if verdict.encode() == r0 else None
        except InputError:
            return None
