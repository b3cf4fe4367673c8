"""Tristate numbers: of each bit it is known that it is 0, that it is 1, or nothing.

A number is a pair ``(value, mask)``: bits of the mask are unknown, the others are those of the
value, which has zeros where the mask has ones. All functions take a number of bits and give pairs
of as many.

Source: H. Vishwanathan, M. Shachnai, S. Narayana, S. Nagarakatte, *Sound, Precise, and Fast
Abstract Interpretation with Tristate Numbers*, CGO 2022.
"""

__all__ = [
    "Tristate",
    "add",
    "arithmetic_shift_right",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "meet",
    "multiply",
    "of_interval",
    "shift_left",
    "subtract",
]

#: Value and mask.
Tristate = tuple[int, int]


def add(a: Tristate, b: Tristate, bits: int) -> Tristate:
    """Sum."""
    known = a[0] + b[0]
    every = a[1] + b[1]
    # Where the least and the greatest sum differ, a carry may or may not arrive.
    mask = (known + every ^ known | a[1] | b[1]) & (1 << bits) - 1
    return known & (1 << bits) - 1 & ~mask, mask


def subtract(a: Tristate, b: Tristate, bits: int) -> Tristate:
    """Difference."""
    known = a[0] - b[0]
    mask = (known + a[1] ^ known - b[1] | a[1] | b[1]) & (1 << bits) - 1
    return known & (1 << bits) - 1 & ~mask, mask


def multiply(a: Tristate, b: Tristate, bits: int) -> Tristate:
    """Product: the known parts multiplied, and a sum of what each uncertain bit of `a` adds."""
    if (a[0] | a[1]).bit_length() > (b[0] | b[1]).bit_length():
        a, b = b, a
    limit = (1 << bits) - 1
    uncertain: Tristate = (0, 0)
    (value, mask), (b_value, b_mask) = a, b
    while value | mask:
        if value & 1:
            uncertain = add(uncertain, (0, b_mask & limit), bits)
        elif mask & 1:
            uncertain = add(uncertain, (0, (b_value | b_mask) & limit), bits)
        value, mask = value >> 1, mask >> 1
        b_value, b_mask = b_value << 1, b_mask << 1
    return add((a[0] * b[0] & limit, 0), uncertain, bits)


def bitwise_and(a: Tristate, b: Tristate) -> Tristate:
    """Bits that both have."""
    value = a[0] & b[0]
    return value, (a[0] | a[1]) & (b[0] | b[1]) & ~value


def bitwise_or(a: Tristate, b: Tristate) -> Tristate:
    """Bits that either has."""
    value = a[0] | b[0]
    return value, (a[1] | b[1]) & ~value


def bitwise_xor(a: Tristate, b: Tristate) -> Tristate:
    """Bits in which they differ."""
    mask = a[1] | b[1]
    return (a[0] ^ b[0]) & ~mask, mask


def shift_left(a: Tristate, shift: int, bits: int) -> Tristate:
    """Shifted to the left, with zeros behind."""
    limit = (1 << bits) - 1
    return a[0] << shift & limit, a[1] << shift & limit


def arithmetic_shift_right(a: Tristate, shift: int, bits: int) -> Tristate:
    """Shifted to the right, with copies of the first bit before it, known or not."""
    limit, first = (1 << bits) - 1, 1 << bits - 1
    spread = limit & ~(limit >> shift)
    value, mask = a[0] >> shift, a[1] >> shift
    if a[1] & first:
        return value, mask | spread
    return (value | spread, mask) if a[0] & first else (value, mask)


def of_interval(low: int, high: int) -> Tristate:
    """The bits that all numbers of an interval have in common: the first ones."""
    mask = (1 << (low ^ high).bit_length()) - 1
    return low & ~mask, mask


def meet(a: Tristate, b: Tristate) -> Tristate | None:
    """What is known if both are right; None if they cannot be."""
    if (a[0] ^ b[0]) & ~a[1] & ~b[1]:
        return None
    mask = a[1] & b[1]
    return (a[0] | b[0]) & ~mask, mask
