"""Cases of which Linux 6.18 decides otherwise, by the reason.

Linux is asked as a privileged user, with each program as a function (see `LinuxVerifier`).
"""

from dataclasses import dataclass

__all__ = ["DIFFERENCES", "Difference"]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Cases that differ for one reason.

    Attributes
    ----------
    reason : str
        What Linux does.
    accepts : bool
        Whether Linux accepts what is refused here, or the other way round.
    names : tuple of str
        Of the cases.
    """

    reason: str
    accepts: bool
    names: tuple[str, ...]


def _numbers(*names: str) -> tuple[str, ...]:
    return tuple(f"number: {name}, the {end}" for name in names for end in ("most", "least"))


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        reason="a privileged program may read bytes of the stack that it did not write",
        accepts=True,
        names=(
            "stack: nothing was stored",
            "stack: half of it was stored",
            "stack: stored somewhere",
            "stack: somewhere, where not all was stored",
            "stack: a frame of a function that returned",
            "stack: stored on one way only",
            "atomic: on bytes that were not stored",
            "kept: an address that was written over in part",
            "helper: a key of which nothing is set",
            "helper: a key of which half is set",
            "helper: a value that is not set",
            "helper: bytes of a record that are not set",
            "ways: three, and the last did not set the stack",
        ),
    ),
    Difference(
        reason="a privileged program may use addresses as numbers, and give them away",
        accepts=True,
        names=(
            "atomic: with an address",
            "atomic: on an address",
            "null: compared with another address",
            "null: a difference",
            "arithmetic: an address moved in 32 bits",
            "arithmetic: an address negated",
            "arithmetic: an address with its bytes reversed",
            "arithmetic: an address extended",
            "arithmetic: addresses of different memories subtracted",
            "comparison: an address with a number",
            "comparison: an address with any number",
            "comparison: an address with 0 by order",
            "comparison: an address in 32 bits",
            "comparison: bits of an address",
            "comparison: a value that may be null by order",
            "kept: an address in the context",
            "kept: an address in a value",
            "kept: an address somewhere on the stack",
            "kept: an address in a key",
            "kept: an address is returned",
            "kept: a map is returned",
            "kept: what may be null is returned",
            "helper: an address as a flag",
        ),
    ),
    Difference(
        reason="a privileged program may read the kernel's own description of a map",
        accepts=True,
        names=("kept: a map is no address",),
    ),
    Difference(
        reason="addresses may be moved four times as far",
        accepts=True,
        names=("arithmetic: moved by a great constant", "arithmetic: moved far by many steps"),
    ),
    Difference(
        reason="the context is a map's value here, of the greatest length, and can be written; the "
        "number of instructions has no limit that is chosen; and all maps in a map are known",
        accepts=True,
        names=(
            "unset: r0 at the exit",
            "unset: r0 on one of two ways",
            "unset: r0 of a compare and exchange",
            "context: a store where it is read-only",
            "context: an atomic operation where it is read-only",
            "context: the length is one byte short",
            "context: the length is not looked at",
            "context: another number is looked at than the length",
            "context: the other way of the comparison",
            "ways: the length is looked at on one of them",
            "helper: a map of which nothing is known",
            "budget: a loop of too many turns",
            "budget: one instruction too many",
            "budget: the longer of two ways",
        ),
    ),
    Difference(
        reason="less is known of quotients, remainders, shifts by a register, and a few others",
        accepts=False,
        names=(
            *_numbers("a remainder", "a remainder by 3", "a quotient", "a quotient by zero is 0"),
            *_numbers("a shift by any number of places"),
            *_numbers("a count of places is taken modulo 64"),
            *_numbers("a signed quotient", "a signed remainder"),
            "arithmetic: a number that may be negative, within the value",
            "way: a number is itself",
            "way: no number is greater than itself",
            "way: a remainder is less than the divisor",
            "stack: a part of a known number",
            "stack: a known number of two stores",
            "null: compared with a register that is 0",
            "helper: an error is not positive",
        ),
    ),
    Difference(
        reason="what is never reached is refused",
        accepts=False,
        names=("ways: what is never reached may be wrong",),
    ),
    Difference(
        reason="forms that are possible only here: a handle as a number, a record of a length with "
        "bounds, an address in a later value, a caller's address kept by a function",
        accepts=False,
        names=(
            "helper: a map by its handle",
            "record: bytes as many as are surely reserved",
            "value: a later one of an array",
            "kept: a caller's frame with the caller",
        ),
    ),
    Difference(
        reason="as a function it has a frame less, and no tail calls",
        accepts=False,
        names=(
            "calls: as deep as there are frames",
            "tail: where nothing is",
            "tail: a program that ends",
            "tail: a program that goes on in itself",
            "tail: in a function, the caller goes on",
        ),
    ),
)
