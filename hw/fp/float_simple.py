"""Floating-point instructions that round no sum: comparisons, signs, classes, to integers."""

import enum
from collections.abc import Iterable

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.fp.float_round import check_targets, rounds_up

__all__ = ["FloatSimple", "SimpleOperation"]

_SINGLE, _HALF = ElementFormat.FP32.layout, ElementFormat.FP16.layout


class SimpleOperation(enum.IntEnum):
    """Results that need no rounding, and integers."""

    SIGN = 0  # a with the sign of b
    SIGN_NEGATED = 1  # with the other one
    SIGN_XOR = 2
    MIN = 3
    MAX = 4
    EQ = 5
    LT = 6
    LE = 7
    CLASS = 8
    TO_SIGNED = 9
    TO_UNSIGNED = 10


_O = SimpleOperation


class _Operand:
    """A number with its sign at the top of the widest format, so that numbers compare as bits."""

    def __init__(self, m: Module, name: str, given: Value, half: Value | None) -> None:
        bits = Signal(len(given), name=f"{name}_bits")
        layout = _HALF if len(given) == 16 else _SINGLE
        exponent = bits[layout.fraction_bits : -1]
        fraction = bits[: layout.fraction_bits]
        quiet = fraction[-1]
        if half is None:
            m.d.comb += bits.eq(given)
            biased: Value = exponent
            significand: Value = Cat(fraction, exponent.any())
            special, tiny = exponent.all(), ~exponent.any()
        else:
            half_exponent, half_fraction = bits[26:31], bits[16:26]
            m.d.comb += bits.eq(Mux(half, given[:16] << 16, given))
            bias = _SINGLE.bias - _HALF.bias
            biased = Mux(half, half_exponent + bias, exponent)
            special = Mux(half, half_exponent.all(), exponent.all())
            tiny = Mux(half, ~half_exponent.any(), ~exponent.any())
            quiet = Mux(half, half_fraction[-1], quiet)
            significand = Mux(half, Cat(Const(0, 13), half_fraction, ~tiny), Cat(fraction, ~tiny))
            fraction = Mux(half, half_fraction, fraction)
        self.bits, self.sign, self.magnitude = bits, bits[-1], bits[:-1]
        self.special, self.tiny = Signal(name=f"{name}_special"), Signal(name=f"{name}_tiny")
        self.fraction = Signal(name=f"{name}_fraction")
        self.nan, self.signaling = Signal(name=f"{name}_nan"), Signal(name=f"{name}_signaling")
        #: Exponent with the bias of the widest format, and the significand at the top.
        self.exponent = Signal(layout.exponent_bits, name=f"{name}_exponent")
        self.significand = Signal(layout.fraction_bits + 1, name=f"{name}_significand")
        m.d.comb += [
            self.special.eq(special),
            self.tiny.eq(tiny),
            self.fraction.eq(fraction.any()),
            self.nan.eq(self.special & self.fraction),
            self.signaling.eq(self.nan & ~quiet),
            self.exponent.eq(biased),
            self.significand.eq(significand),
        ]


class FloatSimple(wiring.Component):
    """Combinational.

    Parameters
    ----------
    formats : iterable of ElementFormat
        Formats of numbers: FP32, FP16 or both.
    integers : iterable of int
        Widths of integers, 8, 16 or 32; 32 only with FP32.

    Members
    -------
    operation : In(4)
        `SimpleOperation`.
    a, b : In(32), In(16) if there is no FP32
    half : In(1)
        The numbers are FP16. Without effect if there is one format.
    integer : In(2)
        Log2 of the bytes of an integer result. Without effect if there is one width.
    mode : In(3)
        `RoundingMode`, not dynamic.
    result : Out(32), Out(16) if there is no FP32
        Bits of a number, or an integer, low-aligned; bits above mean nothing.
    flags : Out(5)

    Raises
    ------
    InputError
        If formats or widths are others.
    """

    def __init__(
        self,
        *,
        formats: Iterable[ElementFormat] = (ElementFormat.FP32,),
        integers: Iterable[int] = (32,),
    ) -> None:
        self.formats = check_targets(formats)
        self.integers = tuple(sorted(set(integers)))
        bits = self.formats[0].bits
        allowed = {8, 16, bits}
        if not self.integers or set(self.integers) - allowed:
            raise InputError(
                f"integers are {list(self.integers)}; expected some of 8, 16"
                + (" and 32" if bits == 32 else "")
            )
        super().__init__(
            {
                "operation": In(4),
                "a": In(bits),
                "b": In(bits),
                "half": In(1),
                "integer": In(2),
                "mode": In(3),
                "result": Out(bits),
                "flags": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = self.half if len(self.formats) == 2 else None
        a, b = _Operand(m, "a", self.a, half), _Operand(m, "b", self.b, half)
        self._a, self._b, self._half = a, b, half
        # Order of the bits as of the numbers: both zeros are one number, but for minima.
        self._less, self._equal = Signal(name="less"), Signal(name="equal")
        order = a.magnitude < b.magnitude
        same = a.bits == b.bits
        m.d.comb += [
            self._less.eq(Mux(a.sign ^ b.sign, a.sign, ~same & (order ^ a.sign))),
            self._equal.eq(same | ~(a.magnitude.any() | b.magnitude.any())),
        ]
        with m.Switch(self.operation):
            for operation, sign in (
                (_O.SIGN, b.sign),
                (_O.SIGN_NEGATED, ~b.sign),
                (_O.SIGN_XOR, a.sign ^ b.sign),
            ):
                with m.Case(operation):
                    m.d.comb += self.result.eq(self._number(Cat(a.magnitude, sign)))
            with m.Case(_O.CLASS):
                m.d.comb += self.result.eq(self._class())
            with m.Case(_O.MIN, _O.MAX):
                self._extreme(m)
            with m.Case(_O.EQ, _O.LT, _O.LE):
                self._compare(m)
            with m.Case(_O.TO_SIGNED, _O.TO_UNSIGNED):
                self._to_integer(m)
        return m

    def _number(self, bits: Value) -> Value:
        """A number that stands at the top, at its place."""
        return bits if self._half is None else Mux(self._half, bits[16:], bits)

    def _nan(self) -> Value:
        wide, narrow = self.formats[0].layout.canonical_nan, _HALF.canonical_nan
        return Const(wide) if self._half is None else Mux(self._half, narrow, wide)

    def _extreme(self, m: Module) -> None:
        a, b = self._a, self._b
        first = self._less ^ (self.operation == _O.MAX)
        chosen = Mux(b.nan | (first & ~a.nan), self.a, self.b)
        m.d.comb += [
            self.result.eq(Mux(a.nan & b.nan, self._nan(), chosen)),
            self.flags.eq(Mux(a.signaling | b.signaling, Flag.NV, 0)),
        ]

    def _compare(self, m: Module) -> None:
        a, b = self._a, self._b
        nan, signaling = a.nan | b.nan, a.signaling | b.signaling
        less = self._less & ~self._equal
        holds = Mux(
            self.operation == _O.EQ,
            self._equal,
            less | (self._equal & (self.operation == _O.LE)),
        )
        m.d.comb += [
            self.result.eq(holds & ~nan),
            self.flags.eq(Mux(signaling | (nan & (self.operation != _O.EQ)), Flag.NV, 0)),
        ]

    def _class(self) -> Value:
        """The bit of a number's class; see ``fclass.s`` in the manual."""
        a = self._a
        infinite, zero = a.special & ~a.fraction, a.tiny & ~a.fraction
        subnormal, normal = a.tiny & a.fraction, ~a.special & ~a.tiny
        kinds = [infinite, normal, subnormal, zero]
        return Cat(
            *(kind & a.sign for kind in kinds),
            *(kind & ~a.sign for kind in reversed(kinds)),
            a.signaling,
            a.nan & ~a.signaling,
        )

    def _to_integer(self, m: Module) -> None:
        """Shift the significand below the point, round, and saturate."""
        a = self._a
        whole_bits = self.formats[0].bits
        bias = self.formats[0].layout.bias
        signed = self.operation == _O.TO_SIGNED
        # As many bits before the point as behind it. A number below 1/2 is above 0 and not a half
        # at any place below, so it stands at a place where no bit of it is lost.
        fixed = Signal(2 * whole_bits)
        shift = Signal(range(whole_bits + 2))
        at_top = Cat(Const(0, len(fixed) - len(a.significand)), a.significand)
        m.d.comb += [
            shift.eq(
                Mux(a.exponent < bias - 1, whole_bits + 1, bias + whole_bits - 1 - a.exponent)
            ),
            fixed.eq(at_top >> shift),
        ]
        whole, guard, sticky = (
            fixed[whole_bits:], fixed[whole_bits - 1], fixed[: whole_bits - 1].any()
        )  # fmt: skip
        up = Signal()
        magnitude, most, least = (Signal(whole_bits + 1, name=name)
                                  for name in ("magnitude", "most", "least"))  # fmt: skip
        huge = a.special | (a.exponent >= bias + whole_bits)
        for width in self.integers:
            chosen = self.integer == (width // 8).bit_length() - 1
            with m.If(chosen if len(self.integers) > 1 else Const(1)):
                m.d.comb += [
                    most.eq(Mux(signed, (1 << width - 1) - 1, (1 << width) - 1)),
                    least.eq(Mux(signed, 1 << width - 1, 0)),
                ]
        m.d.comb += [
            up.eq(rounds_up(self.mode, a.sign, whole[0], guard, sticky)),
            magnitude.eq(whole + up),
        ]
        with m.If(huge | (magnitude > Mux(a.sign, least, most))):
            m.d.comb += [
                self.result.eq(Mux(a.sign & ~a.nan, least, most)),
                self.flags.eq(Flag.NV),
            ]
        with m.Else():
            m.d.comb += [
                self.result.eq(Mux(a.sign, -magnitude, magnitude)),
                self.flags.eq(Mux(guard | sticky, Flag.NX, 0)),
            ]
