"""The messages of CXL.mem: fields and widths, what answers a request, and what an error looks like.

Opcodes are those of `cxl_event`. Source: CXL 3.1 specification, chapter 3.3 (CXL.mem), formats
of 68-byte and 256-byte flits at message level.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from fanweave.golden.isa.cxl_event import (
    BirspOpcode,
    BisnpOpcode,
    Channel,
    DrsOpcode,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
)

__all__ = [
    "ADDRESS_BITS",
    "ANSWERS",
    "BI_LINES",
    "DATA_BITS",
    "LD_BITS",
    "LINE_BYTES",
    "MESSAGES",
    "NO_DATA",
    "OPCODES",
    "TAG_BITS",
    "MessageField",
    "MessageFormat",
    "Snoop",
    "answers_of",
    "error_answers",
]

#: Bytes of a cache line, and bits of the data that a message carries.
LINE_BYTES = 64
DATA_BITS = 8 * LINE_BYTES
#: Bits of a line's address: those of a byte's from 6 to 51.
ADDRESS_BITS = 46
TAG_BITS = 16
LD_BITS = 4


@dataclass(frozen=True, kw_only=True)
class MessageField:
    """A field of a message.

    Attributes
    ----------
    name : str
        As in the event of a policy, where it is there too.
    bits : int
        Width.
    """

    name: str
    bits: int


@dataclass(frozen=True, kw_only=True)
class MessageFormat:
    """A kind of message.

    Attributes
    ----------
    channel : Channel
        Which kind.
    fields : tuple of MessageField
        From low to high; without the valid bit and reserved bits, which streams do without.
    reserved : int
        Reserved bits.
    trailer : tuple of MessageField
        What follows the header: a line of data, and which of its bytes a partial write writes.
    """

    channel: Channel
    fields: tuple[MessageField, ...]
    reserved: int
    trailer: tuple[MessageField, ...]

    @property
    def header_bits(self) -> int:
        """Width on the link: valid bit, fields and reserved bits, without the trailer."""
        return 1 + sum(field.bits for field in self.fields) + self.reserved

    @property
    def all_fields(self) -> tuple[MessageField, ...]:
        """Header and trailer."""
        return self.fields + self.trailer


_META = (("meta_field", 2), ("meta_value", 2), ("tag", TAG_BITS))
_BI = (("bi_id", 12), ("bi_tag", 12))
_Widths = tuple[tuple[str, int], ...]
_DATA = (("data", DATA_BITS),)
#: Header from low to high, reserved bits, trailer.
_FIELDS: Mapping[Channel, tuple[_Widths, int, _Widths]] = {
    Channel.M2S_REQ: (
        (
            ("opcode", 4),
            ("snoop", 3),
            *_META,
            ("address", ADDRESS_BITS),
            ("ld_id", LD_BITS),
            ("traffic_class", 2),
        ),
        20,
        (),
    ),
    Channel.M2S_RWD: (
        (
            ("opcode", 4),
            ("snoop", 3),
            *_META,
            ("address", ADDRESS_BITS),
            ("poison", 1),
            ("byte_enables", 1),
            ("ld_id", LD_BITS),
            ("traffic_class", 2),
        ),
        22,
        (*_DATA, ("mask", LINE_BYTES)),
    ),
    Channel.M2S_BIRSP: ((("opcode", 4), *_BI, ("low_address", 2)), 9, ()),
    Channel.S2M_NDR: ((("opcode", 3), *_META, ("ld_id", LD_BITS), ("dev_load", 2)), 10, ()),
    Channel.S2M_DRS: (
        (("opcode", 3), *_META, ("poison", 1), ("ld_id", LD_BITS), ("dev_load", 2)),
        9,
        _DATA,
    ),
    Channel.S2M_BISNP: ((("opcode", 4), *_BI, ("address", ADDRESS_BITS)), 5, ()),
}

#: Formats by channel.
MESSAGES: Mapping[Channel, MessageFormat] = {
    channel: MessageFormat(
        channel=channel,
        fields=tuple(MessageField(name=name, bits=bits) for name, bits in fields),
        reserved=reserved,
        trailer=tuple(MessageField(name=name, bits=bits) for name, bits in trailer),
    )
    for channel, (fields, reserved, trailer) in _FIELDS.items()
}

#: Opcodes by channel.
OPCODES: Mapping[Channel, type[enum.IntEnum]] = {
    Channel.M2S_REQ: ReqOpcode,
    Channel.M2S_RWD: RwdOpcode,
    Channel.M2S_BIRSP: BirspOpcode,
    Channel.S2M_NDR: NdrOpcode,
    Channel.S2M_DRS: DrsOpcode,
    Channel.S2M_BISNP: BisnpOpcode,
}


class Snoop(enum.IntEnum):
    """SnpType of a request."""

    NO_OP = 0
    DATA = 1
    CURRENT = 2
    INVALIDATE = 3


_N, _D = Channel.S2M_NDR, Channel.S2M_DRS
#: What answers a request that snoops nothing; forwards and speculative reads have no answer.
ANSWERS: Mapping[Channel, Mapping[int, frozenset[Channel]]] = {
    Channel.M2S_REQ: {
        ReqOpcode.MEM_INV: frozenset({_N}),
        ReqOpcode.MEM_RD: frozenset({_D}),
        ReqOpcode.MEM_RD_DATA: frozenset({_D}),
        ReqOpcode.MEM_RD_FWD: frozenset(),
        ReqOpcode.MEM_WR_FWD: frozenset(),
        ReqOpcode.MEM_SPEC_RD: frozenset(),
        ReqOpcode.MEM_INV_NT: frozenset({_N}),
        ReqOpcode.MEM_CLN_EVCT: frozenset({_N}),
    },
    Channel.M2S_RWD: {
        RwdOpcode.MEM_WR: frozenset({_N}),
        RwdOpcode.MEM_WR_PTL: frozenset({_N}),
        RwdOpcode.BI_CONFLICT: frozenset({_N}),
    },
}

#: Lines, as bits, of a block back-invalidation by the lowest two bits of its line address. 0 is
#: reserved; it is taken for the first line.
BI_LINES = (0b0001, 0b0011, 0b1100, 0b1111)
#: Data of a read that no memory answered: all ones.
NO_DATA = (1 << DATA_BITS) - 1


def answers_of(channel: Channel, opcode: int, snoop: int) -> frozenset[Channel]:
    """Channels that a request is answered on, each once; none for an opcode that there is not.

    A read that asks for a state of coherence gets that on NDR beside the data on DRS.
    """
    answers = ANSWERS[channel].get(opcode, frozenset())
    return answers | {_N} if _D in answers and snoop != Snoop.NO_OP else answers


def error_answers(
    channel: Channel, opcode: int, snoop: int, *, lost: bool
) -> dict[Channel, dict[str, int]]:
    """What the switch answers in place of a device.

    Parameters
    ----------
    channel : Channel
        Of the request.
    opcode, snoop : int
        Its opcode and SnpType.
    lost : bool
        Whether the request went to a device that did not answer, so that the data are poisoned;
        else no memory is there for it, or the host may not have it.

    Returns
    -------
    dict
        Fields by channel, ``data`` among them; those not named are 0, tag and LD-ID the request's.
    """
    answers: dict[Channel, dict[str, int]] = {}
    for answer in answers_of(channel, opcode, snoop):
        if answer is _D:
            kind = DrsOpcode.MEM_DATA if lost else DrsOpcode.MEM_DATA_NXM
            answers[answer] = {"opcode": kind, "poison": int(lost), "data": 0 if lost else NO_DATA}
        else:
            conflict = channel is Channel.M2S_RWD and opcode == RwdOpcode.BI_CONFLICT
            answers[answer] = {
                "opcode": NdrOpcode.BI_CONFLICT_ACK if conflict else NdrOpcode.CMP,
            }
    return answers
