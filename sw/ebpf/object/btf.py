"""Types of an object file: the section ``.BTF``.

Source: the Linux kernel's documentation, *BPF Type Format (BTF)*.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Btf", "BtfError", "BtfKind", "BtfMember", "BtfType"]

#: Types that one refers to through others; more is a circle, or not worth following.
_DEPTH = 64
_POINTER_BYTES = 8


class BtfError(ValueError):
    """A type does not exist, or is not what is expected; the message says which."""


class BtfKind(enum.IntEnum):
    """Kinds of types; UNKNOWN is void."""

    UNKNOWN = 0
    INT = 1
    PTR = 2
    ARRAY = 3
    STRUCT = 4
    UNION = 5
    ENUM = 6
    FWD = 7
    TYPEDEF = 8
    VOLATILE = 9
    CONST = 10
    RESTRICT = 11
    FUNC = 12
    FUNC_PROTO = 13
    VAR = 14
    DATASEC = 15
    FLOAT = 16
    DECL_TAG = 17
    TYPE_TAG = 18
    ENUM64 = 19


#: Kinds that only give another type a name or a property.
MODIFIERS = frozenset(
    {BtfKind.TYPEDEF, BtfKind.VOLATILE, BtfKind.CONST, BtfKind.RESTRICT, BtfKind.TYPE_TAG}
)
_SIZED = frozenset(
    {BtfKind.INT, BtfKind.STRUCT, BtfKind.UNION, BtfKind.ENUM, BtfKind.ENUM64, BtfKind.FLOAT}
)


@dataclass(frozen=True, kw_only=True)
class BtfMember:
    """A part of a type.

    Attributes
    ----------
    name : str
        Of a member, an enumerator or a parameter; empty if it has none.
    type : int
        Number of its type; of a section's variable the variable's.
    offset : int
        Bits from the beginning of a structure; bytes from that of a section.
    value : int
        Of an enumerator; bits of a bit field; bytes of a section's variable.
    """

    name: str = ""
    type: int = 0
    offset: int = 0
    value: int = 0


@dataclass(frozen=True, kw_only=True)
class BtfType:
    """A type.

    Attributes
    ----------
    number : int
        By which others refer to it.
    kind : BtfKind
        Its kind.
    name : str
        Empty if it has none.
    size : int
        Bytes, of those kinds that say so; elements of an array.
    type : int
        Number of the type that it refers to.
    members : tuple of BtfMember
        Members, enumerators, parameters or variables.
    """

    number: int
    kind: BtfKind
    name: str = ""
    size: int = 0
    type: int = 0
    members: tuple[BtfMember, ...] = ()


VOID = BtfType(number=0, kind=BtfKind.UNKNOWN, name="void")


@dataclass(frozen=True, kw_only=True)
class Btf:
    """Types by number.

    Attributes
    ----------
    types : tuple of BtfType
        The first one is void.
    strings : bytes
        Names and source lines, each with a zero at its end.
    """

    types: tuple[BtfType, ...]
    strings: bytes

    def text(self, offset: int, limit: int = 512) -> str:
        """A string.

        Raises
        ------
        BtfError
            If there is none of less than `limit` bytes at the offset.
        """
        end = self.strings.find(b"\0", offset, offset + limit)
        if end < 0:
            raise BtfError(
                f"no string of less than {limit} bytes at {offset:#x} of {len(self.strings):#x}"
            )
        return self.strings[offset:end].decode(errors="backslashreplace")

    def type(self, number: int) -> BtfType:
        """A type by its number.

        Raises
        ------
        BtfError
            If there is none.
        """
        if not 0 <= number < len(self.types):
            raise BtfError(f"type {number} does not exist; there are 0 to {len(self.types) - 1}")
        return self.types[number]

    def bare(self, number: int) -> BtfType:
        """What is left of a type without names given to it, ``const`` and the like.

        Raises
        ------
        BtfError
            If it refers to itself, or to nothing.
        """
        found = self.type(number)
        for _ in range(_DEPTH):
            if found.kind not in MODIFIERS:
                return found
            found = self.type(found.type)
        raise BtfError(f"type {number} refers to itself")

    def size_of(self, number: int) -> int:
        """Bytes of a type.

        Raises
        ------
        BtfError
            If it has no size, or refers to itself.
        """
        count = 1
        for _ in range(_DEPTH):
            found = self.bare(number)
            if found.kind is BtfKind.ARRAY:
                count *= found.size
                number = found.type
            elif found.kind is BtfKind.PTR:
                return count * _POINTER_BYTES
            elif found.kind in _SIZED:
                return count * found.size
            else:
                raise BtfError(f"{self.describe(number)} has no size")
        raise BtfError(f"type {number} refers to itself")

    def sections(self) -> Mapping[str, BtfType]:
        """Sections with variables or functions, by name."""
        return {found.name: found for found in self.types if found.kind is BtfKind.DATASEC}

    def describe(self, number: int) -> str:
        """A type as one would write it in C, more or less."""
        after = ""
        for _ in range(_DEPTH):
            if not 0 <= number < len(self.types):
                return f"type {number}, which does not exist"
            found = self.types[number]
            word = _WORDS.get(found.kind, "")
            if found.kind in (BtfKind.PTR, BtfKind.CONST, BtfKind.VOLATILE, BtfKind.RESTRICT):
                apart = after[:1].isalpha() or (after.startswith("(") and word != "*")
                after = f"{word} {after}" if apart else word + after
                number = found.type
            elif found.kind is BtfKind.ARRAY:
                after = f"({after})" if after.startswith("*") else after
                after += f"[{found.size}]"
                number = found.type
            elif found.kind is BtfKind.TYPE_TAG:
                number = found.type
            else:
                name = found.name or ("" if found.kind is BtfKind.FUNC_PROTO else "(unnamed)")
                return " ".join(part for part in (word, name, after) if part)
        return f"type {number}, which refers to itself"


_WORDS = {
    BtfKind.PTR: "*",
    BtfKind.CONST: "const",
    BtfKind.VOLATILE: "volatile",
    BtfKind.RESTRICT: "restrict",
    BtfKind.STRUCT: "struct",
    BtfKind.UNION: "union",
    BtfKind.ENUM: "enum",
    BtfKind.ENUM64: "enum",
    BtfKind.FWD: "struct",
    BtfKind.FUNC_PROTO: "function",
    BtfKind.DATASEC: "section",
    BtfKind.VAR: "variable",
    BtfKind.FUNC: "function",
}
