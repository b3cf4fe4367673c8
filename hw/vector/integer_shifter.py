"""Shifts of one, two or four integers in 32 bits, with what rounding needs."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.simd import by_width

__all__ = ["IntegerShifter", "rounds_up"]

#: Lowest byte of the elements that a shifter is for, and its bits: those of the widest of them.
_SHIFTERS = ((0, 32), (1, 8), (2, 16), (3, 8))


def rounds_up(mode: Value, odd: Value, guard: Value, sticky: Value) -> Value:
    """Whether 1 is added to what a shift leaves, by ``vxrm``; bit by bit."""
    size = len(guard)
    up = [mode == code for code in range(4)]
    return (
        (up[0].replicate(size) & guard)
        | (up[1].replicate(size) & guard & (sticky | odd))
        | (up[3].replicate(size) & (guard | sticky) & ~odd)
    )[:size]


class IntegerShifter(wiring.Component):
    """Combinational: a shifter to each byte, as wide as the widest element that begins there.

    Members
    -------
    width : In(2)
        Log2 of the bytes of an element.
    value, amount : In(32)
        Of an amount the low bits count.
    is_signed, left : In(1)
        The sign fills; shift left.
    mode : In(2)
        ``vxrm``.
    result : Out(32)
    increments : Out(4)
        What rounding adds, at every byte of an element; of shifts to the right.
    """

    width: In(2)
    value: In(32)
    amount: In(32)
    is_signed: In(1)
    left: In(1)
    mode: In(2)
    result: Out(32)
    increments: Out(4)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shifted, up = [], []
        for place, bits in _SHIFTERS:
            low = 8 * place
            widths = [width for width in (8, 16, 32) if width <= bits]
            elements = [self.value[low : low + width] for width in widths]
            value, fill = Signal(bits, name=f"value_{place}"), Signal(name=f"fill_{place}")
            amount = Signal(range(bits), name=f"amount_{place}")
            m.d.comb += [
                fill.eq(self._of_width([element[-1] for element in elements])
                        & self.is_signed & ~self.left),
                amount.eq(self._of_width(
                    [self.amount[low : low + (width - 1).bit_length()] for width in widths])),
                value.eq(self._of_width([
                    Mux(self.left, element[::-1],
                        Cat(element, fill.replicate(bits - len(element))))
                    for element in elements])),
            ]  # fmt: skip
            result, guard, sticky = _shift(m, place, value, amount, fill)
            shifted.append(self._of_width([
                Mux(self.left, result[:width][::-1], result[:width]) for width in widths
            ]))  # fmt: skip
            up.append(rounds_up(self.mode, result[0], guard, sticky))
        a, b, c, d = (Cat(value)[:8] for value in shifted)
        m.d.comb += [
            self.result.eq(
                by_width(
                    self.width,
                    (Cat(a, b, c, d), Cat(shifted[0][:16], shifted[2][:16]), shifted[0]),
                )
            ),
            self.increments.eq(
                by_width(
                    self.width,
                    (Cat(up), Cat(up[0], up[0], up[2], up[2]), up[0].replicate(4)),
                )
            ),
        ]
        return m

    def _of_width(self, values: list[Value]) -> Value:
        """Of values for elements of 8, 16 and 32 bits, as many as there are, the right one."""
        chosen = values[0]
        for code, value in enumerate(values[1:], 1):
            chosen = Mux(self.width == code, value, chosen)
        return chosen


def _shift(
    m: Module, place: int, value: Value, amount: Value, fill: Value
) -> tuple[Value, Value, Value]:
    """Value shifted right, the last bit that was lost, and whether any other was set."""
    guard: Value = Signal(name=f"no_guard_{place}")
    sticky: Value = Signal(name=f"no_sticky_{place}")
    for bit in range(len(amount)):
        step = 1 << bit
        moved = Signal(len(value), name=f"value_{place}_{step}")
        new_guard = Signal(name=f"guard_{place}_{step}")
        new_sticky = Signal(name=f"sticky_{place}_{step}")
        below = value[: step - 1].any() if step > 1 else 0
        m.d.comb += [
            moved.eq(Mux(amount[bit], Cat(value[step:], fill.replicate(step)), value)),
            new_guard.eq(Mux(amount[bit], value[step - 1], guard)),
            new_sticky.eq(sticky | (amount[bit] & (guard | below))),
        ]
        value, guard, sticky = moved, new_guard, new_sticky
    return value, guard, sticky
