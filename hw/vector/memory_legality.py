"""Which vector loads and stores vtype allows.

The rules are those of `fanweave.golden.riscv.vector_memory`, as logic.
"""

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.memory_operations import MemoryDecoder, MemoryOperation

__all__ = ["MemoryLegality"]

_MOST_LMUL, _LEAST_LMUL = 3, -3
_MOST_REGISTERS, _REGISTERS = 8, 32


class MemoryLegality(wiring.Component):
    """Combinational; only for words of rows that `memory_operation` knows.

    Parameters
    ----------
    segments : int
        Fields of the longest segment, 1 to 8.

    Members
    -------
    word : In(32)
    sew : In(2); lmul : In(3); illegal_type : In(1)
        vtype: log2 of SEW's bytes, LMUL's code, and ``vill``.
    legal : Out(1)
    """

    word: In(32)
    sew: In(2)
    lmul: In(3)
    illegal_type: In(1)
    legal: Out(1)

    def __init__(self, *, segments: int) -> None:
        if not 1 <= segments <= 8:
            raise ValueError(f"segments = {segments} must be from 1 to 8")
        self.segments = segments
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = MemoryDecoder()
        controls = decoder.controls
        register, index = self.word[7:12], self.word[20:25]
        lmul = self.lmul.as_signed()
        fields, indexed = Signal(4), Signal()
        scaled, emul = Signal(signed(5)), Signal(signed(5))
        m.d.comb += [
            decoder.word.eq(self.word),
            fields.eq(controls.last_field + 1),
            indexed.eq(controls.operation == MemoryOperation.INDEXED),
            # As many elements as SEW and LMUL give, of the width that the word says.
            scaled.eq(lmul + controls.width - self.sew),
            emul.eq(Mux(indexed, lmul, scaled)),
        ]
        count, index_count = self._count(emul), self._count(scaled)
        registers = Signal(7)
        m.d.comb += registers.eq(count * fields)
        wrong = Signal()
        m.d.comb += wrong.eq(
            self._is_no_group(register, emul)
            | (fields > self.segments)
            | (registers > _MOST_REGISTERS)
            | (register + registers > _REGISTERS)
            | (~controls.store & controls.masked & (register == 0))
        )
        overlaps = (register < index + index_count) & (index < register + registers)
        narrower, wider = self.sew < controls.width, self.sew > controls.width
        ends_together = (scaled >= 0) & (index + index_count == register + registers)
        may_share = (fields == 1) & (
            Mux(narrower, register == index, 1) & Mux(wider, ends_together, 1)
        )
        wrong_index = (
            self._is_no_group(index, scaled)
            | (controls.masked & (index == 0))
            | (~controls.store & overlaps & ~may_share)
        )
        with m.Switch(controls.operation):
            with m.Case(MemoryOperation.WHOLE):
                m.d.comb += self.legal.eq((register & controls.last_field) == 0)
            with m.Case(MemoryOperation.MASK):
                m.d.comb += self.legal.eq(~self.illegal_type)
            with m.Default():
                m.d.comb += self.legal.eq(~self.illegal_type & ~wrong & ~(indexed & wrong_index))
        return m

    @staticmethod
    def _count(emul: Value) -> Value:
        """Registers of a group."""
        return Mux(emul > 0, 1 << emul[:2], 1)

    def _is_no_group(self, register: Value, emul: Value) -> Value:
        unaligned = (register & (self._count(emul) - 1)).any()
        return (emul < _LEAST_LMUL) | (emul > _MOST_LMUL) | unaligned
