"""Balanced trees over many values: OR, sum, population count, one-hot choice, prefix OR."""

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Signal, Value, ValueLike

__all__ = ["choose", "count_ones", "exclusive_prefix_or", "or_tree", "sum_tree"]


def or_tree(values: Sequence[ValueLike]) -> Value:
    """OR of values."""
    if len(values) == 1:
        return Value.cast(values[0])
    half = len(values) // 2
    return or_tree(values[:half]) | or_tree(values[half:])


def sum_tree(values: Sequence[ValueLike]) -> Value:
    """Sum of values, without loss."""
    if len(values) == 1:
        return Value.cast(values[0])
    half = len(values) // 2
    return sum_tree(values[:half]) + sum_tree(values[half:])


def count_ones(bits: Value) -> Value:
    """Number of ones in a value."""
    return sum_tree(list(bits))


def choose(chosen: Value, values: Sequence[ValueLike]) -> Value:
    """The value whose bit is set in the one-hot ``chosen``; 0 if none is."""
    return or_tree([Mux(chosen[i], value, 0) for i, value in enumerate(values)])


def exclusive_prefix_or(m: Module, values: Sequence[Signal]) -> list[Value]:
    """OR of all values before each position, in logarithmic depth (Sklansky's network)."""
    width = len(values[0])
    inclusive: list[Value] = list(values)
    distance = 1
    while distance < len(values):
        level: list[Value] = []
        for i, value in enumerate(inclusive):
            # The upper half of each block takes in the last value of the lower half.
            if i & distance:
                merged = Signal(width, name=f"before_{distance}_{i}")
                m.d.comb += merged.eq(value | inclusive[i // distance * distance - 1])
                value = merged
            level.append(value)
        inclusive = level
        distance *= 2
    return [Const(0, width), *inclusive[:-1]]
