"""32 bits of the integer lanes: one, two or four elements a cycle."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.integer_multiplier import IntegerMultiplier
from fanweave.hw.vector.integer_operations import (
    Comparison,
    IntegerControls,
    Logic,
    Part,
    Result,
)
from fanweave.hw.vector.integer_shifter import IntegerShifter, rounds_up
from fanweave.hw.vector.simd import add_elements, by_element, by_width, is_top, named, select_bytes

__all__ = ["IntegerSlice", "IntegerStage"]


class IntegerStage(data.Struct):
    """What all slices do in one stage, and how they round (``vxrm``)."""

    valid: unsigned(1)
    controls: IntegerControls
    mode: unsigned(2)


class IntegerSlice(wiring.Component):
    """Shows results one register after the operands; nothing moves without ``enable``.

    In front of the register: sums, comparisons, shifts, products. Behind it: the addition to a
    product, rounding, clipping.

    Members
    -------
    enable : In(1)
    entry, first : In of `IntegerStage`
        Of the operands, and of what the register holds.
    vs1, vs2, vd : In(32)
        Elements, all of the width in ``controls``.
    quotient : In(32)
        Taken with an operation whose result is QUOTIENT.
    carry, active : In(4)
        Of the element that each byte belongs to.
    result : Out(32)
        With ``result_dense`` in the low 16 bits.
    bits : Out(4)
        At the highest byte of an element.
    saturated : Out(1)
        An active element was.
    """

    enable: In(1)
    entry: In(IntegerStage)
    first: In(IntegerStage)
    vs1: In(32)
    vs2: In(32)
    vd: In(32)
    quotient: In(32)
    carry: In(4)
    active: In(4)
    result: Out(32)
    bits: Out(4)
    saturated: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        controls = self.entry.controls
        m.submodules.multiplier = multiplier = IntegerMultiplier()
        m.submodules.shifter = shifter = IntegerShifter()
        value, bits = Signal(32), Signal(4)
        increments, saturated = Signal(4), Signal(4)
        m.d.comb += [
            multiplier.width.eq(controls.width),
            multiplier.a.eq(Mux(controls.factor_vd, self.vd, self.vs2)),
            multiplier.b.eq(self.vs1),
            multiplier.a_signed.eq(controls.vs2_signed),
            multiplier.b_signed.eq(controls.vs1_signed),
            shifter.width.eq(controls.width),
            shifter.value.eq(self.vs2),
            shifter.amount.eq(self.vs1),
            shifter.is_signed.eq(controls.vs2_signed),
            shifter.left.eq(controls.left),
            shifter.mode.eq(self.entry.mode),
        ]
        self._sum(m, value, bits, increments, saturated)
        self._others(m, shifter, value, increments)
        registers = {
            "value": value,
            "bits": bits,
            "increments": increments & controls.rounded.replicate(4),
            "saturated": saturated,
            "active": self.active,
            "product": multiplier.product,
        }
        held = {name: Signal(len(given), name=f"first_{name}") for name, given in registers.items()}
        with m.If(self.enable):
            m.d.sync += [held[name].eq(given) for name, given in registers.items()]
        self._finish(m, **held)
        m.d.comb += self.bits.eq(held["bits"])
        return m

    def _sum(
        self, m: Module, value: Signal, bits: Signal, increments: Signal, saturated: Signal
    ) -> None:
        """All that comes from a sum or difference: comparisons, extremes, saturation, averages."""
        controls = self.entry.controls
        width, subtract = controls.width, controls.subtract
        is_signed = controls.vs2_signed
        a, b, summand = Signal(32), Signal(32), Signal(32)
        m.d.comb += [
            a.eq(Mux(controls.swapped, self.vs1, self.vs2)),
            b.eq(Mux(controls.swapped, self.vs2, self.vs1)),
            summand.eq(b ^ subtract.replicate(32)),
        ]
        carry = named(
            m, "carries", (self.carry & controls.with_carry.replicate(4)) ^ subtract.replicate(4)
        )
        total, carried = add_elements(m, "sum", width, a, summand, carry)
        a_top, b_top, total_top = (
            Cat(v[8 * place + 7] for place in range(4)) for v in (a, summand, total)
        )
        zero = Cat(~total.word_select(place, 8).any() for place in range(4))
        halves = [zero[:2].all(), zero[2:].all()]
        equal = by_width(
            width, (zero, Cat(0, halves[0], 0, halves[1]), Cat(Const(0, 3), zero.all()))
        )
        opposed = is_signed.replicate(4) & (a_top ^ ~b_top)
        less = named(m, "less", (opposed & a_top) | (~opposed & ~carried))
        compared = Signal(4)
        with m.Switch(controls.comparison):
            for comparison, found in (
                (Comparison.EQUAL, equal),
                (Comparison.LESS, less),
                (Comparison.LESS_EQUAL, less | equal),
                (Comparison.CARRY, carried ^ subtract.replicate(4)),
            ):
                with m.Case(comparison):
                    m.d.comb += compared.eq(found)
        # One bit more than the sum has, and what a sum that does not fit becomes.
        beyond = ((a_top ^ b_top) & is_signed.replicate(4)) | (subtract & ~is_signed).replicate(4)
        extended = named(m, "extended", (beyond ^ carried)[:4])
        overflow = Mux(
            is_signed, ~(a_top ^ b_top) & (total_top ^ a_top), carried ^ subtract.replicate(4)
        )
        tops, limit = named(m, "tops", is_top(width)), Signal(32)
        full = named(m, "full", by_element(width, Mux(is_signed, ~a_top, (~subtract).replicate(4))))
        for place in range(4):
            byte = Cat(full[place].replicate(7), full[place] ^ (is_signed & tops[place]))
            m.d.comb += limit.word_select(place, 8).eq(byte)
        overflows = named(m, "overflows", by_element(width, overflow))
        halved = [
            Cat(
                total[8 * place + 1 : 8 * place + 8],
                extended[place]
                if place == 3
                else Mux(tops[place], extended[place], total[8 * place + 8]),
            )
            for place in range(4)
        ]
        lowest = Cat(total[8 * place] for place in range(4))
        second = Cat(total[8 * place + 1] for place in range(4))
        chosen = named(m, "chosen", by_element(width, less ^ controls.largest.replicate(4)))
        m.d.comb += bits.eq(compared ^ controls.inverted.replicate(4))
        with m.Switch(controls.result):
            with m.Case(Result.SUM):
                m.d.comb += value.eq(total)
            with m.Case(Result.EXTREME):
                m.d.comb += value.eq(select_bytes(chosen, a, b))
            with m.Case(Result.SATURATED):
                m.d.comb += [
                    value.eq(select_bytes(overflows, limit, total)),
                    saturated.eq(overflows),
                ]
            with m.Case(Result.AVERAGE):
                m.d.comb += [
                    value.eq(Cat(halved)),
                    increments.eq(
                        _of_lowest(
                            width,
                            rounds_up(self.entry.mode, second, lowest, Const(0, 4)),
                        )
                    ),
                ]

    def _others(
        self, m: Module, shifter: IntegerShifter, value: Signal, increments: Signal
    ) -> None:
        """Results that are no sum, and the addend of a product."""
        controls = self.entry.controls
        with m.Switch(controls.result):
            with m.Case(Result.LOGIC):
                a, b = self.vs2, self.vs1
                m.d.comb += value.eq(
                    Mux(
                        controls.logic == Logic.AND,
                        a & b,
                        Mux(controls.logic == Logic.OR, a | b, a ^ b),
                    )
                )
            with m.Case(Result.SHIFT):
                m.d.comb += [value.eq(shifter.result), increments.eq(shifter.increments)]
            with m.Case(Result.CHOICE):
                merged = select_bytes(self.carry, self.vs1, self.vs2)
                plain = Mux(controls.second, self.vs2, self.vs1)
                m.d.comb += value.eq(Mux(controls.merges, merged, plain))
            with m.Case(Result.QUOTIENT):
                m.d.comb += value.eq(self.quotient)
        with m.If(controls.part != Part.NONE):
            addend = Mux(controls.addend_vs2, self.vs2, self.vd)
            m.d.comb += value.eq(Mux(controls.result == Result.CHOICE, addend, 0))

    def _finish(
        self,
        m: Module,
        value: Signal,
        bits: Signal,
        increments: Signal,
        saturated: Signal,
        active: Signal,
        product: Signal,
    ) -> None:
        """Behind the register: parts of products, the second sum, clipping."""
        controls = self.first.controls
        width, is_signed = controls.width, controls.vs2_signed
        a, b, carry = Signal(32, name="second_a"), Signal(32, name="second_b"), Signal(4)
        low, high, fraction, raised, beyond = (
            named(m, f"product_{number}", part)
            for number, part in enumerate(_parts(width, product, self.first.mode))
        )
        m.d.comb += [a.eq(value), carry.eq(increments)]
        with m.Switch(controls.part):
            with m.Case(Part.LOW):
                m.d.comb += [
                    b.eq(low ^ controls.subtract.replicate(32)),
                    carry.eq(controls.subtract.replicate(4)),
                ]
            with m.Case(Part.HIGH):
                m.d.comb += a.eq(high)
            with m.Case(Part.FRACTION):
                m.d.comb += [a.eq(select_bytes(beyond, ~fraction, fraction)), carry.eq(raised)]
        total, _ = add_elements(m, "second", width, a, b, carry)
        fitted, clipped = _clip(width, is_signed, total)
        m.d.comb += self.result.eq(Mux(controls.clipped, fitted, _narrowed(controls, total)))
        limited = saturated
        limited |= beyond & (controls.part == Part.FRACTION).replicate(4)
        limited |= clipped & controls.clipped.replicate(4)
        m.d.comb += self.saturated.eq((limited & active & is_top(width)).any())


def _of_lowest(width: Value, flags: Value) -> Value:
    """A bit a byte, out of the bits at the lowest byte of each element."""
    return by_width(
        width, (flags, Cat(flags[0], flags[0], flags[2], flags[2]), flags[0].replicate(4))
    )


def _parts(width: Value, product: Value, mode: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Lower and upper halves of products, fractions, their rounding, and which are beyond."""
    found: list[tuple[Value, ...]] = []
    for bits in (8, 16, 32):
        parts = [product.word_select(k, 2 * bits) for k in range(32 // bits)]
        odd, guard, sticky = (
            Cat(flags)
            for flags in (
                [part[bits - 1] for part in parts],
                [part[bits - 2] for part in parts],
                [part[: bits - 2].any() for part in parts],
            )
        )
        ups = rounds_up(mode, odd, guard, sticky)
        found.append(
            (
                Cat(part[:bits] for part in parts),
                Cat(part[bits:] for part in parts),
                Cat(part[bits - 1 : -1] for part in parts),
                Cat(up.replicate(bits // 8) for up in ups),
                # Only the square of the least number.
                Cat((part[-2] & ~part[-1]).replicate(bits // 8) for part in parts),
            )
        )
    low, high, fraction, rounding, beyond = (
        by_width(width, (of_bytes, of_halves, of_words))
        for of_bytes, of_halves, of_words in zip(*found, strict=True)
    )
    return low, high, fraction, rounding, beyond


def _narrowed(controls: data.View, total: Value) -> Value:
    """Results, or the lower halves of results."""
    halves = Mux(controls.width[1], total[:16], Cat(total[:8], total[16:24]))
    return Mux(controls.result_dense, halves, total)


def _clip(width: Value, is_signed: Value, total: Value) -> tuple[Value, Value]:
    """Elements as the nearest ones of half their width, and which of them were others."""
    results, changed = [], []
    for bits in (16, 32):
        narrow, fitted, flags = bits // 2, [], []
        for k in range(32 // bits):
            element = total.word_select(k, bits)
            sign, upper = element[-1], element[narrow:]
            same = Cat(element[narrow - 1], upper)
            fits = Mux(is_signed, same.all() | ~same.any(), ~upper.any())
            limit = Cat(Mux(is_signed, ~sign, 1).replicate(narrow - 1), Mux(is_signed, sign, 1))
            fitted.append(Mux(fits, element[:narrow], limit))
            flags.append((~fits).replicate(bits // 8))
        results.append(Cat(fitted))
        changed.append(Cat(flags))
    return (
        Mux(width[1], results[1], results[0]),
        Mux(width[1], changed[1], changed[0]),
    )
