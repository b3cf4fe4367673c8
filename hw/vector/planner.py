"""Makes a plan of an instruction: widths of its operands, and the registers that they take."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.decoder import Extent, Scalar, VectorControls
from fanweave.hw.vector.memory_operations import MemoryDecoder, MemoryOperation
from fanweave.hw.vector.plans import VectorUnitName, slot_ranges, vector_plan

__all__ = ["Planner"]

#: The half-precision quiet NaN that a number without its box stands for.
_NOT_A_HALF = 0x7E00


class Planner(wiring.Component):
    """Combinational; only for legal instructions of the units.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    word, rs1, rs2, fs1 : In(32)
        The instruction and the registers that it names.
    controls : In of `VectorControls`
    sew : In(2); lmul : In(3); vl, vstart : In
        vtype's codes; elements.
    frm : In(3); vxrm : In(2)
    plan : Out of `vector_plan`; ranges : Out of `slot_ranges`
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        length = config.vlen.bit_length()
        super().__init__(
            {
                "word": In(32),
                "rs1": In(32),
                "rs2": In(32),
                "fs1": In(32),
                "controls": In(VectorControls),
                "sew": In(2),
                "lmul": In(3),
                "vl": In(length),
                "vstart": In(length),
                "frm": In(3),
                "vxrm": In(2),
                "plan": Out(vector_plan(config)),
                "ranges": Out(slot_ranges(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, controls = self.plan, self.controls
        instruction = plan.instruction
        masked = controls.maskable & ~self.word[25]
        m.d.comb += [
            instruction.word.eq(self.word),
            instruction.sew.eq(self.sew),
            instruction.lmul.eq(self.lmul),
            instruction.vl.eq(self.vl),
            instruction.vstart.eq(self.vstart),
            instruction.scalar.eq(self._scalar(m)),
            instruction.rs2.eq(self.rs2),
            instruction.rounding.eq(Mux(controls.floating, self.frm, self.vxrm)),
            plan.unit.eq(controls.unit),
            plan.operation.eq(controls.operation),
            plan.masked.eq(masked),
            plan.mask.eq(masked | controls.carries),
            plan.bits.eq(controls.bits),
            plan.reads_vs2.eq(controls.vs2 != Extent.NONE),
            plan.reads_vs1.eq(self._has_vs1()),
            plan.reads_vd.eq(controls.bits | controls.accumulates),
            plan.vs2_size.eq(self.sew + controls.vs2_step),
            plan.vs1_size.eq(self.sew),
            plan.vd_size.eq(self.sew + controls.vd_step),
            plan.size.eq(self.sew + ((controls.vs2_step == 1) | (controls.vd_step == 1))),
            self.ranges.mask.eq(plan.mask),
            self.ranges.floats.eq(controls.floating),
            self.ranges.saturates.eq(controls.unit == VectorUnitName.INTEGER),
        ]
        m.submodules.memory = memory = MemoryDecoder()
        m.d.comb += memory.word.eq(self.word)
        with m.If(controls.unit == VectorUnitName.MEMORY):
            self._memory_ranges(m, memory.controls)
        with m.Else():
            self._ranges(m)
        return m

    def _has_vs1(self) -> Value:
        """Whether vs1 is a vector; forms with a scalar have the same widths."""
        form = self.word[12:15]
        return (self.controls.vs1 != Extent.NONE) & ((form == 0) | (form == 1) | (form == 2))

    def _scalar(self, m: Module) -> Value:
        value, field = Signal(32, name="scalar"), self.word[15:20]
        boxed = self.fs1[16:].all()
        half = Mux(boxed, self.fs1[:16], _NOT_A_HALF)
        m.d.comb += value.eq(self.rs1)
        with m.Switch(self.controls.scalar):
            with m.Case(Scalar.FS1):
                m.d.comb += value.eq(Mux(self.sew == 1, half, self.fs1))
            with m.Case(Scalar.SIGNED):
                m.d.comb += value.eq(field.as_signed())
            with m.Case(Scalar.UNSIGNED):
                m.d.comb += value.eq(field)
        return value

    def _group(self, step: Value | int) -> Value:
        """Registers of a group of elements whose width is so far from SEW."""
        size = self.lmul.as_signed() + step
        return Mux(size > 0, 1 << Value.cast(size).as_unsigned()[:2], 1)

    def _put(self, m: Module, name: str, register: Value, count: Value | int) -> None:
        words: data.View = self.ranges[name]
        first = register * self.config.words
        m.d.comb += [
            words.first.eq(first),
            words.end.eq(first + Value.cast(count) * self.config.words),
        ]

    def _ranges(self, m: Module) -> None:
        controls, word = self.controls, self.word
        index_step = 1 - self.sew
        for name, low, step in (
            ("vd", 7, controls.vd_step),
            ("vs2", 20, controls.vs2_step),
            ("vs1", 15, Mux(controls.index_16, index_step, 0)),
        ):
            register = word[low : low + 5]
            with m.Switch(controls[name]):
                with m.Case(Extent.ONE):
                    self._put(m, name, register, 1)
                with m.Case(Extent.GROUP):
                    self._put(m, name, register, self._group(step))
                with m.Case(Extent.WHOLE):
                    self._put(m, name, register, word[15:18] + 1)
        with m.If(~self._has_vs1()):
            m.d.comb += self.ranges.vs1.eq(0)

    def _memory_ranges(self, m: Module, controls: data.View) -> None:
        word = self.word
        register, index = word[7:12], word[20:25]
        fields = controls.last_field + 1
        step = controls.width - self.sew
        indexed = controls.operation == MemoryOperation.INDEXED
        count = Signal(7, name="registers")
        with m.Switch(controls.operation):
            with m.Case(MemoryOperation.WHOLE):
                m.d.comb += count.eq(fields)
            with m.Case(MemoryOperation.MASK):
                m.d.comb += count.eq(1)
            with m.Case(MemoryOperation.INDEXED):
                m.d.comb += count.eq(self._group(0) * fields)
            with m.Default():
                m.d.comb += count.eq(self._group(step) * fields)
        with m.If(controls.store):
            self._put(m, "vs1", register, count)
        with m.Else():
            self._put(m, "vd", register, count)
        with m.If(indexed):
            self._put(m, "vs2", index, self._group(step))
