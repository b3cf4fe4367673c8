"""Rounding of binary floating-point numbers in every mode, with exception flags."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat, FormatLayout
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode

__all__ = ["HALF_BOX", "FloatRounder", "Unrounded", "rounds_up"]

#: Bits of an unrounded significand: a carry, and the 49 of an aligned sum.
SUM_BITS = 50

#: What stands above an FP16 number in a register.
HALF_BOX = 0xFFFF0000

_SINGLE, _HALF = ElementFormat.FP32.layout, ElementFormat.FP16.layout


class Unrounded(data.Struct):
    """``significand * 2**(exponent - SUM_BITS)`` in units of the target's least normal number.

    A significand without its top bit set has the exponent 0; its lowest bit stands for itself and
    for all that was lost below.
    """

    significand: unsigned(SUM_BITS)
    exponent: unsigned(10)
    sign: unsigned(1)
    nan: unsigned(1)
    infinity: unsigned(1)


class FloatRounder(wiring.Component):
    """Rounds to FP32 or FP16; combinational.

    A number is tiny, for the underflow flag, if it would be below the least normal number after
    rounding with an unbounded exponent.

    Members
    -------
    number : In of `Unrounded`
    half : In(1)
        Round to FP16 and box the result.
    mode : In(3)
        `RoundingMode`, not dynamic.
    bits : Out(32)
        A NaN is the canonical one.
    flags : Out(5)
        `Flag`: inexact, underflow and overflow.
    """

    number: In(Unrounded)
    half: In(1)
    mode: In(3)
    bits: Out(32)
    flags: Out(5)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, half = self.number, self.half
        single_parts = _cut(number.significand, _SINGLE.fraction_bits + 1)
        half_parts = _cut(number.significand, _HALF.fraction_bits + 1)
        kept, guard, sticky, normal_after = (
            Signal(_SINGLE.fraction_bits + 1, name="kept"),
            Signal(name="guard"),
            Signal(name="sticky"),
            Signal(name="normal_after"),
        )
        for signal, at_half, at_single in zip(
            (kept, guard, sticky), half_parts, single_parts, strict=True
        ):
            m.d.comb += signal.eq(Mux(half, at_half, at_single))
        # A subnormal that an unbounded exponent would round up to the least normal number.
        for layout, chosen in ((_HALF, half), (_SINGLE, ~half)):
            shifted = Cat(Const(0, 1), number.significand[: SUM_BITS - 1])
            ones, low_guard, low_sticky = _cut(shifted, layout.fraction_bits + 1)
            up = rounds_up(self.mode, number.sign, Const(1), low_guard, low_sticky)
            with m.If(chosen):
                m.d.comb += normal_after.eq(ones.all() & up)

        inexact, up, overflow = Signal(), Signal(), Signal()
        packed = Signal(34)
        exponent = Mux(number.significand[-1], number.exponent, 0)
        at = Mux(half, exponent << _HALF.fraction_bits, exponent << _SINGLE.fraction_bits)
        infinity = Mux(half, _infinity(_HALF), _infinity(_SINGLE))
        to_largest = Signal()
        m.d.comb += [
            inexact.eq(guard | sticky),
            up.eq(rounds_up(self.mode, number.sign, kept[0], guard, sticky)),
            packed.eq(at + kept + up),
            overflow.eq(packed >= infinity),
            to_largest.eq(
                (self.mode == RoundingMode.RTZ)
                | ((self.mode == RoundingMode.RDN) & ~number.sign)
                | ((self.mode == RoundingMode.RUP) & number.sign)
            ),
        ]
        magnitude = Signal(31)
        special = number.nan | number.infinity
        m.d.comb += magnitude.eq(
            Mux(
                number.infinity,
                infinity,
                Mux(overflow, infinity - to_largest, packed),
            )
        )
        tiny = ~number.significand[-1] & ~normal_after
        m.d.comb += [
            self.bits.eq(
                Mux(
                    half,
                    Cat(magnitude[:15], number.sign, Const(0xFFFF, 16)),
                    Cat(magnitude, number.sign),
                )
            ),
            self.flags.eq(
                Mux(overflow, Flag.OF | Flag.NX, 0)
                | Mux(inexact, Flag.NX, 0)
                | Mux(inexact & tiny, Flag.UF, 0)
            ),
        ]
        with m.If(special):
            m.d.comb += self.flags.eq(0)
        with m.If(number.nan):
            m.d.comb += self.bits.eq(
                Mux(half, HALF_BOX | _HALF.canonical_nan, _SINGLE.canonical_nan)
            )
        return m


def rounds_up(mode: Value, sign: Value, odd: Value, guard: Value, sticky: Value) -> Value:
    """Whether a magnitude is rounded up."""
    return (
        ((mode == RoundingMode.RNE) & guard & (sticky | odd))
        | ((mode == RoundingMode.RDN) & sign & (guard | sticky))
        | ((mode == RoundingMode.RUP) & ~sign & (guard | sticky))
        | ((mode == RoundingMode.RMM) & guard)
    )


def _cut(significand: Value, bits: int) -> tuple[Value, Value, Value]:
    """The top bits, the next one, and whether any other is set."""
    guard = len(significand) - bits - 1
    return significand[guard + 1 :], significand[guard], significand[:guard].any()


def _infinity(layout: FormatLayout) -> int:
    return ((1 << layout.exponent_bits) - 1) << layout.fraction_bits
