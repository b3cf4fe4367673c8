"""Registers by which a host drives the eBPF engine.

All numbers of more than 32 bits lie in words that follow each other, the lowest first.
"""

from collections.abc import Iterable

from fanweave.golden.isa.ebpf_engine import DESCRIPTOR_WORDS, MapCommand
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET, FaultCause
from fanweave.golden.isa.ebpf_maps import ARRAYS, HASHES, QUEUES, TABLES, MapType
from fanweave.golden.isa.registers import Field, Register

__all__ = [
    "ADDRESS_BITS",
    "COUNTERS",
    "HOST_COMMANDS",
    "LIMITS",
    "MAGIC",
    "REGISTERS",
    "RULES",
    "VERSION",
    "WORD_BITS",
    "byte_address",
    "register",
]

#: Bits of a byte address: 4 KiB of registers, and as much for what operations store and read.
ADDRESS_BITS = 14
#: Bits of a register.
WORD_BITS = 32
#: "eBPF" in ASCII, and what the second register says of this table: major and minor version.
MAGIC = int.from_bytes(b"eBPF", "big")
VERSION = (1, 0)

#: Parameters of the engine, by the name in its configuration, each with its meaning.
LIMITS: tuple[tuple[str, str], ...] = (
    ("threads", "Events that an engine handles at the same time."),
    ("slots", "Slots of the program memory."),
    ("context_bytes", "Largest context of an event."),
    ("engines", "Cores that share the maps."),
    ("maps", "Maps at most."),
    ("key_bytes", "Longest key of a map."),
    ("operand_bytes", "Longest value or record that is copied."),
    ("value_bytes", "Memory for the values of all maps."),
    ("entries", "Keys of all hash maps together."),
    ("buckets", "Buckets of all hash maps together."),
    ("prefixes", "Prefixes of all tries together."),
    ("prefix_lanes", "Prefixes that are compared in a cycle."),
    ("images", "Programs in memory at a time."),
    ("programs", "Numbers that name programs."),
    ("returns_context", "1 if contexts leave with the verdicts."),
)

#: What holds for all registers; paragraphs of the register document.
RULES: tuple[str, ...] = (
    "A number of more than 32 bits lies in words that follow each other, the lowest first. Bits "
    "that no field has are read as 0, and what is written to them is ignored.",
    "A write that cannot be done is answered with SLVERR and changes nothing: to a register that "
    "does not exist in this configuration or cannot be written, without all strobes, of a command "
    "while the one before it is busy, to a register that a busy command works with, and of a "
    "command that cannot be. So is the reading of a register that does not exist or cannot be "
    "read. Every other transfer is answered within a few cycles: what takes longer is started by "
    "a write, and goes on until its status register is not busy any more.",
    "The lower word of a counter is read first: that keeps the upper word that belongs to it, and "
    "reading the upper word of any counter gives what is kept.",
    "A host may reach all values, whatever the flags of a map let programs do. Its descriptors "
    "are believed: they must not overlap, and a map must be created before it is used.",
)

#: Counters of 64 bits, of all engines together, in the order of their addresses.
COUNTERS: tuple[tuple[str, str], ...] = (
    ("events", "Events that were taken."),
    ("instructions", "Instructions that were executed."),
    *(
        (f"verdicts_{cause.name.lower()}", f"Events that ended with cause {cause.value}.")
        for cause in FaultCause
    ),
)

_LOOKS = frozenset({MapCommand.LOOKUP, MapCommand.READ})
_CHANGES = frozenset({MapCommand.UPDATE, MapCommand.DELETE})
_CREATE = frozenset({MapCommand.CREATE})


def _each(
    kinds: Iterable[MapType], commands: frozenset[MapCommand]
) -> dict[MapType, frozenset[MapCommand]]:
    return dict.fromkeys(kinds, commands | _CREATE)


#: What a host may ask for, by the type of the map. Open records are programs' alone.
HOST_COMMANDS: dict[MapType, frozenset[MapCommand]] = {
    **_each(ARRAYS | TABLES, _LOOKS | _CHANGES),
    **_each(HASHES | {MapType.LPM_TRIE}, _LOOKS | _CHANGES | {MapCommand.KEY}),
    **_each(
        QUEUES,
        frozenset({MapCommand.PUSH, MapCommand.POP, MapCommand.PEEK, MapCommand.QUERY}),
    ),
    **_each(
        (MapType.RINGBUF,),
        frozenset({MapCommand.OUTPUT, MapCommand.QUERY, MapCommand.CONSUME, MapCommand.ADVANCE}),
    ),
}

_LIMIT_BASE = 0x02
_COUNTER_BASE = 0x80

_IDENTIFICATION = (
    Register("magic", 0x00, "ro", "Says that this is such an engine.", (
        Field("magic", 0, 32, '"eBPF" in ASCII, the first letter highest.'),
    ), reset=MAGIC),
    Register("version", 0x01, "ro", "Version of this table.", (
        Field("minor", 0, 16, "Grows with what is added."),
        Field("major", 16, 16, "Grows with what changes."),
    ), reset=VERSION[0] << 16 | VERSION[1]),
    *(
        Register(f"limit_{name}", _LIMIT_BASE + at, "ro", meaning, (
            Field("count", 0, 32, meaning),
        ))
        for at, (name, meaning) in enumerate(LIMITS)
    ),
)  # fmt: skip

_PROGRAMS = (
    Register("budget", 0x14, "rw", "Instructions after which the watchdog ends an event.", (
        Field("instructions", 0, 32, "For events that are taken from now on."),
    ), reset=DEFAULT_BUDGET),
    Register("default_verdict", 0x15, "rw", "Verdict of an event that ends early. Both words "
             "take effect with a write of the upper one.", (
        Field("bits", 0, 32, "32 bits of it."),
    ), words=2),
    Register("program_slot", 0x18, "rw", "Slot of the program memory that the next word is for; "
             "counts on with each. A write clears `program_status`.", (
        Field("slot", 0, 16, "Counted from the memory's first."),
    )),
    Register("program_low", 0x19, "rw", "Lower half of a word.", (
        Field("bits", 0, 32, "Opcode, registers and offset."),
    )),
    Register("program_high", 0x1A, "wo", "Upper half of a word; a write stores both.", (
        Field("bits", 0, 32, "Immediate."),
    )),
    Register("program_status", 0x1B, "ro", "What became of the words.", (
        Field("busy", 0, 1, "The last one is on its way."),
        Field("refused", 1, 1, "One was for a slot of an image, or outside of the memory."),
    )),
    Register("commit_base", 0x1C, "rw", "First slot of a program.", (
        Field("slot", 0, 16, "Counted from the memory's first."),
    )),
    Register("commit_length", 0x1D, "rw", "Slots of it.", (
        Field("slots", 0, 17, "1 or more."),
    )),
    Register("commit", 0x1E, "wo", "Checks the program and makes it an image.", (
        Field("image", 0, 8, "Number of the image."),
    )),
    Register("commit_status", 0x1F, "ro", "What became of it.", (
        Field("busy", 0, 1, "The check goes on."),
        Field("fault", 4, 4, "What is wrong with the program; 0 for nothing."),
        Field("slot", 16, 16, "Where, counted from the program's first slot."),
    )),
    Register("release", 0x20, "wo", "Gives an image up.", (
        Field("image", 0, 8, "Number of the image."),
    )),
    Register("release_status", 0x21, "ro", "What became of it.", (
        Field("busy", 0, 1, "The answer is not there yet."),
        Field("refused", 1, 1, "It is none, a program is bound to it, or it is in use."),
    )),
    Register("bind", 0x22, "wo", "Lets a program stand for an image.", (
        Field("program", 0, 8, "Number that events name."),
        Field("image", 8, 8, "Number of the image."),
        Field("valid", 16, 1, "0: the program stands for none."),
    )),
    Register("bind_status", 0x23, "ro", "What became of it.", (
        Field("busy", 0, 1, "The answer is not there yet."),
        Field("refused", 1, 1, "There is no such program or image."),
    )),
)  # fmt: skip

_MAPS = (
    Register("descriptor", 0x28, "rw", "Descriptor of a map.", (
        Field("bits", 0, 32, "32 bits of it."),
    ), words=DESCRIPTOR_WORDS),
    Register("descriptor_map", 0x30, "wo", "Gives the descriptor to a map.", (
        Field("map", 0, 8, "Number of the map."),
    )),
    Register("operation_length", 0x34, "rw", "Length of an operation.", (
        Field("bytes", 0, 23, "Of a record; of a new map, bytes that become zero."),
    )),
    Register("operation_place", 0x35, "rw", "Place of an operation.", (
        Field("place", 0, 23, "Slot of a key, or the question of a query."),
    )),
    Register("operation", 0x36, "wo", "Starts an operation on a map.", (
        Field("command", 0, 4, "What to do."),
        Field("flags", 4, 4, "Of an update or a push; 8 for any of 8 or more."),
        Field("map", 8, 8, "Number of the map."),
        Field("engine", 16, 3, "Whose values of a per-engine array."),
    )),
    Register("operation_status", 0x37, "ro", "What became of it.", (
        Field("busy", 0, 1, "It goes on."),
        Field("found", 1, 1, "There was what was asked for."),
    )),
    Register("operation_result", 0x38, "ro", "What the helper would leave in r0.", (
        Field("bits", 0, 32, "32 bits of it."),
    ), words=2),
    Register("access_address", 0x3A, "rw", "Address of a value.", (
        Field("address", 0, 32, "As programs see it."),
    )),
    Register("access_data", 0x3B, "rw", "What a store stores.", (
        Field("bits", 0, 32, "32 bits of it."),
    ), words=2),
    Register("access", 0x3D, "wo", "Loads from values of maps or stores to them.", (
        Field("bytes", 0, 4, "1 to 8."),
        Field("stores", 4, 1, "1 to store."),
    )),
    Register("access_status", 0x3E, "ro", "What became of it.", (
        Field("busy", 0, 1, "It goes on."),
        Field("cause", 4, 4, "Why it was not possible; 0 if it was."),
    )),
    Register("access_result", 0x40, "ro", "What was loaded, filled up with zeros.", (
        Field("bits", 0, 32, "32 bits of it."),
    ), words=2),
    Register("operation_key", 0x60, "rw", "Key of an operation; there are as many words as the "
             "longest key has. What is behind the map's key size does not count.", (
        Field("bits", 0, 32, "Four bytes, the first one lowest."),
    ), words=32),
)  # fmt: skip

_REST = (
    *(
        Register(f"counter_{name}", _COUNTER_BASE + 2 * at, "ro", meaning, (
            Field("count", 0, 32, meaning),
        ), words=2)
        for at, (name, meaning) in enumerate(COUNTERS)
    ),
    Register("operand", 0x400, "wo", "What an operation stores: a value or a record. There are as "
             "many words as `limit_operand_bytes` says.", (
        Field("bits", 0, 32, "Four bytes, the first one lowest."),
    ), words=1024),
    Register("read_back", 0x800, "ro", "What an operation read: a value, or a key. There are as "
             "many words as the longer of both needs.", (
        Field("bits", 0, 32, "Four bytes, the first one lowest."),
    ), words=1024),
)  # fmt: skip

#: The whole table, by address.
REGISTERS: tuple[Register, ...] = _IDENTIFICATION + _PROGRAMS + _MAPS + _REST

_BY_NAME = {entry.name: entry for entry in REGISTERS}


def register(name: str) -> Register:
    """Look a register up by its name."""
    return _BY_NAME[name]


def byte_address(name: str, word: int = 0) -> int:
    """Byte address of a register's word.

    Raises
    ------
    IndexError
        If the register has no such word.
    """
    entry = _BY_NAME[name]
    if not 0 <= word < entry.words:
        raise IndexError(f"register {name} has {entry.words} words; there is no word {word}")
    return WORD_BITS // 8 * (entry.address + word)
