"""What the engine's hardware and its driver agree on: map descriptors and map operations."""

import enum

from fanweave.golden.isa.registers import Field

__all__ = [
    "BANK_WORDS",
    "DESCRIPTOR",
    "DESCRIPTOR_WORDS",
    "WORD_BYTES",
    "MapCommand",
    "pack_descriptor",
]

#: Bytes of a word of the memory of values, and words of it that are reached in a cycle.
WORD_BYTES = 8
BANK_WORDS = 4

#: 32-bit words of a descriptor.
DESCRIPTOR_WORDS = 8

#: A map as the engine sees it. Bases count rows of the memory that they lie in.
DESCRIPTOR: tuple[Field, ...] = (
    Field("kind", 0, 5, "Type of the map, by Linux's number."),
    Field("valid", 5, 1, "There is such a map."),
    Field("readable", 6, 1, "Programs may read it."),
    Field("writable", 7, 1, "Programs may change it."),
    Field("key_bytes", 8, 8, "Bytes of a key."),
    Field("value_base", 16, 16, "Where its values begin, in words of 8 bytes; a multiple of 4."),
    Field("value_bytes", 32, 24, "Bytes of a value."),
    Field("pitch_words", 64, 20, "Words from one value to the next."),
    Field("reciprocal", 96, 32, "2^32 / pitch_words, rounded up; 0 for a pitch of one word."),
    Field("entries", 128, 24, "Places; bytes of a ring."),
    Field("values", 160, 24, "Values that addresses reach, of all engines; 0 for none."),
    Field("entry_base", 192, 16, "First place in the memories of keys, or of prefixes."),
    Field("bucket_base", 208, 16, "First bucket."),
    Field("bucket_mask", 224, 16, "Number of buckets - 1; the number is a power of two."),
    Field("free_base", 240, 16, "First place in the memory of free slots."),
)


class MapCommand(enum.IntEnum):
    """Operations of the map unit."""

    LOOKUP = 0
    UPDATE = 1
    DELETE = 2
    PUSH = 3
    POP = 4
    PEEK = 5
    OUTPUT = 6  # a whole record into a ring
    RESERVE = 7
    SUBMIT = 8
    DISCARD = 9
    QUERY = 10
    # The rest is a host's.
    READ = 11  # a lookup that does not count as use
    CONSUME = 12  # skip discarded records of a ring and say where the oldest one is
    KEY = 13  # the key in a slot, if it is taken
    CREATE = 14  # make the map empty, and its values zero
    ADVANCE = 15  # drop the record that CONSUME found


def pack_descriptor(**values: int) -> int:
    """A descriptor of its fields; those that are not named are zero.

    Raises
    ------
    ValueError
        If a value does not fit.
    KeyError
        If there is no such field.
    """
    fields = {field.name: field for field in DESCRIPTOR}
    return sum(fields[name].place(value) for name, value in values.items())
