"""The floating-point unit: a pipeline of three cycles, and a divider beside it."""

from amaranth import Cat, Const, EnableInserter, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import Flag
from fanweave.hw.core.operations import FloatOperation
from fanweave.hw.fp.float_adder import FloatAdder
from fanweave.hw.fp.float_divider import FloatDivider
from fanweave.hw.fp.float_round import HALF_BOX, FloatRounder
from fanweave.hw.fp.float_simple import FloatSimple, SimpleOperation
from fanweave.hw.fp.multiplier import Multiplier
from fanweave.hw.fp.product import EXPONENT_BIAS, ZERO_EXPONENT, Product

__all__ = ["FloatRequest", "FloatResult", "FloatUnit"]

_O = FloatOperation
_FP32, _FP16 = ElementFormat.FP32, ElementFormat.FP16
_ONE, _HALF_ONE = 0x3F800000, 0x3C00
_SIGN = 1 << 31
_SIMPLE = {
    _O.FSGNJ_S: SimpleOperation.SIGN,
    _O.FSGNJN_S: SimpleOperation.SIGN_NEGATED,
    _O.FSGNJX_S: SimpleOperation.SIGN_XOR,
    _O.FMIN_S: SimpleOperation.MIN,
    _O.FMAX_S: SimpleOperation.MAX,
    _O.FEQ_S: SimpleOperation.EQ,
    _O.FLT_S: SimpleOperation.LT,
    _O.FLE_S: SimpleOperation.LE,
    _O.FCLASS_S: SimpleOperation.CLASS,
    _O.FCVT_W_S: SimpleOperation.TO_SIGNED,
    _O.FCVT_WU_S: SimpleOperation.TO_UNSIGNED,
}
_FUSED = (_O.FMADD_S, _O.FMSUB_S, _O.FNMSUB_S, _O.FNMADD_S)


class FloatRequest(data.Struct):
    """A `FloatOperation` on numbers a, b, c or the integer x; ``mode`` is a `RoundingMode`."""

    operation: unsigned(5)
    a: unsigned(32)
    b: unsigned(32)
    c: unsigned(32)
    x: unsigned(32)
    mode: unsigned(3)
    register: unsigned(5)


class FloatResult(data.Struct):
    """A result for a floating-point register, and the exceptions on its way."""

    value: unsigned(32)
    flags: unsigned(5)
    register: unsigned(5)


class _Stage(data.Struct):
    """What goes along with a sum; with ``ready``, ``value`` takes its place."""

    valid: unsigned(1)
    ready: unsigned(1)
    value: unsigned(32)
    flags: unsigned(5)
    half: unsigned(1)
    mode: unsigned(3)
    register: unsigned(5)


class FloatUnit(wiring.Component):
    """Multiplies, then adds, then normalises and rounds: a result two cycles after its operands.

    Every result but quotients and roots goes straight through, so these leave in order; a
    quotient enters as a product when it is there. All of it stands still while a result waits.

    Members
    -------
    i : stream in of `FloatRequest`
        Instructions with a floating-point result.
    o : stream out of `FloatResult`
    simple : Out(32); simple_flags : Out(5)
        Combinational result of ``i.payload``, valid or not, if it is an integer or not rounded.
    busy : Out(1)
        A result is still to come.
    """

    i: In(stream.Signature(FloatRequest))
    o: Out(stream.Signature(FloatResult))
    simple: Out(32)
    simple_flags: Out(5)
    busy: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = Signal()
        adder = FloatAdder(formats=(_FP32, _FP16))
        m.submodules.adder = EnableInserter(enable)(adder)
        m.submodules.rounder = rounder = FloatRounder(formats=(_FP32, _FP16))
        m.submodules.divider = self._divider = FloatDivider()
        self._simple(m)
        first, second = Signal(_Stage), Signal(_Stage)
        product, addend, multiply = Signal(Product), Signal(32), Signal()
        m.d.comb += [
            enable.eq(~second.valid | self.o.ready),
            adder.product.eq(product),
            adder.addend.eq(addend),
            adder.multiply.eq(multiply),
            adder.half.eq(first.half),
            adder.mode.eq(first.mode),
            rounder.number.eq(adder.sum),
            rounder.half.eq(second.half),
            rounder.mode.eq(second.mode),
            self.o.valid.eq(second.valid),
            self.o.payload.register.eq(second.register),
            self.o.payload.value.eq(Mux(second.ready, second.value, rounder.bits)),
            self.o.payload.flags.eq(
                second.flags | Mux(second.ready, 0, rounder.flags | Mux(adder.invalid, Flag.NV, 0))
            ),
            self.busy.eq(first.valid | second.valid | ~self._divider.i.ready),
        ]
        with m.If(enable):
            m.d.sync += second.eq(first)
        self._enter(m, enable, first, product, addend, multiply)
        return m

    def _simple(self, m: Module) -> None:
        request = self.i.payload
        m.submodules.simple_results = simple = FloatSimple()
        a, x = request.a, request.x
        m.d.comb += [
            simple.a.eq(a),
            simple.b.eq(request.b),
            simple.mode.eq(request.mode),
        ]
        with m.Switch(request.operation):
            for operation, asked in _SIMPLE.items():
                with m.Case(operation):
                    m.d.comb += [
                        simple.operation.eq(asked),
                        self.simple.eq(simple.result),
                        self.simple_flags.eq(simple.flags),
                    ]
            for operation, moved in (
                (_O.FMV_W_X, x),
                (_O.FMV_H_X, x | HALF_BOX),
                (_O.FMV_X_W, a),
                (_O.FMV_X_H, Cat(a[:16], a[15].replicate(16))),
            ):
                with m.Case(operation):
                    m.d.comb += self.simple.eq(moved)

    def _enter(
        self,
        m: Module,
        enable: Signal,
        first: data.View,
        product: data.View,
        addend: Signal,
        multiply: Signal,
    ) -> None:
        """What the first registers take: a quotient, or a new operation."""
        request, divider = self.i.payload, self._divider
        operation = request.operation
        divides = operation.matches(_O.FDIV_S, _O.FSQRT_S)
        asked, quotient = divider.i.payload, divider.o.payload
        multiplied, flags = self._multiply(m)
        m.d.comb += [
            divider.i.valid.eq(self.i.valid & divides),
            asked.a.eq(request.a),
            asked.b.eq(request.b),
            asked.root.eq(operation == _O.FSQRT_S),
            asked.mode.eq(request.mode),
            asked.register.eq(request.register),
            divider.o.ready.eq(enable),
            self.i.ready.eq(Mux(divides, divider.i.ready, enable & ~divider.o.valid)),
        ]
        with m.If(enable):
            m.d.sync += [
                first.valid.eq(self.i.valid & ~divides),
                first.ready.eq(operation >= _O.FSGNJ_S),
                first.value.eq(self.simple),
                first.flags.eq(Mux(operation >= _O.FSGNJ_S, self.simple_flags, flags)),
                first.half.eq(operation == _O.FCVT_H_S),
                first.mode.eq(request.mode),
                first.register.eq(request.register),
                product.eq(multiplied),
                addend.eq(self._addend()),
                multiply.eq(~operation.matches(_O.FADD_S, _O.FSUB_S, *_FUSED)),
            ]
            with m.If(divider.o.valid):
                m.d.sync += [
                    first.valid.eq(1),
                    first.ready.eq(0),
                    first.flags.eq(quotient.flags),
                    first.half.eq(0),
                    first.mode.eq(quotient.mode),
                    first.register.eq(quotient.register),
                    product.eq(quotient.number),
                    multiply.eq(1),
                ]

    def _addend(self) -> Value:
        """The addend with its sign."""
        request = self.i.payload
        operation = request.operation
        sum_of_two = operation.matches(_O.FADD_S, _O.FSUB_S)
        negated = operation.matches(_O.FSUB_S, _O.FMSUB_S, _O.FNMADD_S)
        return Mux(sum_of_two, request.b, request.c) ^ Mux(negated, _SIGN, 0)

    def _multiply(self, m: Module) -> tuple[Value, Value]:
        """The product or what takes its place, and the exceptions of the operands."""
        request = self.i.payload
        operation, a, b = request.operation, request.a, request.b
        m.submodules.multiplier = multiplier = Multiplier(formats=(_FP32, _FP16))
        from_half = operation == _O.FCVT_S_H
        fused = operation.matches(*_FUSED)
        two = operation.matches(_O.FADD_S, _O.FSUB_S, _O.FMUL_S) | fused
        negated = operation.matches(_O.FNMSUB_S, _O.FNMADD_S)
        boxed = a[16:].all()
        m.d.comb += [
            multiplier.a.eq(
                Mux(from_half, Mux(boxed, a[:16], _FP16.layout.canonical_nan), a)
                ^ Mux(negated, _SIGN, 0)
            ),
            multiplier.b.eq(Mux(fused | (operation == _O.FMUL_S), b, _ONE)),
            multiplier.format.eq(Mux(from_half, _FP16, _FP32)),
        ]
        with m.If(from_half):
            m.d.comb += multiplier.b.eq(_HALF_ONE)
        invalid = Signal()
        zero_times_infinity = (
            multiplier.product.nan & ~_is_nan(a) & ~_is_nan(b) & (fused | (operation == _O.FMUL_S))
        )
        half_signaling = boxed & a[10:15].all() & ~a[9] & a[:9].any()
        m.d.comb += invalid.eq(
            Mux(
                from_half,
                half_signaling,
                _is_signaling(a)
                | (two & _is_signaling(b))
                | (fused & _is_signaling(request.c))
                | zero_times_infinity,
            )
        )
        product, integer = Signal(Product), Signal(Product)
        negative = request.x[31] & (operation == _O.FCVT_S_W)
        from_integer = operation.matches(_O.FCVT_S_W, _O.FCVT_S_WU)
        m.d.comb += [
            integer.sign.eq(negative),
            integer.zero.eq(~request.x.any()),
            integer.exponent.eq(Mux(request.x.any(), EXPONENT_BIAS + 31, ZERO_EXPONENT)),
            integer.significand.eq(Cat(Const(0, 16), Mux(negative, -request.x, request.x)[:32])),
            product.eq(Mux(from_integer, integer, multiplier.product)),
        ]
        return product, Mux(invalid & ~from_integer, Flag.NV, 0)


def _is_nan(bits: Value) -> Value:
    return bits[23:31].all() & bits[:23].any()


def _is_signaling(bits: Value) -> Value:
    return bits[23:31].all() & ~bits[22] & bits[:22].any()
