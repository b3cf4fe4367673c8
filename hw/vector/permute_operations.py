"""What an instruction asks of the permutation unit, from the tables of golden."""

import enum

from amaranth import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind

__all__ = ["PermuteDecoder", "PermuteOperation", "is_floating", "permute_operation"]


class PermuteOperation(enum.IntEnum):
    """What becomes of whole register groups."""

    SLIDE_UP = 0
    SLIDE_DOWN = 1
    SLIDE_ONE_UP = 2
    SLIDE_ONE_DOWN = 3
    MOVE_REGISTERS = 4
    GATHER = 5
    GATHER_16 = 6  # indices of 16 bits
    GATHER_ONE = 7  # one index for all
    COMPRESS = 8
    TO_SCALAR = 9
    FROM_SCALAR = 10
    MASK_AND = 11
    MASK_AND_NOT = 12
    MASK_OR = 13
    MASK_XOR = 14
    MASK_OR_NOT = 15
    MASK_NAND = 16
    MASK_NOR = 17
    MASK_XNOR = 18
    COUNT = 19
    FIRST = 20
    BEFORE_FIRST = 21
    UP_TO_FIRST = 22
    ONLY_FIRST = 23
    IOTA = 24
    IDENTITY = 25
    SUM = 26
    AND = 27
    OR = 28
    XOR = 29
    MIN_UNSIGNED = 30
    MIN = 31
    MAX_UNSIGNED = 32
    MAX = 33
    WIDE_SUM_UNSIGNED = 34
    WIDE_SUM = 35
    FLOAT_SUM = 36  # in the order of elements, asked for or not
    FLOAT_MIN = 37
    FLOAT_MAX = 38
    FLOAT_WIDE_SUM = 39


_O = PermuteOperation

#: By whole mnemonic, then by mnemonic without operands' letters.
_OPERATIONS = {
    "vmv.x.s": _O.TO_SCALAR,
    "vfmv.f.s": _O.TO_SCALAR,
    "vmv.s.x": _O.FROM_SCALAR,
    "vfmv.s.f": _O.FROM_SCALAR,
    "vrgather.vv": _O.GATHER,
    "vrgather.vx": _O.GATHER_ONE,
    "vrgather.vi": _O.GATHER_ONE,
    "vrgatherei16": _O.GATHER_16,
    "vcompress": _O.COMPRESS,
    "vslideup": _O.SLIDE_UP,
    "vslidedown": _O.SLIDE_DOWN,
    "vslide1up": _O.SLIDE_ONE_UP,
    "vfslide1up": _O.SLIDE_ONE_UP,
    "vslide1down": _O.SLIDE_ONE_DOWN,
    "vfslide1down": _O.SLIDE_ONE_DOWN,
    "vmv1r": _O.MOVE_REGISTERS,
    "vmv2r": _O.MOVE_REGISTERS,
    "vmv4r": _O.MOVE_REGISTERS,
    "vmv8r": _O.MOVE_REGISTERS,
    "vmand": _O.MASK_AND,
    "vmandn": _O.MASK_AND_NOT,
    "vmor": _O.MASK_OR,
    "vmxor": _O.MASK_XOR,
    "vmorn": _O.MASK_OR_NOT,
    "vmnand": _O.MASK_NAND,
    "vmnor": _O.MASK_NOR,
    "vmxnor": _O.MASK_XNOR,
    "vcpop": _O.COUNT,
    "vfirst": _O.FIRST,
    "vmsbf": _O.BEFORE_FIRST,
    "vmsif": _O.UP_TO_FIRST,
    "vmsof": _O.ONLY_FIRST,
    "viota": _O.IOTA,
    "vid": _O.IDENTITY,
    "vredsum": _O.SUM,
    "vredand": _O.AND,
    "vredor": _O.OR,
    "vredxor": _O.XOR,
    "vredminu": _O.MIN_UNSIGNED,
    "vredmin": _O.MIN,
    "vredmaxu": _O.MAX_UNSIGNED,
    "vredmax": _O.MAX,
    "vwredsumu": _O.WIDE_SUM_UNSIGNED,
    "vwredsum": _O.WIDE_SUM,
    "vfredusum": _O.FLOAT_SUM,
    "vfredosum": _O.FLOAT_SUM,
    "vfredmin": _O.FLOAT_MIN,
    "vfredmax": _O.FLOAT_MAX,
    "vfwredusum": _O.FLOAT_WIDE_SUM,
    "vfwredosum": _O.FLOAT_WIDE_SUM,
}


def permute_operation(row: InstructionKind) -> PermuteOperation | None:
    """The permutation unit's operation; None if the row is not one of its own."""
    if row.vector is None or row.extension is Extension.VENTAGLIO:
        return None
    return _OPERATIONS.get(row.name) or _OPERATIONS.get(row.name.split(".")[0])


def is_floating(word: Value) -> Value:
    """Whether an instruction of the unit is one for numbers; with TO_SCALAR, its result is."""
    return _matches(word, [row for row in _ROWS if row.vector is not None and row.vector.floating])


_ROWS = [row for row in INSTRUCTIONS if permute_operation(row) is not None]


def _matches(word: Value, rows: list[InstructionKind]) -> Value:
    """Whether a word is one of some rows."""
    return word.matches(*(row.bits for row in rows))


class PermuteDecoder(wiring.Component):
    """Combinational; only for words of rows that `permute_operation` knows.

    Members
    -------
    word : In(32)
    operation : Out(6)
        `PermuteOperation`.
    masked : Out(1)
    """

    word: In(32)
    operation: Out(6)
    masked: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.masked.eq(~self.word[25])
        for operation in PermuteOperation:
            rows = [row for row in _ROWS if permute_operation(row) is operation]
            with m.If(_matches(self.word, rows)):
                m.d.comb += self.operation.eq(operation)
        return m
