"""What travels between the core and its helper unit."""

from amaranth import unsigned
from amaranth.lib import data

from fanweave.hw.ebpf.payloads import THREAD_BITS, Cause

__all__ = ["Call", "CopyWrite", "Reply", "TailCall"]


class Call(data.Struct):
    """A thread calls a helper."""

    thread: unsigned(THREAD_BITS)
    helper: unsigned(8)


class Reply(data.Struct):
    """What a helper leaves in r0, or why it ends the event."""

    thread: unsigned(THREAD_BITS)
    value: unsigned(64)
    cause: Cause


class TailCall(data.Struct):
    """A thread goes on in another program."""

    thread: unsigned(THREAD_BITS)
    program: unsigned(8)


class CopyWrite(data.Struct):
    """A helper stores up to 8 bytes in the stack or the context of its thread."""

    in_stack: unsigned(1)
    offset: unsigned(16)
    size: unsigned(4)
    data: unsigned(64)
