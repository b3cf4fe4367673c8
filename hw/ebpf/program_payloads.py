"""What travels into the program store and out of it."""

from amaranth import unsigned
from amaranth.lib import data, enum

from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.hw.ebpf.payloads import PROGRAM_BITS

__all__ = [
    "IMAGE_BITS",
    "LENGTH_BITS",
    "SLOT_BITS",
    "Bind",
    "Commit",
    "CommitResult",
    "LoadCause",
    "ProgramWrite",
    "Release",
]

#: Width of a slot's address, and of a number of slots.
SLOT_BITS = 16
LENGTH_BITS = SLOT_BITS + 1
#: Width of a number of an image in every payload; one that a store has not is refused.
IMAGE_BITS = 8


class LoadCause(enum.Enum, shape=unsigned(4)):
    """What became of a commit; the same numbers as `LoadFault`."""

    NONE = LoadFault.NONE
    NO_IMAGE = LoadFault.NO_IMAGE
    COMMITTED = LoadFault.COMMITTED
    EMPTY = LoadFault.EMPTY
    OUTSIDE = LoadFault.OUTSIDE
    OVERLAP = LoadFault.OVERLAP
    ILLEGAL_INSTRUCTION = LoadFault.ILLEGAL_INSTRUCTION
    SECOND_SLOT = LoadFault.SECOND_SLOT
    CUT_OFF = LoadFault.CUT_OFF
    UNKNOWN_MAP = LoadFault.UNKNOWN_MAP
    UNKNOWN_HELPER = LoadFault.UNKNOWN_HELPER
    TARGET_OUTSIDE = LoadFault.TARGET_OUTSIDE
    TARGET_WITHIN = LoadFault.TARGET_WITHIN
    NO_END = LoadFault.NO_END


class ProgramWrite(data.Struct):
    """Puts a word into a slot of the instruction memory."""

    slot: unsigned(SLOT_BITS)
    word: unsigned(64)


class Commit(data.Struct):
    """Makes slots ``base`` to ``base + length - 1`` an image, if they are a good program."""

    image: unsigned(IMAGE_BITS)
    base: unsigned(SLOT_BITS)
    length: unsigned(LENGTH_BITS)


class CommitResult(data.Struct):
    """What became of a commit; ``slot`` counts from the program's first slot."""

    image: unsigned(IMAGE_BITS)
    fault: LoadCause
    slot: unsigned(SLOT_BITS)


class Release(data.Struct):
    """Gives up an image."""

    image: unsigned(IMAGE_BITS)


class Bind(data.Struct):
    """Lets a program number stand for an image, or without ``valid`` for none."""

    program: unsigned(PROGRAM_BITS)
    image: unsigned(IMAGE_BITS)
    valid: unsigned(1)
