"""The operations and their numbers."""

import enum

__all__ = ["Operation"]


class Operation(enum.IntEnum):
    """What `compute` does with operands a, b and c."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    SQRT = 4  # of a
    FMA = 5  # a * b + c
    MIN = 6
    MAX = 7
    EQ = 8
    LT = 9
    LE = 10
    CLASS = 11
    CONVERT = 12  # a to the result's format
    TO_SIGNED = 13  # a to an integer of `bits` bits
    TO_UNSIGNED = 14
    FROM_SIGNED = 15  # the integer a, sign-extended to 64 bits
    FROM_UNSIGNED = 16
    RECIPROCAL_7 = 17
    RECIPROCAL_ROOT_7 = 18
