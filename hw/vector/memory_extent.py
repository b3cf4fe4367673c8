"""Elements of a vector access, and what can be told of their addresses at once."""

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.memory_operations import MemoryControls, MemoryDecoder, MemoryOperation

__all__ = ["MemoryExtent", "reaches", "reaches_both"]

_O = MemoryOperation
#: Memories that vector accesses reach; registers of peripherals are for scalar ones.
_MEMORIES = tuple(r for r in REGIONS if r.data and r.name is not RegionName.PERIPHERALS)


def reaches(address: Value) -> Value:
    """Whether an address lies in a memory."""
    return reaches_both(address, address)


def reaches_both(first: Value, last: Value) -> Value:
    """Whether two addresses lie in the same memory.

    Bits above 32 must be clear, so an address that wraps around is nowhere.
    """
    found: Value = Const(0, 1)
    for region in _MEMORIES:
        bits = region.size.bit_length() - 1
        code = region.base >> bits
        found = found | ((first[bits:] == code) & (last[bits:] == code))
    return found


class MemoryExtent(wiring.Component):
    """Combinational.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    instruction : In of `vector_instruction`
    controls : Out of `MemoryControls`
    size : Out(2)
        log2 of the bytes of an element of data.
    low : Out(2)
        Bits of an address that must be clear.
    fields : Out(4)
        Fields of a segment; a whole-register access has none.
    length : Out
        Elements, in the sense of the instruction.
    empty : Out(1)
        There is none from ``vstart`` on.
    contiguous : Out(1)
        A unit-stride access from element 0 on, whose first and last bytes lie in one memory.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "instruction": In(vector_instruction(config)),
                "controls": Out(MemoryControls),
                "size": Out(2),
                "low": Out(2),
                "fields": Out(4),
                "length": Out(config.vlen.bit_length()),
                "empty": Out(1),
                "contiguous": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, instruction, controls = self.config, self.instruction, self.controls
        m.submodules.decoder = decoder = MemoryDecoder()
        operation = controls.operation
        whole, mask = operation == _O.WHOLE, operation == _O.MASK
        unit = (operation == _O.UNIT) | (operation == _O.FAULT_FIRST) | whole | mask
        span, base, end = Signal(16), Signal(33), Signal(33)
        register = Const(config.vlen // 8) >> controls.width
        m.d.comb += [
            decoder.word.eq(instruction.word),
            controls.eq(decoder.controls),
            self.size.eq(Mux(operation == _O.INDEXED, instruction.sew, controls.width)),
            self.low.eq((1 << self.size) - 1),
            self.fields.eq(Mux(whole, 0, controls.last_field) + 1),
            self.length.eq(
                Mux(
                    whole,
                    register * (controls.last_field + 1),
                    Mux(mask, (instruction.vl + 7) >> 3, instruction.vl),
                )
            ),
            span.eq((self.length * self.fields) << self.size),
            base.eq(instruction.scalar),
            end.eq(base + span - 1),
            self.empty.eq(self.length <= instruction.vstart),
            self.contiguous.eq(
                unit
                & (instruction.vstart == 0)
                & ~(base & self.low).any()
                & reaches_both(base, end)
            ),
        ]
        return m
