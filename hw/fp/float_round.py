"""Rounding of binary floating-point numbers in every mode, with exception flags."""

from collections.abc import Iterable

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat, FormatLayout
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode

__all__ = [
    "HALF_BOX",
    "TO_ODD",
    "FloatRounder",
    "check_targets",
    "rounds_up",
    "sum_bits",
    "unrounded",
]

#: What stands above an FP16 number in a register.
HALF_BOX = 0xFFFF0000

#: A mode beyond the architecture's: an inexact result has its lowest bit set.
TO_ODD = 6

_SINGLE, _HALF = ElementFormat.FP32.layout, ElementFormat.FP16.layout


def check_targets(formats: Iterable[ElementFormat]) -> tuple[ElementFormat, ...]:
    """Formats of results, FP32 first.

    Raises
    ------
    InputError
        If there is none, or another one than FP32 and FP16.
    """
    chosen = set(formats)
    if not chosen or chosen - {ElementFormat.FP32, ElementFormat.FP16}:
        names = ", ".join(sorted(item.name for item in chosen)) or "nothing"
        raise InputError(f"formats is {names}; expected FP32, FP16 or both")
    return tuple(item for item in (ElementFormat.FP32, ElementFormat.FP16) if item in chosen)


def sum_bits(formats: Iterable[ElementFormat]) -> int:
    """Bits of an unrounded significand: a carry, and those of an aligned sum.

    An aligned sum has the bits of a product of two significands of the widest format, and one.
    """
    widest = max(item.layout.fraction_bits for item in formats)
    return 2 * (widest + 1) + 2


def unrounded(bits: int) -> data.StructLayout:
    """``significand * 2**(exponent - bits)`` in units of the target's least normal number.

    A significand without its top bit set has the exponent 0; its lowest bit stands for itself and
    for all that was lost below.
    """
    return data.StructLayout(
        {
            "significand": unsigned(bits),
            "exponent": unsigned(10),
            "sign": unsigned(1),
            "nan": unsigned(1),
            "infinity": unsigned(1),
        }
    )


class FloatRounder(wiring.Component):
    """Rounds to FP32 or FP16; combinational.

    A number is tiny, for the underflow flag, if it would be below the least normal number after
    rounding with an unbounded exponent.

    Parameters
    ----------
    formats : iterable of ElementFormat
        FP32, FP16 or both.
    to_odd : bool
        Whether the mode `TO_ODD` is built.

    Members
    -------
    number : In of `unrounded`
        Of as many bits as `sum_bits` says.
    half : In(1)
        Round to FP16 and box the result. Without effect if there is one format.
    mode : In(3)
        `RoundingMode`, not dynamic.
    bits : Out(32), Out(16) if there is no FP32
        A NaN is the canonical one.
    flags : Out(5)
        `Flag`: inexact, underflow and overflow.

    Raises
    ------
    InputError
        If the formats are others.
    """

    def __init__(self, *, formats: Iterable[ElementFormat], to_odd: bool = False) -> None:
        self.formats = check_targets(formats)
        self.to_odd = to_odd
        super().__init__(
            {
                "number": In(unrounded(sum_bits(self.formats))),
                "half": In(1),
                "mode": In(3),
                "bits": Out(self.formats[0].bits),
                "flags": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = self.number
        layouts = [item.layout for item in self.formats]
        kept = Signal(layouts[0].fraction_bits + 1)
        guard, sticky, normal_after = Signal(), Signal(), Signal()
        at = Signal(10 + layouts[0].fraction_bits)
        infinity, nan = Signal(layouts[0].bits - 1), Signal(layouts[0].bits - 1)
        exponent = Mux(number.significand[-1], number.exponent, 0)
        for layout, chosen in self._choices():
            # A subnormal that an unbounded exponent would round up to the least normal number.
            shifted = Cat(Const(0, 1), number.significand[:-1])
            parts = _cut(number.significand, layout.fraction_bits + 1)
            ones, low_guard, low_sticky = _cut(shifted, layout.fraction_bits + 1)
            up = self._up(Const(1), low_guard, low_sticky)
            with m.If(chosen):
                m.d.comb += [
                    Cat(guard, sticky).eq(Cat(parts[1], parts[2])),
                    kept.eq(parts[0]),
                    normal_after.eq(ones.all() & up),
                    at.eq(exponent << layout.fraction_bits),
                    infinity.eq(_infinity(layout)),
                    nan.eq(layout.canonical_nan),
                ]
        inexact, overflow = Signal(), Signal()
        packed = Signal(len(at) + 1)
        m.d.comb += [
            inexact.eq(guard | sticky),
            packed.eq(at + kept + self._up(kept[0], guard, sticky)),
            overflow.eq(packed >= infinity),
        ]
        magnitude = Signal(layouts[0].bits - 1)
        m.d.comb += magnitude.eq(Mux(overflow, infinity - self._to_largest(), packed))
        with m.If(number.infinity):
            m.d.comb += magnitude.eq(infinity)
        with m.If(number.nan):
            m.d.comb += magnitude.eq(nan)
        for layout, chosen in self._choices():
            with m.If(chosen):
                above = len(self.bits) - layout.bits
                box = Const((1 << above) - 1, above)
                m.d.comb += self.bits.eq(
                    Cat(magnitude[: layout.bits - 1], number.sign & ~number.nan, box)
                )
        tiny = ~number.significand[-1] & ~normal_after
        with m.If(~number.nan & ~number.infinity):
            m.d.comb += self.flags.eq(
                Mux(overflow, Flag.OF | Flag.NX, 0)
                | Mux(inexact, Flag.NX, 0)
                | Mux(inexact & tiny, Flag.UF, 0)
            )
        return m

    def _choices(self) -> list[tuple[FormatLayout, Value]]:
        """Layouts, and when each is asked for."""
        if len(self.formats) == 1:
            return [(self.formats[0].layout, Const(1))]
        return [(_SINGLE, ~self.half), (_HALF, self.half)]

    def _up(self, odd: Value, guard: Value, sticky: Value) -> Value:
        up = rounds_up(self.mode, self.number.sign, odd, guard, sticky)
        return up | ((self.mode == TO_ODD) & (guard | sticky) & ~odd) if self.to_odd else up

    def _to_largest(self) -> Value:
        """Whether what overflows becomes the largest number."""
        mode, sign = self.mode, self.number.sign
        toward_zero = mode == RoundingMode.RTZ
        if self.to_odd:
            toward_zero |= mode == TO_ODD
        return (
            toward_zero | ((mode == RoundingMode.RDN) & ~sign) | ((mode == RoundingMode.RUP) & sign)
        )


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
