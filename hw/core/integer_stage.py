"""Integer results of a cycle, and where jumps and branches lead."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.alu import Alu, Comparator
from fanweave.hw.core.issue import Issued
from fanweave.hw.core.operations import Unit

__all__ = ["IntegerStage"]


class IntegerStage(wiring.Component):
    """Combinational.

    Members
    -------
    instruction : In of `Issued`
    result : Out(32)
        What goes to the integer register of a jump, a post-increment load, or arithmetic.
    taken : Out(1); target : Out(32)
        It is a jump or a branch that is taken, and leads there.
    """

    instruction: In(Issued)
    result: Out(32)
    taken: Out(1)
    target: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = self.instruction
        controls, pc = held.controls, held.fetched.pc
        jumps = controls.unit == Unit.JUMP
        m.submodules.alu = alu = Alu()
        m.submodules.comparator = comparator = Comparator()
        first = Mux(controls.first_zero, 0, Mux(controls.first_pc, pc, held.rs1))
        m.d.comb += [
            alu.operation.eq(controls.operation),
            alu.a.eq(first),
            alu.b.eq(Mux(controls.immediate, held.immediate, held.rs2)),
            comparator.condition.eq(controls.operation),
            comparator.a.eq(held.rs1),
            comparator.b.eq(held.rs2),
            self.taken.eq(jumps | ((controls.unit == Unit.BRANCH) & comparator.taken)),
            self.target.eq(Mux(jumps, alu.result & 0xFFFFFFFE, pc + held.immediate)),
            self.result.eq(Mux(jumps, pc + 4, alu.result)),
        ]
        with m.If(controls.post_increment):
            m.d.comb += self.result.eq(held.rs1 + held.rs2)
        return m
