"""Floating-point instructions that round no sum: comparisons, signs, classes, to integers."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.core.float_round import HALF_BOX, rounds_up
from fanweave.hw.core.operations import FloatOperation

__all__ = ["FloatSimple"]

_NAN = ElementFormat.FP32.layout.canonical_nan
_BIAS = ElementFormat.FP32.layout.bias
_O = FloatOperation


class FloatSimple(wiring.Component):
    """Combinational.

    Members
    -------
    operation : In(5)
        See `FloatOperation`: from ``FSGNJ_S`` on.
    a, b : In(32)
        Floating-point operands.
    x : In(32)
        Integer operand, of moves.
    mode : In(3)
        `RoundingMode`, not dynamic.
    result : Out(32)
        Bits of a number, or an integer.
    flags : Out(5)
    """

    operation: In(5)
    a: In(32)
    b: In(32)
    x: In(32)
    mode: In(3)
    result: Out(32)
    flags: Out(5)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._classify(m)
        a, b = self.a, self.b
        boxed_half = Cat(a[:16], a[15].replicate(16))
        with m.Switch(self.operation):
            for operation, value in (
                (_O.FSGNJ_S, Cat(a[:31], b[31])),
                (_O.FSGNJN_S, Cat(a[:31], ~b[31])),
                (_O.FSGNJX_S, Cat(a[:31], a[31] ^ b[31])),
                (_O.FMV_W_X, self.x),
                (_O.FMV_H_X, self.x | HALF_BOX),
                (_O.FMV_X_W, a),
                (_O.FMV_X_H, boxed_half),
                (_O.FCLASS_S, self._class()),
            ):
                with m.Case(operation):
                    m.d.comb += self.result.eq(value)
            with m.Case(_O.FMIN_S, _O.FMAX_S):
                self._extreme(m)
            with m.Case(_O.FEQ_S, _O.FLT_S, _O.FLE_S):
                self._compare(m)
            with m.Case(_O.FCVT_W_S, _O.FCVT_WU_S):
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
        first = self._less ^ (self.operation == _O.FMAX_S)
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
            self.operation == _O.FEQ_S,
            self._equal,
            less | (self._equal & (self.operation == _O.FLE_S)),
        )
        m.d.comb += [
            self.result.eq(holds & ~nan),
            self.flags.eq(Mux(signaling | (nan & (self.operation != _O.FEQ_S)), Flag.NV, 0)),
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
        signed = self.operation == _O.FCVT_W_S
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
