"""What a table of RISC-V instructions is made of; the tables themselves stand beside this module.

A row states its encoding as the manual prints it: bits and names of fields from bit 31 down to
bit 0, such as ``imm[11:5] rs2 rs1 010 imm[4:0] 0100011``.
"""

import enum
import functools
import re
from dataclasses import dataclass

__all__ = [
    "Access",
    "Extension",
    "FieldPart",
    "InstructionKind",
    "MemoryShape",
    "VectorShape",
    "Width",
]

#: Widths of the fields that a pattern names without a range of bits.
_WIDTHS = {
    **dict.fromkeys(("rd", "rs1", "rs2", "fd", "fs1", "fs2", "fs3"), 5),
    **dict.fromkeys(("vd", "vs1", "vs2", "vs3", "shamt", "zimm", "uimm"), 5),
    **dict.fromkeys(("fm", "pred", "succ"), 4),
    **dict.fromkeys(("vm", "aq", "rl"), 1),
    "part": 2,
    "rm": 3,
    "csr": 12,
    "vtype": 11,
    "vtype10": 10,
}
_SIGNED = frozenset({"imm", "simm"})


class Extension(enum.Enum):
    """What an instruction belongs to, by the name that compilers know it by."""

    I = "i"  # noqa: E741
    M = "m"
    A = "a"
    F = "f"
    ZICSR = "zicsr"
    ZIFENCEI = "zifencei"
    ZFHMIN = "zfhmin"
    ZVE32X = "zve32x"
    ZVE32F = "zve32f"
    ZVE64X = "zve64x"
    ZVFH = "zvfh"
    POST_INCREMENT = "xpulppostinc"
    VENTAGLIO = "xventaglio"


class Width(enum.Enum):
    """Width of the elements of a vector operand, in terms of SEW."""

    SEW = "1"
    DOUBLE = "2"
    HALF = "1/2"
    QUARTER = "1/4"
    EEW16 = "16"  # 16 bits, whatever SEW is
    MASK = "mask"  # one bit an element, one register
    SCALAR = "scalar"  # element 0 of one register, SEW
    SCALAR_DOUBLE = "scalar2"  # element 0 of one register, 2 * SEW
    WHOLE = "whole"  # whole registers, whatever vtype says


@dataclass(frozen=True)
class VectorShape:
    """Vector operands of an arithmetic instruction; None where it has none.

    Attributes
    ----------
    vd, vs2, vs1 : Width or None
        Widths of the elements.
    floating : bool
        Whether elements are floating-point numbers: SEW must be 16 or 32.
    accumulates : bool
        Whether the destination is a source as well.
    """

    vd: Width | None
    vs2: Width | None
    vs1: Width | None
    floating: bool = False
    accumulates: bool = False


class Access(enum.Enum):
    """How a vector load or store walks through memory."""

    UNIT = "unit"
    STRIDED = "strided"
    INDEXED_UNORDERED = "indexed unordered"
    INDEXED_ORDERED = "indexed ordered"
    FAULT_FIRST = "fault only first"
    MASK = "mask"
    WHOLE = "whole"
    PACKED_INDEX = "packed index"  # length scaled by the width of Ventaglio's indices


@dataclass(frozen=True, kw_only=True)
class MemoryShape:
    """A vector load or store.

    Attributes
    ----------
    access : Access
        How addresses follow from the operands.
    eew : int
        Bits of an element; of an index, if the access is indexed.
    fields : int
        Fields of a segment, or registers of a whole-register access.
    store : bool
        Whether memory is written.
    post_increment : bool
        Whether rs2 is added to rs1 afterwards.
    """

    access: Access
    eew: int
    fields: int = 1
    store: bool = False
    post_increment: bool = False


@dataclass(frozen=True)
class FieldPart:
    """Where some bits of a field stand.

    Attributes
    ----------
    low : int
        Lowest bit in the instruction.
    width : int
        Number of bits.
    place : int
        Lowest bit in the field's value.
    """

    low: int
    width: int
    place: int


@dataclass(frozen=True, kw_only=True)
class InstructionKind:
    """One row.

    Attributes
    ----------
    name : str
        Mnemonic.
    pattern : str
        Encoding, as the module's text says.
    syntax : str
        Operands as an assembler writes them; fields stand in braces. ``{rm}`` and ``{vm}``
        bring their own comma and vanish where they are the default.
    extension : Extension
        What must be there for it to be legal.
    vector : VectorShape or None
        For vector arithmetic.
    memory : MemoryShape or None
        For vector loads and stores.
    """

    name: str
    pattern: str
    syntax: str
    extension: Extension
    vector: VectorShape | None = None
    memory: MemoryShape | None = None

    @functools.cached_property
    def _parsed(self) -> tuple[int, int, dict[str, tuple[FieldPart, ...]]]:
        return _parse(self.pattern)

    @property
    def mask(self) -> int:
        """Bits that are fixed."""
        return self._parsed[0]

    @property
    def match(self) -> int:
        """Values of the fixed bits."""
        return self._parsed[1]

    @property
    def bits(self) -> str:
        """The instruction from bit 31 down: ``0``, ``1``, or ``-`` where any bit is meant."""
        return "".join(
            str(self.match >> bit & 1) if self.mask >> bit & 1 else "-" for bit in range(31, -1, -1)
        )

    @property
    def fields(self) -> dict[str, tuple[FieldPart, ...]]:
        """Fields by name, and where their bits stand."""
        return self._parsed[2]

    def matches(self, word: int) -> bool:
        """Whether an instruction of 32 bits is one of this row."""
        return word & self.mask == self.match

    def decode(self, word: int) -> dict[str, int]:
        """Values of the fields of an instruction; immediates with their sign."""
        values = {}
        for name, parts in self.fields.items():
            value = sum((word >> p.low & (1 << p.width) - 1) << p.place for p in parts)
            top = max(p.place + p.width for p in parts)
            if name in _SIGNED and value >> top - 1:
                value -= 1 << top
            values[name] = value
        return values

    def encode(self, **values: int) -> int:
        """Build an instruction.

        Raises
        ------
        ValueError
            If a field is missing or unknown, or a value does not fit.
        """
        if values.keys() != self.fields.keys():
            expected = ", ".join(self.fields)
            raise ValueError(f"{self.name} takes {expected}; given are {', '.join(values)}")
        word = self.match
        for name, parts in self.fields.items():
            for part in parts:
                word |= (values[name] >> part.place & (1 << part.width) - 1) << part.low
        if self.decode(word) != values:
            raise ValueError(f"{self.name} cannot encode {values}")
        return word


def _parse(pattern: str) -> tuple[int, int, dict[str, tuple[FieldPart, ...]]]:
    """Mask, match and fields of a pattern."""
    mask = match = 0
    fields: dict[str, tuple[FieldPart, ...]] = {}
    low = 32
    for token in pattern.split():
        if token.strip("01") == "":
            low -= len(token)
            mask |= (1 << len(token)) - 1 << low
            match |= int(token, 2) << low
            continue
        name, ranges = _token(token)
        for high, place in ranges:
            low -= high - place + 1
            fields[name] = (*fields.get(name, ()), FieldPart(low, high - place + 1, place))
    if low != 0:
        raise ValueError(f"pattern {pattern!r} has {32 - low} bits; expected 32")
    return mask, match, fields


def _token(token: str) -> tuple[str, list[tuple[int, int]]]:
    """Name of a field, and the ranges (high, low) of its value's bits from left to right."""
    found = re.fullmatch(r"(\w+)\[([\d:|]+)\]", token)
    if found is None:
        return token, [(_WIDTHS[token] - 1, 0)]
    bits = [part.split(":") for part in found[2].split("|")]
    return found[1], [(int(part[0]), int(part[-1])) for part in bits]
