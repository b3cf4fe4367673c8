"""Registers of an island beside those of its switch: the memory of verdicts, and the clock.

They follow the switch's in the same space of word addresses. All begin at 0, so the memory is off.
"""

from fanweave.golden.isa.registers import Field, Register

__all__ = [
    "FIRST_ADDRESS",
    "ISLAND_COUNTERS",
    "ISLAND_REGISTERS",
    "PACED_PROGRAMS",
    "SHIFT_BASE",
]

#: Registers below this are the switch's.
FIRST_ADDRESS = 0x300
#: Programs with a pace of their own; those with higher numbers have the last one's.
PACED_PROGRAMS = 8
#: Bits of an address within the smallest page that verdicts are kept for.
SHIFT_BASE = 12

#: Counters of 32 bits that wrap, with their meanings.
ISLAND_COUNTERS = (
    ("hits", "Events whose verdict was known."),
    ("misses", "Events of remembered programs whose verdict was not."),
    ("fills", "Verdicts that were written into the memory."),
    ("unseen", "Events that no engine had a place for."),
    ("overruns", "Verdicts that came after their program's pace."),
    ("forgotten", "Times that all verdicts were forgotten."),
)

ISLAND_REGISTERS = (
    Register(
        "verdicts",
        FIRST_ADDRESS,
        "rw",
        "The memory of verdicts.",
        (
            Field("enable", 0, 1, "Whether it is used; the engine then has one event at a time."),
            Field("hold", 1, 1, "Whether a request without a known verdict waits for the engine."),
            Field("shift", 8, 5, f"Pages of 2**(n + {SHIFT_BASE}) bytes have one verdict."),
            Field("programs", 16, 16, "Programs whose verdicts are kept, a bit each."),
        ),
    ),
    Register("forget", FIRST_ADDRESS + 1, "w1", "Forgets all verdicts.", ()),
    Register(
        "clock",
        FIRST_ADDRESS + 2,
        "wo",
        "Sets the time that programs see.",
        (Field("time_ns", 0, 32, "Nanoseconds."),),
    ),
    *(
        Register(
            f"pace_{number}",
            FIRST_ADDRESS + 8 + number,
            "rw",
            f"When verdicts of program {number} hold.",
            (Field("cycles", 0, 16, "Cycles after its event was taken; 0: when it ends."),),
        )
        for number in range(PACED_PROGRAMS)
    ),
    *(
        Register(
            f"counter_{name}",
            FIRST_ADDRESS + 0x10 + number,
            "ro",
            meaning,
            (Field("count", 0, 32, "Counts; it wraps."),),
        )
        for number, (name, meaning) in enumerate(ISLAND_COUNTERS)
    ),
)
