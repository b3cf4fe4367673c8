"""Arithmetic and comparisons of one instruction, without division."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf import AluOperation, JumpOperation

__all__ = ["Alu", "Comparator", "byte_order", "sign_extended"]


class Alu(wiring.Component):
    """Combinational: every operation of `AluOperation` but division, modulo and byte orders.

    Members
    -------
    operation : In(4)
        See `AluOperation`; division and modulo give 0.
    wide : In(1)
        64 bits; otherwise 32, and the upper half of the result is 0.
    dst, src : In(64)
        Operands.
    extend : In(6)
        For a move: 0, or 8, 16 or 32, the bits whose sign is extended.
    bits, swap : In(7), In(1)
        For a byte order: 16, 32 or 64, and whether bytes are reversed.
    result : Out(64)
    """

    operation: In(4)
    wide: In(1)
    dst: In(64)
    src: In(64)
    extend: In(6)
    bits: In(7)
    swap: In(1)
    result: Out(64)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = Signal(6)
        dst = Signal(64)
        src = Signal(64)
        arithmetic = Signal(64)
        result = Signal(64)
        m.d.comb += [
            # 32-bit operations see the lower halves; the upper ones are cut off in the end.
            dst.eq(Mux(self.wide, self.dst, self.dst[:32])),
            src.eq(Mux(self.wide, self.src, self.src[:32])),
            shift.eq(Mux(self.wide, self.src[:6], self.src[:5])),
            arithmetic.eq(Mux(self.wide, self.dst, self.dst[:32].as_signed())),
        ]
        with m.Switch(self.operation):
            for operation, value in (
                (AluOperation.ADD, dst + src),
                (AluOperation.SUB, dst - src),
                (AluOperation.MUL, dst * src),
                (AluOperation.OR, dst | src),
                (AluOperation.AND, dst & src),
                (AluOperation.LSH, dst << shift),
                (AluOperation.RSH, dst >> shift),
                (AluOperation.NEG, -dst),
                (AluOperation.XOR, dst ^ src),
                (AluOperation.MOV, sign_extended(src, self.extend)),
                (AluOperation.ARSH, arithmetic.as_signed() >> shift),
            ):
                with m.Case(operation):
                    m.d.comb += result.eq(value)
        m.d.comb += self.result.eq(Mux(self.wide, result, result[:32]))
        with m.If(self.operation == AluOperation.END):
            m.d.comb += self.result.eq(byte_order(self.dst, self.bits, self.swap))
        return m


def sign_extended(value: Value, bits: Value) -> Value:
    """A value whose low 8, 16 or 32 bits are a signed number, or all of it for 0."""
    return Mux(
        bits[3],
        value[:8].as_signed(),
        Mux(bits[4], value[:16].as_signed(), Mux(bits[5], value[:32].as_signed(), value)),
    )


def byte_order(value: Value, bits: Value, swap: Value) -> Value:
    """The low 16, 32 or 64 bits, with their bytes reversed if `swap`."""
    result: Value = value
    for width, chosen in ((16, bits[4]), (32, bits[5]), (64, bits[6])):
        places = [value[8 * place : 8 * place + 8] for place in range(width // 8)]
        kept = Mux(swap, Cat(*reversed(places)), Cat(*places))
        result = Mux(chosen, kept, result)
    return result


class Comparator(wiring.Component):
    """Combinational: whether a conditional jump is taken.

    Members
    -------
    operation : In(4)
        See `JumpOperation`; those without a condition give 0.
    wide : In(1)
        Compare 64 bits; otherwise the lower 32.
    dst, src : In(64)
    taken : Out(1)
    """

    operation: In(4)
    wide: In(1)
    dst: In(64)
    src: In(64)
    taken: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dst = Signal(64)
        src = Signal(64)
        equal = Signal()
        less = Signal()
        less_signed = Signal()
        # Halves that do not count are made equal, and the sign is brought to the top.
        m.d.comb += [
            dst.eq(Mux(self.wide, self.dst, self.dst << 32)),
            src.eq(Mux(self.wide, self.src, self.src << 32)),
            equal.eq(dst == src),
            less.eq(dst < src),
            less_signed.eq(dst.as_signed() < src.as_signed()),
        ]
        with m.Switch(self.operation):
            for operation, value in (
                (JumpOperation.JEQ, equal),
                (JumpOperation.JNE, ~equal),
                (JumpOperation.JGT, ~less & ~equal),
                (JumpOperation.JGE, ~less),
                (JumpOperation.JLT, less),
                (JumpOperation.JLE, less | equal),
                (JumpOperation.JSET, (dst & src).any()),
                (JumpOperation.JSGT, ~less_signed & ~equal),
                (JumpOperation.JSGE, ~less_signed),
                (JumpOperation.JSLT, less_signed),
                (JumpOperation.JSLE, less_signed | equal),
            ):
                with m.Case(operation):
                    m.d.comb += self.taken.eq(value)
        return m
