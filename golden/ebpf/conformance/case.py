"""What a conformance case is: a program, what it starts from, and what must come of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf import Instruction, encode_program
from fanweave.golden.isa.ebpf_machine import FaultCause

__all__ = ["M64", "Case", "Entry", "signed_word", "unique"]

M64 = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A key and its value in a map; of queues and rings a value without a key."""

    map: int
    key: bytes
    value: bytes


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case. Nothing in it is computed by the golden machine.

    Attributes
    ----------
    name : str
        Unlike all others; says the rule.
    program : tuple of Instruction
        With its exit.
    r0 : int
        Result, if it does not fault.
    fault : FaultCause
        Why the event ends, or none.
    slot : int, optional
        Where a fault happens, if the case is about that.
    context : bytes
        Memory at r1; its length is in r2.
    context_after : bytes, optional
        What the program makes of it; None if nothing.
    maps : tuple of MapSpec
        Maps 0, 1, and so on, empty.
    before, after : tuple of Entry
        What is put into them first, and all that is in them in the end, maps in order and keys in
        order; values of an array that are zero are left out.
    others : tuple of (int, tuple of Instruction)
        Programs that entries of program arrays name, by number.
    budget : int
        Instructions of the event.
    """

    name: str
    program: tuple[Instruction, ...]
    r0: int = 0
    fault: FaultCause = FaultCause.NONE
    slot: int | None = None
    context: bytes = b""
    context_after: bytes | None = None
    maps: tuple[MapSpec, ...] = ()
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()
    others: tuple[tuple[int, tuple[Instruction, ...]], ...] = ()
    budget: int = 10_000

    @property
    def code(self) -> bytes:
        """The program as it is loaded."""
        return encode_program(self.program)


def signed_word(value: int) -> int | None:
    """The immediate that is extended to a value of 64 bits, if there is one."""
    value = value - (1 << 64) if value >> 63 else value
    return value if -(1 << 31) <= value < 1 << 31 else None


def unique(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases in order.

    Raises
    ------
    ValueError
        If two have the same name.
    """
    found: dict[str, Case] = {}
    for case in cases:
        if case.name in found:
            raise ValueError(f"two conformance cases are called {case.name!r}")
        found[case.name] = case
    return tuple(found.values())
