"""What travels between cores, memories, peripherals and the world outside."""

from amaranth import unsigned
from amaranth.lib import data

__all__ = [
    "BEAT_BYTES",
    "HostResponse",
    "OuterRequest",
    "OuterResponse",
    "RunStatus",
    "WordRequest",
]

#: Bytes that the DMA moves in a cycle.
BEAT_BYTES = 64


class WordRequest(data.Struct):
    """A load or store of the 64 bits at ``address``, a multiple of 8.

    ``write`` stores the bytes of ``data`` that ``mask`` names. With ``lock`` nobody else is served
    at this place until the next request of the same port, which is to the same address.
    """

    address: unsigned(32)
    write: unsigned(1)
    lock: unsigned(1)
    mask: unsigned(8)
    data: unsigned(64)


class HostResponse(data.Struct):
    """``data`` is what was loaded; ``error`` says that there is no memory at the address."""

    data: unsigned(64)
    error: unsigned(1)


class OuterRequest(data.Struct):
    """A load or store of 64 bytes at ``address``, a multiple of 64.

    ``write`` stores the bytes of ``data`` that ``mask`` names.
    """

    address: unsigned(32)
    write: unsigned(1)
    mask: unsigned(BEAT_BYTES)
    data: unsigned(8 * BEAT_BYTES)


class OuterResponse(data.Struct):
    """The answer to a request, in the order of requests; ``write`` as there."""

    write: unsigned(1)
    data: unsigned(8 * BEAT_BYTES)


class RunStatus(data.Struct):
    """What the program said at its end.

    ``ended``: it is over, with ``code``, or ``by_trap``; ``hart`` ended it. The registers of the
    trap are as the program wrote them.
    """

    ended: unsigned(1)
    by_trap: unsigned(1)
    hart: unsigned(3)
    code: unsigned(31)
    trap_cause: unsigned(32)
    trap_pc: unsigned(32)
    trap_value: unsigned(32)
