"""What a register holds: nothing, a number, or the address of something."""

import enum

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.sw.ebpf.verifier.origins import Sources
from fanweave.sw.ebpf.verifier.scalar import Scalar

__all__ = ["CONTEXT_LENGTH", "NOT_NULL", "UNSET", "Kind", "Value", "describe", "number"]

#: Identity of numbers that are the length of the context.
CONTEXT_LENGTH = -1


class Kind(enum.Enum):
    """Type of a register."""

    UNSET = "not set"
    NUMBER = "a number"
    CONTEXT = "an address in the context"
    STACK = "an address on the stack"
    MAP = "a map"
    VALUE = "an address in a value"
    RECORD = "an address in a record"
    MAP_OR_NULL = "a map, or null"
    VALUE_OR_NULL = "the address of a value, or null"
    RECORD_OR_NULL = "the address of a record, or null"


#: What a value is once it is known not to be null.
NOT_NULL: dict[Kind, Kind] = {
    Kind.MAP_OR_NULL: Kind.MAP,
    Kind.VALUE_OR_NULL: Kind.VALUE,
    Kind.RECORD_OR_NULL: Kind.RECORD,
}


class Value:
    """Content of a register; it never changes.

    Attributes
    ----------
    kind : Kind
        Type.
    scalar : Scalar
        The number, or how far the address is from where its memory begins (for the stack: from
        the top of its frame).
    identity : int
        Registers with one identity hold the same; 0 is none. Of records the reservation.
    place : int
        Number of the map, or of the stack's frame.
    size : int
        Bytes of the value or the record.
    sources : tuple of Origin
        What the number was made of.
    """

    __slots__ = ("identity", "kind", "place", "scalar", "size", "sources")

    def __init__(
        self,
        kind: Kind,
        scalar: Scalar,
        identity: int = 0,
        place: int = 0,
        size: int = 0,
        sources: Sources = (),
    ) -> None:
        self.kind = kind
        self.scalar = scalar
        self.identity = identity
        self.place = place
        self.size = size
        self.sources = sources

    def moved(self, offset: Scalar) -> "Value":
        """The same address, elsewhere."""
        return Value(self.kind, offset, self.identity, self.place, self.size)

    def with_number(self, scalar: Scalar, sources: Sources) -> "Value":
        """The same number of which more is known."""
        return Value(self.kind, scalar, self.identity, self.place, self.size, sources)

    def with_identity(self, identity: int) -> "Value":
        """The same, recognised."""
        return Value(self.kind, self.scalar, identity, self.place, self.size, self.sources)

    def with_sources(self, sources: Sources) -> "Value":
        """The same, in a kept state."""
        return Value(self.kind, self.scalar, self.identity, self.place, self.size, sources)

    def not_null(self) -> "Value":
        """The same, now that it is known not to be null."""
        identity = self.identity if self.kind is Kind.RECORD_OR_NULL else 0
        return Value(NOT_NULL[self.kind], self.scalar, identity, self.place, self.size)

    @property
    def constant(self) -> int | None:
        """The one number that it is, unsigned; None if it is not one."""
        full = self.scalar.full
        return full.value if self.kind is Kind.NUMBER and full.mask == 0 else None


UNSET = Value(Kind.UNSET, Scalar.unknown())


def number(scalar: Scalar, sources: Sources = ()) -> Value:
    """A number."""
    return Value(Kind.NUMBER, scalar, 0, 0, 0, sources)


def describe(value: Value, maps: "tuple[MapSpec, ...]") -> str:
    """A value in words."""
    match value.kind:
        case Kind.UNSET:
            return "not set"
        case Kind.NUMBER:
            return f"a number, {value.scalar}"
        case Kind.STACK:
            what = f"an address in stack frame {value.place}"
        case Kind.MAP | Kind.MAP_OR_NULL if value.place < 0:
            what = f"{value.kind.value}, of an unknown definition"
        case Kind.MAP | Kind.MAP_OR_NULL:
            what = f"{value.kind.value}, {maps[value.place].name!r}"
        case Kind.VALUE | Kind.VALUE_OR_NULL:
            what = f"{value.kind.value} of map {maps[value.place].name!r} ({value.size} bytes)"
        case Kind.RECORD | Kind.RECORD_OR_NULL:
            what = f"{value.kind.value} of {value.size} bytes"
        case _:
            what = value.kind.value
    if value.kind in (Kind.MAP, *NOT_NULL):
        return what
    return f"{what}, offset {value.scalar}"
