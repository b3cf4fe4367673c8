"""What a machine that runs eBPF programs has in common: addresses, faults and limits."""

import enum

__all__ = [
    "CALL_FRAMES",
    "DEFAULT_BUDGET",
    "FRAME_BYTES",
    "MAPS",
    "MAP_SPAN",
    "OPEN_RECORDS",
    "RANDOM_SEED",
    "RANDOM_STRIDE",
    "TAIL_CALLS",
    "FaultCause",
    "Region",
    "map_address",
    "map_handle",
    "random_seed",
]

#: Bytes of stack of one frame, and frames of a program (RFC 9669 leaves both to the platform;
#: these are Linux's).
FRAME_BYTES = 512
CALL_FRAMES = 8
#: Tail calls of one event.
TAIL_CALLS = 33
#: Records of ring buffers that an event may hold open; one more reservation gives 0.
OPEN_RECORDS = 4
#: State of the first engine's random numbers; engine n begins with the seed xor n times the stride.
RANDOM_SEED = 0x2545_F491
RANDOM_STRIDE = 0x9E37_79B1
#: Instructions of one event unless the machine is told otherwise.
DEFAULT_BUDGET = 1_000_000

#: Bytes of addresses that each map has for its values.
MAP_SPAN = 1 << 22
#: Maps that addresses can name.
MAPS = 256


class Region(enum.IntEnum):
    """Base addresses. An address is 64 bits wide; the upper 32 must be zero.

    The top four bits of the lower half name the region, so hardware decodes it without a
    comparator. Address 0 belongs to none.
    """

    CONTEXT = 0x1000_0000
    STACK = 0x2000_0000
    MAP_VALUES = 0x4000_0000  # to 0x7fff_ffff: 256 maps of `MAP_SPAN` bytes
    MAP_HANDLES = 0x8000_0000  # names of maps; nothing can be loaded from there


class FaultCause(enum.IntEnum):
    """Why an event ended early; the engine has a counter for each."""

    NONE = 0
    ILLEGAL_INSTRUCTION = 1
    OUT_OF_BOUNDS = 2
    MISALIGNED_ATOMIC = 3
    WATCHDOG = 4
    CALL_DEPTH = 5
    UNKNOWN_HELPER = 6
    BAD_MAP = 7
    END_OF_PROGRAM = 8
    FORBIDDEN = 9  # the flags of a map keep programs from this
    OPERAND_SIZE = 10  # a helper would copy more than the engine's operand buffer holds
    NO_PROGRAM = 11  # the event names a program that is bound to no image


def map_handle(number: int) -> int:
    """Address that stands for a map in a helper's argument."""
    return Region.MAP_HANDLES + number


def map_address(number: int) -> int:
    """Address of a map's first value."""
    return Region.MAP_VALUES + number * MAP_SPAN


def random_seed(engine: int) -> int:
    """State of an engine's random numbers at the start: different ones, and never zero."""
    return RANDOM_SEED ^ engine * RANDOM_STRIDE & 0xFFFF_FFFF
