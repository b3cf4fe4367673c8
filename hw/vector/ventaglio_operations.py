"""What an instruction asks of Ventaglio, from the tables of golden."""

import enum

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import Access, Extension, InstructionKind

__all__ = ["VentaglioDecoder", "VentaglioOperation", "is_packed", "ventaglio_operation"]

#: Old forms, which nobody executes.
_REFUSED = ("vfxmacc.vf", "vfxmul.vf")


class VentaglioOperation(enum.IntEnum):
    """What becomes of accumulators."""

    MULTIPLY_ACCUMULATE = 0
    MULTIPLY = 1
    CLEAR = 2
    ROWS = 3


_BY_NAME = {
    "vfxmacc.vrf": VentaglioOperation.MULTIPLY_ACCUMULATE,
    "vfxmul.vrf": VentaglioOperation.MULTIPLY,
    "vventclr": VentaglioOperation.CLEAR,
    "vfxmacc.rows": VentaglioOperation.ROWS,
}


def ventaglio_operation(row: InstructionKind) -> VentaglioOperation | None:
    """Ventaglio's operation; None if the row is not one of its own."""
    if row.extension is not Extension.VENTAGLIO or row.memory is not None or row.name in _REFUSED:
        return None
    return _BY_NAME[row.name]


def is_packed(row: InstructionKind) -> bool:
    """Whether it loads indices, whose number and width Ventaglio's CSRs tell."""
    return row.memory is not None and row.memory.access is Access.PACKED_INDEX


class VentaglioDecoder(wiring.Component):
    """Combinational.

    Members
    -------
    word : In(32)
    product, multiply, rows, clear, packed : Out(1)
        Products, of which some overwrite, and some are of many rows; a clear; a load of indices.
    moves_word : Out(1)
        A unit-stride load or store of 32-bit elements without a mask.
    """

    word: In(32)
    product: Out(1)
    multiply: Out(1)
    rows: Out(1)
    clear: Out(1)
    packed: Out(1)
    moves_word: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        by_operation = {
            operation: [row.bits for row in INSTRUCTIONS if ventaglio_operation(row) is operation]
            for operation in VentaglioOperation
        }
        multiplies = by_operation[VentaglioOperation.MULTIPLY]
        accumulates = by_operation[VentaglioOperation.MULTIPLY_ACCUMULATE]
        rows = by_operation[VentaglioOperation.ROWS]
        m.d.comb += [
            self.product.eq(self.word.matches(*multiplies, *accumulates, *rows)),
            self.rows.eq(self.word.matches(*rows)),
            self.multiply.eq(self.word.matches(*multiplies)),
            self.clear.eq(self.word.matches(*by_operation[VentaglioOperation.CLEAR])),
            self.packed.eq(self.word.matches(*(r.bits for r in INSTRUCTIONS if is_packed(r)))),
            self.moves_word.eq(
                self.word[25] & self.word.matches(*(r.bits for r in INSTRUCTIONS if _moves(r)))
            ),
        ]
        return m


def _moves(row: InstructionKind) -> bool:
    shape = row.memory
    if shape is None:
        return False
    return shape.access is Access.UNIT and shape.eew == 32 and shape.fields == 1
