"""Quotients and square roots, a bit a cycle, as exact as rounding needs."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.fp.product import EXPONENT_BIAS, SIGNIFICAND_BITS, ZERO_EXPONENT, Product

__all__ = ["FloatDivider", "FloatDivision", "FloatQuotient"]

#: Bits of a quotient, of which the first may be zero, and of a root; of either in FP16.
_QUOTIENT_BITS, _ROOT_BITS, _HALF_BITS = 27, 26, 14
#: From the bias of FP16 to that of FP32.
_HALF_BIAS = ElementFormat.FP32.layout.bias - ElementFormat.FP16.layout.bias


class FloatDivision(data.Struct):
    """a / b, or with ``root`` the square root of a; FP32, or FP16 with ``half``.

    ``mode`` and ``register`` come back.
    """

    a: unsigned(32)
    b: unsigned(32)
    half: unsigned(1)
    root: unsigned(1)
    mode: unsigned(3)
    register: unsigned(5)


class FloatQuotient(data.Struct):
    """A quotient or root as a product is given, its lowest bit set if something lies below."""

    number: Product
    flags: unsigned(5)
    mode: unsigned(3)
    register: unsigned(5)


class FloatDivider(wiring.Component):
    """One number at a time: about 30 cycles, 17 in FP16, one more for each zero before a subnormal.

    Restoring division and the digit-by-digit square root share the registers. NaNs, infinities
    and zeros are ready in the second cycle.

    Members
    -------
    i : stream in of `FloatDivision`
    o : stream out of `FloatQuotient`
    """

    i: In(stream.Signature(FloatDivision))
    o: Out(stream.Signature(FloatQuotient))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A root's radicand moves out of `a` at its top, two bits a cycle.
        a, b = Signal(_ROOT_BITS), Signal(24)
        a_exponent, b_exponent = Signal(signed(10)), Signal(signed(10))
        rest, result = Signal(_ROOT_BITS + 3), Signal(_QUOTIENT_BITS)
        root, half, steps = Signal(), Signal(), Signal(range(_QUOTIENT_BITS + 1))
        # All of the result but its significand.
        self._found = found = Signal(FloatQuotient)
        number = found.number
        with m.FSM(name="division"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    self._start(m, a, b, a_exponent, b_exponent)
                    m.d.sync += [root.eq(self.i.payload.root), half.eq(self.i.payload.half)]
                    m.next = "NORMALISE"
            with m.State("NORMALISE"):
                even = ~a_exponent[0]
                with m.If(number.nan | number.infinity | number.zero):
                    m.next = "DONE"
                with m.Elif(~a[23]):
                    m.d.sync += [a.eq(a << 1), a_exponent.eq(a_exponent - 1)]
                with m.Elif(~b[23]):
                    m.d.sync += [b.eq(b << 1), b_exponent.eq(b_exponent - 1)]
                with m.Else():
                    # The exponent less the bias is odd where the field is even.
                    halved = (a_exponent + EXPONENT_BIAS - even) >> 1
                    m.d.sync += [
                        rest.eq(Mux(root, 0, a)),
                        a.eq(Mux(even, a << 2, a << 1)),
                        result.eq(0),
                        steps.eq(Mux(half, _HALF_BITS, Mux(root, _ROOT_BITS, _QUOTIENT_BITS))),
                        number.exponent.eq(
                            Mux(root, halved, a_exponent - b_exponent + EXPONENT_BIAS)
                        ),
                    ]
                    m.next = "ITERATE"
            with m.State("ITERATE"):
                self._iterate(m, root, a, b, rest, result)
                m.d.sync += steps.eq(steps - 1)
                with m.If(steps == 1):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        quotient, from_root, from_half = (
            Cat(Const(0, SIGNIFICAND_BITS - bits), result[:bits])
            for bits in (_QUOTIENT_BITS, _ROOT_BITS, _HALF_BITS)
        )
        special = number.nan | number.infinity | number.zero
        m.d.comb += self.o.payload.eq(found)
        with m.If(~special):
            m.d.comb += self.o.payload.number.significand.eq(
                Mux(half, from_half, Mux(root, from_root, quotient)) | rest.any()
            )
        return m

    def _start(
        self, m: Module, a: Signal, b: Signal, a_exponent: Signal, b_exponent: Signal
    ) -> None:
        """Take the operands, and find the results that need no digits."""
        given, out = self.i.payload, self._found
        number = out.number
        x, y = _Operand(given.a, given.half), _Operand(given.b, given.half)
        sign = x.sign ^ (y.sign & ~given.root)
        root_nan = x.sign & ~x.zero
        quotient_nan = (x.infinite & y.infinite) | (x.zero & y.zero)
        invalid = Mux(given.root, root_nan, quotient_nan) & ~x.nan & ~(y.nan & ~given.root)
        by_zero = y.zero & ~given.root & ~x.zero & ~x.infinite & ~x.nan
        nan = x.nan | (y.nan & ~given.root) | invalid
        zero = x.zero | (y.infinite & ~given.root)
        signals = x.signaling | (y.signaling & ~given.root)
        m.d.sync += [
            a.eq(x.significand),
            b.eq(Mux(given.root, 1 << 23, y.significand)),
            a_exponent.eq(x.exponent),
            b_exponent.eq(y.exponent),
            number.sign.eq(sign),
            number.nan.eq(nan),
            number.infinity.eq((x.infinite | by_zero) & ~nan),
            number.zero.eq(zero & ~nan),
            number.exponent.eq(ZERO_EXPONENT),
            out.mode.eq(given.mode),
            out.register.eq(given.register),
            out.flags.eq(Mux(invalid | signals, Flag.NV, 0) | Mux(by_zero & ~nan, Flag.DZ, 0)),
        ]

    @staticmethod
    def _iterate(
        m: Module, root: Signal, a: Signal, b: Signal, rest: Signal, result: Signal
    ) -> None:
        """One digit."""
        trial, left, fits = Signal(len(rest)), Signal(len(rest)), Signal()
        before = Signal(len(rest))
        m.d.comb += [
            before.eq(Mux(root, Cat(a[-2:], rest), rest)),
            trial.eq(Mux(root, Cat(Const(1, 2), result), b)),
            fits.eq(before >= trial),
            left.eq(Mux(fits, before - trial, before)),
        ]
        m.d.sync += [
            rest.eq(Mux(root, left, left << 1)),
            result.eq(Cat(fits, result)),
            a.eq(a << 2),
        ]


class _Operand:
    """What the bits of a number say; a subnormal has the exponent of the least normal one."""

    def __init__(self, bits: Value, half: Value) -> None:
        exponent = Mux(half, bits[10:15], bits[23:31])
        fraction = Mux(half, Cat(Const(0, 13), bits[:10]), bits[:23])
        normal = exponent.any()
        special = Mux(half, bits[10:15].all(), bits[23:31].all())
        self.sign = Mux(half, bits[15], bits[31])
        self.zero = ~normal & ~fraction.any()
        self.infinite = special & ~fraction.any()
        self.nan = special & fraction.any()
        self.signaling = self.nan & ~fraction[22]
        self.significand = Cat(fraction, normal)
        self.exponent = Cat(exponent[0] | ~normal, exponent[1:]) + Mux(half, _HALF_BIAS, 0)
