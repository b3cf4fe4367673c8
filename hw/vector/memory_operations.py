"""What a vector load or store asks of the memory unit, from the tables of golden."""

import enum

from amaranth import Module, Mux, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import Access, Extension, InstructionKind, MemoryShape

__all__ = ["MemoryControls", "MemoryDecoder", "MemoryOperation", "memory_operation"]


class MemoryOperation(enum.IntEnum):
    """How an access walks through memory; both orders of indexed ones keep that of elements."""

    UNIT = 0
    FAULT_FIRST = 1
    STRIDED = 2
    INDEXED = 3
    MASK = 4
    WHOLE = 5


_BY_ACCESS = {
    Access.UNIT: MemoryOperation.UNIT,
    Access.FAULT_FIRST: MemoryOperation.FAULT_FIRST,
    Access.STRIDED: MemoryOperation.STRIDED,
    Access.INDEXED_UNORDERED: MemoryOperation.INDEXED,
    Access.INDEXED_ORDERED: MemoryOperation.INDEXED,
    Access.MASK: MemoryOperation.MASK,
    Access.WHOLE: MemoryOperation.WHOLE,
    Access.PACKED_INDEX: MemoryOperation.UNIT,  # of a length that Ventaglio's CSRs tell
}


def memory_operation(row: InstructionKind) -> MemoryOperation | None:
    """The memory unit's operation; None if the row is not one of its own.

    Elements of 64 bits are no one's: ELEN is 32.
    """
    shape = row.memory
    if shape is None or row.extension is Extension.ZVE64X:
        return None
    if shape.eew == 64 and shape.access in (Access.UNIT, Access.PACKED_INDEX):
        return None
    return _BY_ACCESS.get(shape.access)


class MemoryControls(data.Struct):
    """Decoded load or store.

    ``operation`` is a `MemoryOperation`; ``width`` is log2 of the bytes of an element, or of an
    index. ``last_field`` is one less than the fields of a segment or the registers of a
    whole-register access.
    """

    operation: unsigned(3)
    store: unsigned(1)
    width: unsigned(2)
    last_field: unsigned(3)
    masked: unsigned(1)


class MemoryDecoder(wiring.Component):
    """Combinational; only for words of rows that `memory_operation` knows.

    Members
    -------
    word : In(32)
    controls : Out of `MemoryControls`
    """

    word: In(32)
    controls: Out(MemoryControls)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        controls = self.controls
        for operation in MemoryOperation:
            patterns = _patterns([row for row in _ROWS if memory_operation(row) is operation])
            with m.If(self.word.matches(*patterns)):
                m.d.comb += controls.operation.eq(operation)
        for width, eew in enumerate((8, 16, 32)):
            with m.If(self.word.matches(*_patterns([r for r in _ROWS if _shape(r).eew == eew]))):
                m.d.comb += controls.width.eq(width)
        stores = _patterns([row for row in _ROWS if _shape(row).store])
        # Where others have their fields, these have a part of their encoding.
        single = _patterns([row for row in _ROWS if _shape(row).post_increment])
        m.d.comb += [
            controls.store.eq(self.word.matches(*stores)),
            controls.last_field.eq(Mux(self.word.matches(*single), 0, self.word[29:32])),
            controls.masked.eq(~self.word[25]),
        ]
        return m


_ROWS = [row for row in INSTRUCTIONS if memory_operation(row) is not None]


def _shape(row: InstructionKind) -> MemoryShape:
    assert row.memory is not None
    return row.memory


def _patterns(rows: list[InstructionKind]) -> list[str]:
    """Patterns of rows, whatever their fields of segments; each once."""
    return list(dict.fromkeys("---" + row.bits[3:] for row in rows))
