"""Why the loader in hardware refuses a program: numbers that it reports, and what they mean."""

import enum

__all__ = ["LoadFault"]


class LoadFault(enum.IntEnum):
    """Result of loading a program.

    Attributes
    ----------
    text : str
        What it means; the end of a sentence that begins with the image and the slot.
    """

    text: str

    def __new__(cls, number: int, text: str) -> "LoadFault":
        member = int.__new__(cls, number)
        member._value_ = number
        member.text = text
        return member

    NONE = 0, "the program is loaded"
    # What is wrong with the place of an image.
    NO_IMAGE = 1, "there is no image of this number"
    COMMITTED = 2, "the image is loaded already; release it first"
    EMPTY = 3, "the program is empty; it needs an exit at least"
    OUTSIDE = 4, "the program does not lie within the instruction memory"
    OVERLAP = 5, "the program lies over that of another image; release that or choose another base"
    # What is wrong with an instruction; the slot names it, counted from the program's first.
    ILLEGAL_INSTRUCTION = 6, "the instruction does not exist, or a field that must be 0 is not"
    SECOND_SLOT = 7, "the second slot of a 64-bit immediate load holds more than an immediate"
    CUT_OFF = 8, "the program ends within a 64-bit immediate load"
    UNKNOWN_MAP = 9, "the instruction names a map that does not exist"
    UNKNOWN_HELPER = 10, "the instruction calls a helper that does not exist"
    TARGET_OUTSIDE = 11, "the jump or call leads out of the program"
    TARGET_WITHIN = 12, "the jump or call leads into the middle of a 64-bit immediate load"
    NO_END = 13, "control can run off the end; the last instruction must be an exit or a jump"
