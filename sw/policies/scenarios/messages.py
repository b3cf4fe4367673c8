"""Ports of a small switch, and the messages that most scenarios are made of."""

from typing import Any

from fanweave.golden.isa.cxl_event import (
    BirspOpcode,
    BisnpOpcode,
    Channel,
    DrsOpcode,
    NdrOpcode,
    ReqOpcode,
    RwdOpcode,
    Verdict,
    VerdictAction,
)
from fanweave.sw.policies.scenario import Step, message

__all__ = [
    "DENY",
    "FAR",
    "HOST",
    "LINE",
    "NEAR",
    "OTHERS",
    "OTHER_HOST",
    "SPARE",
    "block",
    "completion",
    "data",
    "delay",
    "invalidate",
    "mirror",
    "promote",
    "read",
    "redirect",
    "spill",
    "write",
]

#: Ports: two hosts, and three islands with memory.
HOST, OTHER_HOST, NEAR, FAR, SPARE = range(5)
LINE = 64
DENY = Verdict(action=VerdictAction.DENY)


def delay(tokens: int) -> Verdict:
    """Wait for so many tokens."""
    return Verdict(action=VerdictAction.DELAY, tokens=tokens)


def mirror(island: int) -> Verdict:
    """Pass, and a copy goes there."""
    return Verdict(action=VerdictAction.MIRROR, island=island)


def promote(island: int) -> Verdict:
    """Pass, and move the page there."""
    return Verdict(action=VerdictAction.PROMOTE, island=island)


def redirect(island: int) -> Verdict:
    """Go there."""
    return Verdict(action=VerdictAction.REDIRECT, island=island)


def spill(island: int, reads: int) -> Verdict:
    """Go there while so many reads are open."""
    return Verdict(action=VerdictAction.SPILL, island=island, tokens=reads)


def block(address: int, shift: int, port: int = HOST) -> int:
    """Number of a host's page or region."""
    return port << 56 | address >> shift


def read(
    address: int,
    *,
    port: int = HOST,
    island: int = FAR,
    opcode: ReqOpcode = ReqOpcode.MEM_RD,
    **more: Any,
) -> Step:
    """A request for a line."""
    return message(Channel.M2S_REQ, opcode, address, port=port, island=island, **more)


def write(
    address: int,
    *,
    port: int = HOST,
    island: int = FAR,
    opcode: RwdOpcode = RwdOpcode.MEM_WR,
    **more: Any,
) -> Step:
    """A request with a line."""
    return message(Channel.M2S_RWD, opcode, address, port=port, island=island, **more)


def invalidate(address: int, *, port: int = HOST, island: int = FAR, **more: Any) -> Step:
    """A request that moves no data."""
    return message(Channel.M2S_REQ, ReqOpcode.MEM_INV, address, port=port, island=island, **more)


def data(address: int, *, port: int = FAR, island: int = HOST, **more: Any) -> Step:
    """The answer to a read, with `dev_load` and other fields."""
    return message(
        *(Channel.S2M_DRS, DrsOpcode.MEM_DATA, address), port=port, island=island, **more
    )


def completion(
    address: int,
    *,
    port: int = FAR,
    island: int = HOST,
    opcode: NdrOpcode = NdrOpcode.CMP,
    **more: Any,
) -> Step:
    """The answer to a write."""
    return message(Channel.S2M_NDR, opcode, address, port=port, island=island, **more)


#: Messages that are neither requests nor answers.
OTHERS = (
    message(Channel.M2S_BIRSP, BirspOpcode.I, 0x4000, port=HOST, island=FAR, bi_id=3),
    message(Channel.S2M_BISNP, BisnpOpcode.INV, 0x4000, port=FAR, island=HOST, bi_id=3),
)
