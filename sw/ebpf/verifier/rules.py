"""The rules of the verifier, and how a refusal is said."""

import enum

from fanweave.golden.errors import InputError

__all__ = ["Rule", "VerificationError", "Violation"]


class Rule(enum.Enum):
    """What a program must keep; the value explains it in one line."""

    REGISTER_UNSET = "a register is read only after it was written on every path"
    STACK_UNSET = "bytes of the stack are read only after they were written on every path"
    NO_ADDRESS = "loads and stores go through the address of something"
    NULL_CHECK = "what may be null is compared with 0 before it is used"
    CONTEXT_BOUNDS = "an access of the context lies within the bytes that are surely there"
    CONTEXT_READ_ONLY = "a context that is read-only is not written"
    STACK_BOUNDS = "an access of the stack lies within the frame's bytes below r10"
    VALUE_BOUNDS = "an access of a map's value lies within the value"
    RECORD_BOUNDS = "an access of a ring's record lies within the bytes that were reserved"
    MAP_READ_ONLY = "a map that is read-only for programs is not written"
    MAP_WRITE_ONLY = "a map that is write-only for programs is not read"
    ATOMIC_ALIGNMENT = "an atomic operation lies at a multiple of its width"
    ADDRESS_ARITHMETIC = "an address is only moved: a number is added or subtracted, in 64 bits"
    ADDRESS_RANGE = "an address moves by a number that has bounds"
    ADDRESS_COMPARISON = "an address is compared with 0 or with an address, in 64 bits"
    ADDRESS_STORED = "an address is kept in registers and in aligned 8 bytes of the stack only"
    ADDRESS_IN_PIECES = "a stored address is loaded as a whole, and by nothing but a load"
    ADDRESS_AS_NUMBER = "a helper's argument that is a number is no address"
    FRAME_ENDS = "an address in a frame does not outlive the frame"
    MAP_VALUE_ADDRESS = "the address of a value is taken of an array's value, and within it"
    MAP_ARGUMENT = "a helper's map argument is a map"
    MAP_TYPE = "a helper's map is of a type that the helper works on"
    INNER_MAP = "what an array of maps holds is used only if its definition is known"
    CONTEXT_ARGUMENT = "a tail call hands on the context as it came"
    RECORD_ARGUMENT = "what is submitted or discarded is an open record, from its first byte"
    RECORD_OPEN = "every record that was reserved is submitted or discarded before the end"
    RETURN_VALUE = "r0 is a number at the end"
    CALL_DEPTH = "calls, with those of programs that tail calls lead to, fit in the frames"
    ENDLESS = "every instruction that is reached leads to an end, and no loop repeats its state"
    BUDGET = "the longest path has no more instructions than the budget"
    COMPLEXITY = "the paths are few enough to be followed"


class VerificationError(InputError):
    """A program is refused.

    Attributes
    ----------
    rule : Rule
        What it violates.
    slot : int
        Where.
    """

    def __init__(self, message: str, rule: Rule, slot: int) -> None:
        super().__init__(message)
        self.rule = rule
        self.slot = slot


class Violation(Exception):  # noqa: N818 -- the place is added before anyone sees it
    """A rule is violated by the instruction at hand; the text says by what.

    Attributes
    ----------
    rule : Rule
        Which.
    slot : int
        Where; -1 until it is known.
    """

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(text)
        self.rule = rule
        self.slot = -1
