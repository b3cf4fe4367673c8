"""One frame of the stack, byte by byte."""

import enum

from fanweave.golden.isa.ebpf import AluOperation
from fanweave.golden.isa.ebpf_machine import FRAME_BYTES
from fanweave.sw.ebpf.verifier.origins import Origin, Sources, mark_counting, mark_read, union
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar, apply, move, of_bytes
from fanweave.sw.ebpf.verifier.values import Kind, Value, number

__all__ = ["WORD", "ByteKind", "Stack"]

#: Bytes of a register, and of the pieces whose reading is noted.
WORD = 8


class ByteKind(enum.IntEnum):
    """What a byte of the stack is."""

    UNSET = 0
    ANY = 1  # a byte of some number
    ZERO = 2
    NUMBER = 3  # of a number that is known as a whole
    ADDRESS = 4  # of an address


class Stack:
    """A frame's bytes, from the lowest address on, and the values that were stored as a whole.

    Attributes
    ----------
    kinds : bytearray
        A `ByteKind` for each byte.
    stored : dict of int to (int, Value)
        By place of the first byte: bytes, and value.
    origins : dict of int to Origin
        By number of the word of 8 bytes.
    """

    __slots__ = ("kinds", "origins", "shared", "stored")

    def __init__(self) -> None:
        self.kinds = bytearray(FRAME_BYTES)
        self.stored: dict[int, tuple[int, Value]] = {}
        self.origins: dict[int, Origin] = {}
        #: Whether more than one state uses this object, which must not be changed then.
        self.shared = False

    def copy(self) -> "Stack":
        """A stack that can be changed by itself."""
        made = Stack.__new__(Stack)
        made.kinds = bytearray(self.kinds)
        made.stored = dict(self.stored)
        made.origins = dict(self.origins)
        made.shared = False
        return made

    def _note_reading(self, place: int, size: int) -> None:
        for word in range(place // WORD, (place + size - 1) // WORD + 1):
            mark_read(self.origins.get(word))

    def read(self, place: int, size: int) -> Value:
        """Load bytes at a known place.

        Raises
        ------
        Violation
            If they were not written, or are a part of an address.
        """
        self._note_reading(place, size)
        found = self.stored.get(place)
        if found is not None and found[0] == size:
            return found[1]
        self._require_numbers(place, size)
        known = self._assemble(place, size)
        return number(of_bytes(size)) if known is None else known

    def read_any(self, place: int, size: int) -> None:
        """Require that bytes are those of numbers, whatever they are.

        Raises
        ------
        Violation
            If they are not.
        """
        if size:
            self._note_reading(place, size)
            self._require_numbers(place, size)

    def _require_numbers(self, place: int, size: int) -> None:
        for at in range(place, place + size):
            kind = self.kinds[at]
            if kind == ByteKind.UNSET:
                raise Violation(
                    Rule.STACK_UNSET, f"the byte at r10{at - FRAME_BYTES} of its frame was not set"
                )
            if kind == ByteKind.ADDRESS:
                raise Violation(
                    Rule.ADDRESS_IN_PIECES,
                    f"the byte at r10{at - FRAME_BYTES} of its frame is a part of an address",
                )

    def _assemble(self, place: int, size: int) -> Value | None:
        """The number that bytes make together, if all of them are known."""
        total = 0
        sources: Sources = ()
        at = place
        while at < place + size:
            if self.kinds[at] == ByteKind.ZERO:
                at += 1
                continue
            if self.kinds[at] != ByteKind.NUMBER:
                return None
            start = self._start_of(at)
            length, value = self.stored[start]
            constant = value.constant
            if constant is None:
                return None
            stop = min(start + length, place + size)
            part = constant >> 8 * (at - start) & (1 << 8 * (stop - at)) - 1
            total |= part << 8 * (at - place)
            sources = union(sources, value.sources)
            at = stop
        return number(Scalar.constant(total), sources)

    def _start_of(self, place: int) -> int:
        """Where the stored value begins that a byte belongs to."""
        for start in range(place, place - WORD, -1):
            found = self.stored.get(start)
            if found is not None:
                assert start + found[0] > place
                return start
        raise AssertionError(place)

    def write(self, place: int, size: int, value: Value) -> None:
        """Store a value at a known place."""
        self._break_up(place, size)
        if place % WORD == 0 and size == WORD:
            self.origins.pop(place // WORD, None)
        if value.kind is Kind.NUMBER:
            kind = ByteKind.NUMBER
            limit = (1 << 8 * size) - 1
            if value.scalar.full.umax > limit:
                value = number(_low(value.scalar, size), value.sources)
        else:
            kind = ByteKind.ADDRESS
        self.stored[place] = (size, value)
        self.kinds[place : place + size] = bytes([kind]) * size

    def replace(self, place: int, size: int, value: Value) -> None:
        """Put something else in the place of a stored value that is the same in the machine."""
        if value.kind is Kind.UNSET:
            del self.stored[place]
            self.kinds[place : place + size] = bytes(size)
            return
        self.stored[place] = (size, value)
        kind = ByteKind.NUMBER if value.kind is Kind.NUMBER else ByteKind.ADDRESS
        self.kinds[place : place + size] = bytes([kind]) * size

    def write_any(self, place: int, size: int) -> None:
        """Store unknown bytes at a known place."""
        if not size:
            return
        self._break_up(place, size)
        for word in range(-(-place // WORD), (place + size) // WORD):
            self.origins.pop(word, None)
        self.kinds[place : place + size] = bytes([ByteKind.ANY]) * size

    def write_somewhere(self, place: int, size: int, *, zero: bool) -> None:
        """Store bytes that are perhaps written: those between the first and the last place."""
        self._break_up(place, size)
        for at in range(place, place + size):
            # What was not set may still not be, and an address that was here is lost.
            if self.kinds[at] != ByteKind.UNSET and not (zero and self.kinds[at] == ByteKind.ZERO):
                self.kinds[at] = ByteKind.ANY

    def _break_up(self, place: int, size: int) -> None:
        """Forget values that a store reaches into; what is left of them are bytes."""
        for start in range(place - WORD + 1, place + size):
            found = self.stored.get(start)
            if found is None or start + found[0] <= place:
                continue
            length, value = self.stored.pop(start)
            if value.kind is not Kind.NUMBER:
                kind = ByteKind.UNSET
            elif value.constant == 0:
                mark_counting(value.sources)
                kind = ByteKind.ZERO
            else:
                kind = ByteKind.ANY
            self.kinds[start : start + length] = bytes([kind]) * length


def _low(scalar: Scalar, size: int) -> Scalar:
    """What a load of so many bytes gives of a number."""
    if size == WORD:
        return scalar
    if scalar.is_constant:
        return Scalar.constant(scalar.full.value & (1 << 8 * size) - 1)
    if size == WORD // 2:
        return move(scalar, bits=32)
    mask = Scalar.constant((1 << 8 * size) - 1)
    return apply(AluOperation.AND, scalar, mask, bits=64)
