"""Types, flags and error numbers of eBPF maps.

Source: Linux's user-space interface (``linux/bpf.h``, ``asm-generic/errno-base.h``).
"""

import enum

__all__ = [
    "ARRAYS",
    "HASHES",
    "QUEUES",
    "TABLES",
    "Errno",
    "MapFlag",
    "MapType",
    "RecordFlag",
    "RingFlag",
    "RingQuery",
    "UpdateFlag",
]


class MapType(enum.IntEnum):
    """Kinds of maps, by Linux's numbers; those that this project has."""

    HASH = 1
    ARRAY = 2
    PROG_ARRAY = 3
    PERCPU_ARRAY = 6
    LRU_HASH = 9
    LPM_TRIE = 11
    ARRAY_OF_MAPS = 12
    QUEUE = 22
    STACK = 23
    RINGBUF = 27


#: Types that are alike: values by number, values by key, values in an order, and numbers of
#: programs or maps.
ARRAYS = frozenset({MapType.ARRAY, MapType.PERCPU_ARRAY})
HASHES = frozenset({MapType.HASH, MapType.LRU_HASH})
QUEUES = frozenset({MapType.QUEUE, MapType.STACK})
TABLES = frozenset({MapType.PROG_ARRAY, MapType.ARRAY_OF_MAPS})


class UpdateFlag(enum.IntEnum):
    """Third argument of an update."""

    ANY = 0
    NOEXIST = 1
    EXIST = 2
    LOCK = 4  # together with one of the others; an error, because no value has a lock


class MapFlag(enum.IntFlag):
    """Flags of a map's definition; those that mean something here, or are harmless."""

    NO_PREALLOC = 1  # memory is set aside all the same
    RDONLY = 8  # for user space, which is not kept from anything here
    WRONLY = 16
    RDONLY_PROG = 128  # programs may not change it
    WRONLY_PROG = 256  # programs may not read it
    MMAPABLE = 1024  # for user space


class RingFlag(enum.IntFlag):
    """Flags of an output to a ring buffer; both are about waking a reader, and without effect."""

    NO_WAKEUP = 1
    FORCE_WAKEUP = 2


class RingQuery(enum.IntEnum):
    """What a ring buffer can be asked for; other questions are answered with 0."""

    AVAILABLE = 0
    SIZE = 1
    CONSUMER = 2
    PRODUCER = 3


class RecordFlag(enum.IntFlag):
    """In the first word of a record's header, beside the length."""

    BUSY = 1 << 31
    DISCARDED = 1 << 30


class Errno(enum.IntEnum):
    """Error numbers that helpers return, negated."""

    NOENT = 2
    TOO_BIG = 7
    AGAIN = 11
    EXIST = 17
    INVALID = 22
    NO_SPACE = 28
    NOT_SUPPORTED = 95
