"""Integer arithmetic of a single cycle, and conditions of branches."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.operations import AluOperation, Condition

__all__ = ["Alu", "Comparator"]


class Alu(wiring.Component):
    """Combinational.

    Members
    -------
    operation : In(4)
        See `AluOperation`.
    a, b : In(32)
        Operands.
    result : Out(32)
    """

    operation: In(4)
    a: In(32)
    b: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = self.a, self.b
        shift = b[:5]
        with m.Switch(self.operation):
            for operation, value in (
                (AluOperation.ADD, a + b),
                (AluOperation.SUB, a - b),
                (AluOperation.SLT, a.as_signed() < b.as_signed()),
                (AluOperation.SLTU, a < b),
                (AluOperation.XOR, a ^ b),
                (AluOperation.OR, a | b),
                (AluOperation.AND, a & b),
                (AluOperation.SLL, a << shift),
                (AluOperation.SRL, a >> shift),
                (AluOperation.SRA, a.as_signed() >> shift),
            ):
                with m.Case(operation):
                    m.d.comb += self.result.eq(value)
        return m


class Comparator(wiring.Component):
    """Combinational: whether a branch is taken.

    Members
    -------
    condition : In(3)
        See `Condition`.
    a, b : In(32)
    taken : Out(1)
    """

    condition: In(3)
    a: In(32)
    b: In(32)
    taken: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        equal, less, signed = Signal(), Signal(), Signal()
        m.d.comb += [
            equal.eq(self.a == self.b),
            signed.eq((self.condition == Condition.BLT) | (self.condition == Condition.BGE)),
            less.eq(
                Mux(signed, self.a.as_signed() < self.b.as_signed(), self.a < self.b),
            ),
        ]
        with m.Switch(self.condition):
            for condition, value in (
                (Condition.BEQ, equal),
                (Condition.BNE, ~equal),
                (Condition.BLT, less),
                (Condition.BGE, ~less),
                (Condition.BLTU, less),
                (Condition.BGEU, ~less),
            ):
                with m.Case(condition):
                    m.d.comb += self.taken.eq(value)
        return m
