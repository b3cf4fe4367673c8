"""Types, flags and error numbers of eBPF maps.

Source: Linux's user-space interface (``linux/bpf.h``, ``asm-generic/errno-base.h``).
"""

import enum

__all__ = ["Errno", "MapFlag", "MapType", "UpdateFlag"]


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


class UpdateFlag(enum.IntEnum):
    """Third argument of an update."""

    ANY = 0
    NOEXIST = 1
    EXIST = 2


class MapFlag(enum.IntFlag):
    """Flags of a map's definition."""

    NO_PREALLOC = 1


class Errno(enum.IntEnum):
    """Error numbers that helpers return, negated."""

    NOENT = 2
    TOO_BIG = 7
    AGAIN = 11
    BUSY = 16
    EXIST = 17
    INVALID = 22
    NOT_SUPPORTED = 95
