"""Floating-point instructions that round no sum: comparisons, signs, classes, to integers."""

import enum

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.fp.float_round import rounds_up

__all__ = ["FloatSimple", "SimpleOperation"]

_NAN = ElementFormat.FP32.layout.canonical_nan
_BIAS = ElementFormat.FP32.layout.bias


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


class FloatSimple(wiring.Component):
    """Combinational.

    Members
    -------
    operation : In(4)
        `SimpleOperation`.
    a, b : In(32)
    mode : In(3)
        `RoundingMode`, not dynamic.
    result : Out(32)
        Bits of a number, or an integer.
    flags : Out(5)
    """

    operation: In(4)
    a: In(32)
    b: In(32)
    mode: In(3)
    result: Out(32)
    flags: Out(5)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._classify(m)
        a, b = self.a, self.b
        with m.Switch(self.operation):
            for operation, value in (
                (_O.SIGN, Cat(a[:31], b[31])),
                (_O.SIGN_NEGATED, Cat(a[:31], ~b[31])),
                (_O.SIGN_XOR, Cat(a[:31], a[31] ^ b[31])),
                (_O.CLASS, self._class()),
            ):
                with m.Case(operation):
                    m.d.comb += self.result.eq(value)
            with m.Case(_O.MIN, _O.MAX):
                self._extreme(m)
            with m.Case(_O.EQ, _O.LT, _O.LE):
                self._compare(m)
            with m.Case(_O.TO_SIGNED, _O.TO_UNSIGNED):
                self._to_integer(m)
        return m

    def _classify(self, m: Module) -> None:
        self._nan = [Signal(name=f"{name}_nan") for name in "ab"]
        self._signaling = [Signal(name=f"{name}_signaling") for name in "ab"]
        for bits, nan, signaling in zip((self.a, self.b), self._nan, self._signaling, strict=True):
            m.d.comb += [
                nan.eq(bits[23:31].all() & bits[:23].any()),
                signaling.eq(nan & ~bits[22]),
            ]
        # Order of the bits as of the numbers: both zeros are one number, but for minima.
        self._less, self._equal = Signal(name="less"), Signal(name="equal")
        a, b = self.a, self.b
        same = Mux(a[31], a[:31] > b[:31], a[:31] < b[:31])
        m.d.comb += [
            self._less.eq(Mux(a[31] ^ b[31], a[31], same)),
            self._equal.eq((a == b) | ~(a[:31].any() | b[:31].any())),
        ]

    def _extreme(self, m: Module) -> None:
        a_nan, b_nan = self._nan
        first = self._less ^ (self.operation == _O.MAX)
        m.d.comb += [
            self.result.eq(
                Mux(a_nan, Mux(b_nan, _NAN, self.b), Mux(b_nan | first, self.a, self.b))
            ),
            self.flags.eq(Mux(Cat(self._signaling).any(), Flag.NV, 0)),
        ]

    def _compare(self, m: Module) -> None:
        nan, signaling = Cat(self._nan).any(), Cat(self._signaling).any()
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
        exponent, fraction, negative = self.a[23:31], self.a[:23], self.a[31]
        special, tiny, any_fraction = exponent.all(), ~exponent.any(), fraction.any()
        infinite, zero = special & ~any_fraction, tiny & ~any_fraction
        subnormal, normal = tiny & any_fraction, ~special & ~tiny
        kinds = [infinite, normal, subnormal, zero]
        signaling = self._signaling[0]
        return Cat(
            *(kind & negative for kind in kinds),
            *(kind & ~negative for kind in reversed(kinds)),
            signaling,
            self._nan[0] & ~signaling,
        )

    def _to_integer(self, m: Module) -> None:
        """Shift the significand below the point, round, and saturate."""
        signed = self.operation == _O.TO_SIGNED
        negative, exponent = self.a[31], self.a[23:31]
        significand = Cat(self.a[:23], exponent.any())
        # 32 bits before the point and 32 behind it. A number below 1/2 is above 0 and not a half
        # at any place below, so it stands at a place where no bit of it is lost.
        fixed = Signal(64)
        shift = Signal(6)
        huge = exponent >= _BIAS + 32
        m.d.comb += [
            shift.eq(Mux(exponent < _BIAS - 1, 33, _BIAS + 31 - exponent)),
            fixed.eq(Cat(Const(0, 40), significand) >> shift),
        ]
        whole, guard, sticky = fixed[32:], fixed[31], fixed[:31].any()
        up = Signal()
        magnitude = Signal(33)
        m.d.comb += [
            up.eq(rounds_up(self.mode, negative, whole[0], guard, sticky)),
            magnitude.eq(whole + up),
        ]
        limit = Mux(signed, Mux(negative, 1 << 31, (1 << 31) - 1), Mux(negative, 0, (1 << 32) - 1))
        most = Mux(signed, (1 << 31) - 1, (1 << 32) - 1)
        least = Mux(signed, 1 << 31, 0)
        nan = self._nan[0]
        beyond = nan | huge | (magnitude > limit)
        with m.If(beyond):
            m.d.comb += [
                self.result.eq(Mux(negative & ~nan, least, most)),
                self.flags.eq(Flag.NV),
            ]
        with m.Else():
            m.d.comb += [
                self.result.eq(Mux(negative, -magnitude, magnitude)),
                self.flags.eq(Mux(guard | sticky, Flag.NX, 0)),
            ]
