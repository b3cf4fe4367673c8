"""What travels between the core and its helper unit."""

from amaranth import unsigned
from amaranth.lib import data

from fanweave.hw.ebpf.payloads import THREAD_BITS, Cause

__all__ = ["CLEAN_UP", "Call", "CopyWrite", "Reply"]

#: In place of a helper's number: the event ends, and its open records are discarded.
CLEAN_UP = 0


class Call(data.Struct):
    """A thread calls a helper, by its number; only helpers that exist, or `CLEAN_UP`."""

    thread: unsigned(THREAD_BITS)
    helper: unsigned(8)


class Reply(data.Struct):
    """What a helper leaves in r0, or why it ends the event.

    With ``goes_on_elsewhere`` the low 8 bits of the value are the program that a tail call names.
    """

    thread: unsigned(THREAD_BITS)
    value: unsigned(64)
    cause: Cause
    goes_on_elsewhere: unsigned(1)


class CopyWrite(data.Struct):
    """A helper stores up to 8 bytes in the stack or the context of its thread."""

    in_stack: unsigned(1)
    offset: unsigned(16)
    size: unsigned(4)
    data: unsigned(64)
