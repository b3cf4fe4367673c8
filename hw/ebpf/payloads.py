"""What travels into the engine and out of it."""

from amaranth import unsigned
from amaranth.lib import data, enum

from fanweave.golden.isa.ebpf_machine import FaultCause

__all__ = ["PROGRAM_BITS", "THREAD_BITS", "Cause", "Event", "Verdict"]

#: Width of a number of a thread in every payload.
THREAD_BITS = 4
#: Width of a number that events and tail calls name a program by.
PROGRAM_BITS = 8


class Cause(enum.Enum, shape=unsigned(4)):
    """Why an event ended; the same numbers as `FaultCause`."""

    NONE = FaultCause.NONE
    ILLEGAL_INSTRUCTION = FaultCause.ILLEGAL_INSTRUCTION
    OUT_OF_BOUNDS = FaultCause.OUT_OF_BOUNDS
    MISALIGNED_ATOMIC = FaultCause.MISALIGNED_ATOMIC
    WATCHDOG = FaultCause.WATCHDOG
    CALL_DEPTH = FaultCause.CALL_DEPTH
    UNKNOWN_HELPER = FaultCause.UNKNOWN_HELPER
    BAD_MAP = FaultCause.BAD_MAP
    END_OF_PROGRAM = FaultCause.END_OF_PROGRAM
    FORBIDDEN = FaultCause.FORBIDDEN
    OPERAND_SIZE = FaultCause.OPERAND_SIZE
    NO_PROGRAM = FaultCause.NO_PROGRAM


class Event(data.Struct):
    """An event: its program, and the bytes of its context, which follow on the contexts stream."""

    length: unsigned(16)
    tag: unsigned(16)
    program: unsigned(PROGRAM_BITS)
    time_ns: unsigned(64)


class Verdict(data.Struct):
    """What became of an event; ``tag`` is the event's."""

    r0: unsigned(64)
    cause: Cause
    tag: unsigned(16)
    instructions: unsigned(32)
