"""One element's floating-point arithmetic a cycle: multiply, add, normalise and round."""

from collections.abc import Iterable

from amaranth import Cat, Const, EnableInserter, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag, RoundingMode
from fanweave.hw.fp.float_adder import FloatAdder
from fanweave.hw.fp.float_round import TO_ODD, FloatRounder, check_targets
from fanweave.hw.fp.float_simple import FloatSimple
from fanweave.hw.fp.multiplier import Multiplier
from fanweave.hw.fp.product import EXPONENT_BIAS, SIGNIFICAND_BITS, ZERO_EXPONENT, Product
from fanweave.hw.vector.float_estimate import FloatEstimate
from fanweave.hw.vector.float_operations import Factor, FloatControls, Path

__all__ = ["FloatSlice", "FloatStage", "Quotient", "effective_mode"]

_FP32, _FP16 = ElementFormat.FP32, ElementFormat.FP16
_ONES = {_FP32: 0x3F800000, _FP16: 0x3C00}


class Quotient(data.Struct):
    """A quotient or root that a divider found."""

    number: Product
    flags: unsigned(5)


class FloatStage(data.Struct):
    """What all slices do in one stage, and how they round."""

    valid: unsigned(1)
    controls: FloatControls
    mode: unsigned(3)


def effective_mode(controls: data.View, mode: Value) -> Value:
    """The mode that an operation has by itself, or the one that is given."""
    return Mux(controls.to_odd, TO_ODD, Mux(controls.toward_zero, RoundingMode.RTZ, mode))


class FloatSlice(wiring.Component):
    """Two registers after its operands it shows their result; nothing moves without ``enable``.

    Parameters
    ----------
    formats : iterable of ElementFormat
        FP32 and FP16, or FP16 alone: then the multiplier and the adder are a quarter and a half
        as wide, and integers have 16 bits.

    Members
    -------
    enable : In(1)
    entry, first, second : In of `FloatStage`
        Of the operands, and of what the first and second registers hold.
    vs1, vs2, vd : In(32), In(16) if there is no FP32
        Elements, low-aligned.
    carry, active : In(1)
    quotient : In of `Quotient`
        Taken with an operation whose path is QUOTIENT.
    result : Out(32), Out(16) if there is no FP32
    flags : Out(5)
        Of an active element.
    """

    def __init__(self, *, formats: Iterable[ElementFormat]) -> None:
        self.formats = check_targets(formats)
        bits = self.formats[0].bits
        super().__init__(
            {
                "enable": In(1),
                "entry": In(FloatStage),
                "first": In(FloatStage),
                "second": In(FloatStage),
                "vs1": In(bits),
                "vs2": In(bits),
                "vd": In(bits),
                "carry": In(1),
                "active": In(1),
                "quotient": In(Quotient),
                "result": Out(bits),
                "flags": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._bits = self.formats[0].bits
        product, addend, invalid = Signal(Product), Signal(self._bits), Signal()
        value, flags = Signal(self._bits), Signal(5)
        self._multiply(m, product, addend, invalid)
        self._take(m, invalid, value, flags)
        first_product, first_addend = Signal(Product), Signal(self._bits)
        first_value, first_flags, first_active = Signal(self._bits), Signal(5), Signal()
        with m.If(self.enable):
            m.d.sync += [
                first_product.eq(product),
                first_addend.eq(addend),
                first_value.eq(value),
                first_flags.eq(flags),
                first_active.eq(self.active),
            ]
        self._finish(m, first_product, first_addend, first_value, first_flags, first_active)
        return m

    def _finish(
        self,
        m: Module,
        product: data.View,
        addend: Signal,
        value: Signal,
        flags: Signal,
        active: Signal,
    ) -> None:
        """From the first registers on: add or estimate, then normalise and round."""
        adder = FloatAdder(formats=self.formats)
        m.submodules.adder = EnableInserter(self.enable)(adder)
        m.submodules.rounder = rounder = FloatRounder(formats=self.formats, to_odd=True)
        m.submodules.estimate = estimate = FloatEstimate(formats=self.formats)
        first, second = self.first, self.second
        estimates = first.controls.path == Path.ESTIMATE
        kept, kept_flags, kept_active = Signal(self._bits), Signal(5), Signal()
        m.d.comb += [
            adder.product.eq(product),
            adder.addend.eq(addend),
            adder.addend_half.eq(first.controls.addend_half),
            adder.multiply.eq(first.controls.multiply),
            adder.half.eq(first.controls.half),
            adder.mode.eq(first.mode),
            estimate.number.eq(product),
            estimate.half.eq(first.controls.half),
            estimate.root.eq(first.controls.root),
            estimate.mode.eq(first.mode),
            rounder.number.eq(adder.sum),
            rounder.half.eq(second.controls.half),
            rounder.mode.eq(second.mode),
        ]
        with m.If(self.enable):
            m.d.sync += [
                kept.eq(Mux(estimates, estimate.bits, value)),
                kept_flags.eq(flags | Mux(estimates, estimate.flags, 0)),
                kept_active.eq(active),
            ]
        rounds = second.controls.path.matches(Path.SUM, Path.INTEGER, Path.QUOTIENT)
        raised = rounder.flags | Mux(adder.invalid, Flag.NV, 0)
        m.d.comb += [
            self.result.eq(Mux(rounds, rounder.bits, kept)),
            self.flags.eq(Mux(kept_active, kept_flags | Mux(rounds, raised, 0), 0)),
        ]

    def _take(self, m: Module, invalid: Signal, value: Signal, flags: Signal) -> None:
        """What needs no rounding, and the exceptions of the operands."""
        controls = self.entry.controls
        integers = (8, 16, 32)[: self._bits // 16 + 1]
        m.submodules.simple = simple = FloatSimple(formats=self.formats, integers=integers)
        m.d.comb += [
            simple.operation.eq(controls.simple),
            simple.a.eq(Mux(controls.swapped, self.vs1, self.vs2)),
            simple.b.eq(Mux(controls.swapped, self.vs2, self.vs1)),
            simple.half.eq(controls.source_half),
            simple.integer.eq(controls.integer),
            simple.mode.eq(self.entry.mode),
        ]
        with m.Switch(controls.path):
            with m.Case(Path.SUM, Path.ESTIMATE):
                m.d.comb += flags.eq(Mux(invalid, Flag.NV, 0))
            with m.Case(Path.SIMPLE):
                m.d.comb += [value.eq(simple.result ^ controls.inverted), flags.eq(simple.flags)]
            with m.Case(Path.CHOICE):
                m.d.comb += value.eq(Mux(controls.merges & ~self.carry, self.vs2, self.vs1))
            with m.Case(Path.QUOTIENT):
                m.d.comb += flags.eq(self.quotient.flags)

    def _multiply(self, m: Module, product: data.View, addend: Signal, invalid: Signal) -> None:
        """The product or what takes its place, and the addend."""
        controls = self.entry.controls
        m.submodules.multiplier = multiplier = Multiplier(formats=self.formats)
        two = len(self.formats) == 2
        source_half = controls.source_half if two else Const(1)
        addend_half = controls.addend_half if two else Const(1)
        one = Mux(source_half, _ONES[_FP16], _ONES[_FP32])[: self._bits]
        a, b, third = (Signal(self._bits, name=name) for name in ("a", "b", "third"))
        integer, multiplied = Signal(Product), Signal(Product)
        m.d.comb += [
            a.eq(Mux(controls.first_one, one, self.vs1)),
            b.eq(one),
            third.eq(Mux(controls.addend_vd, self.vd, self.vs2)),
            multiplier.a.eq(a),
            multiplier.b.eq(b),
            multiplier.format.eq(Mux(source_half, _FP16, _FP32)),
            multiplied.eq(multiplier.product),
            multiplied.sign.eq(multiplier.product.sign ^ controls.negate_product),
            addend.eq(third ^ self._sign(addend_half, controls.negate_addend)),
        ]
        with m.Switch(controls.second):
            with m.Case(Factor.VS2):
                m.d.comb += b.eq(self.vs2)
            with m.Case(Factor.VD):
                m.d.comb += b.eq(self.vd)
        nan_a, signaling_a = self._is_nan(a, source_half)
        nan_b, signaling_b = self._is_nan(b, source_half)
        _, signaling_third = self._is_nan(third, addend_half)
        m.d.comb += [
            invalid.eq(
                signaling_a
                | signaling_b
                | (signaling_third & ~controls.multiply)
                | (multiplier.product.nan & ~nan_a & ~nan_b)
            ),
        ]
        self._from_integer(m, integer)
        with m.Switch(controls.path):
            with m.Case(Path.INTEGER):
                m.d.comb += product.eq(integer)
            with m.Case(Path.QUOTIENT):
                m.d.comb += product.eq(self.quotient.number)
            with m.Default():
                m.d.comb += product.eq(multiplied)

    def _from_integer(self, m: Module, integer: data.View) -> None:
        """An integer as a product that is not normalised."""
        controls, bits = self.entry.controls, self._bits
        widened, magnitude, negative = Signal(bits), Signal(bits), Signal()
        with m.Switch(controls.integer):
            for code, width in enumerate((8, 16, 32)):
                if width > bits:
                    continue
                top = self.vs2[width - 1] & controls.is_signed
                with m.Case(code):
                    m.d.comb += [
                        widened.eq(Cat(self.vs2[:width], top.replicate(bits - width))),
                        negative.eq(top),
                    ]
        m.d.comb += [
            magnitude.eq(Mux(negative, -widened, widened)),
            integer.sign.eq(negative),
            integer.zero.eq(~widened.any()),
            integer.exponent.eq(Mux(widened.any(), EXPONENT_BIAS + bits - 1, ZERO_EXPONENT)),
            integer.significand.eq(Cat(Const(0, SIGNIFICAND_BITS - bits), magnitude)),
        ]

    def _sign(self, half: Value, negated: Value) -> Value:
        """The sign's bit, if a number is negated."""
        if len(self.formats) == 1:
            return negated << 15
        return Mux(half, negated << 15, negated << 31)

    def _is_nan(self, bits: Value, half: Value) -> tuple[Value, Value]:
        """Whether a number is a NaN, and whether it is a signaling one."""
        special, fraction, quiet = bits[10:15].all(), bits[:10].any(), bits[9]
        if len(self.formats) == 2:
            special = Mux(half, special, bits[23:31].all())
            fraction = Mux(half, fraction, bits[:23].any())
            quiet = Mux(half, quiet, bits[22])
        nan = special & fraction
        return nan, nan & ~quiet
