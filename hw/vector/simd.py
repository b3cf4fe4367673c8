"""Arithmetic on 32 bits that are one, two or four integers."""

from amaranth import Cat, Const, Module, Mux, Signal, Value

__all__ = ["add_elements", "at_tops", "by_element", "by_width", "is_top", "named", "select_bytes"]

_BYTES = 4


def by_width(width: Value, values: tuple[Value, Value, Value]) -> Value:
    """Of three values, the one for elements of 1 << width bytes."""
    return Mux(width[1], values[2], Mux(width[0], values[1], values[0]))


def is_top(width: Value) -> Value:
    """A bit a byte: whether it is the highest of its element."""
    return by_width(width, (Const(0b1111, 4), Const(0b1010, 4), Const(0b1000, 4)))


def by_element(width: Value, flags: Value) -> Value:
    """A bit a byte, out of the bits at the highest byte of each element."""
    pairs, four = Cat(flags[1], flags[1], flags[3], flags[3]), flags[3].replicate(4)
    return by_width(width, (flags, pairs, four))


def at_tops(width: Value, value: Value) -> Value:
    """A bit a byte: the highest bit of the byte's element."""
    return by_element(width, Cat(value[8 * place + 7] for place in range(_BYTES)))


def select_bytes(chosen: Value, a: Value, b: Value) -> Value:
    """a where a byte's bit is set, b elsewhere."""
    return Cat(
        Mux(chosen[place], a.word_select(place, 8), b.word_select(place, 8))
        for place in range(_BYTES)
    )


def named(m: Module, name: str, value: Value) -> Signal:
    """A signal for what is used in several places, so that it is computed once."""
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal


def add_elements(
    m: Module, name: str, width: Value, a: Value, b: Value, carry: Value
) -> tuple[Signal, Signal]:
    """Sums of elements, each with a carry into it.

    In front of every byte stands one more place. In front of an element both summands have the
    element's carry there, so that it goes in, and what comes out of the element before stays in
    the place. Inside of an element one of them has a 1, so that carries go through.

    Parameters
    ----------
    m : Module
    name : str
        Of the signals.
    width : Value
        Log2 of the bytes of an element.
    a, b : Value, 32 bits
    carry : Value, 4 bits
        Of the element that each byte belongs to.

    Returns
    -------
    total : Signal, 32 bits
    carried : Signal, 4 bits
        Out of the element whose highest byte it is; others mean nothing.
    """
    tops = named(m, f"{name}_tops", is_top(width))
    left: list[Value] = []
    right: list[Value] = []
    for place in range(_BYTES):
        starts = Const(1) if place == 0 else tops[place - 1]
        left += [~starts | carry[place], a.word_select(place, 8)]
        right += [starts & carry[place], b.word_select(place, 8)]
    total = Signal(9 * _BYTES + 1, name=f"{name}_total")
    m.d.comb += total.eq(Cat(*left) + Cat(*right))
    result, carried = (
        Signal(8 * _BYTES, name=f"{name}_result"),
        Signal(_BYTES, name=f"{name}_carry"),
    )
    m.d.comb += [
        result.eq(Cat(total[9 * place + 1 : 9 * place + 9] for place in range(_BYTES))),
        carried.eq(Cat(total[9 * place + 9] for place in range(_BYTES))),
    ]
    return result, carried
