"""Sizes of loads and stores."""

from amaranth import Cat, Const, Mux, Value

__all__ = ["bytes_of", "low_bytes"]


def bytes_of(size: Value) -> Value:
    """Bytes that the size field of an opcode stands for."""
    return Mux(size[1], Mux(size[0], 8, 1), Mux(size[0], 2, 4))


def low_bytes(value: Value, size: Value) -> Value:
    """The bytes of a size, the others zero."""
    return Mux(
        size[1],
        Mux(size[0], value, Cat(value[:8], Const(0, 56))),
        Mux(size[0], Cat(value[:16], Const(0, 48)), Cat(value[:32], Const(0, 32))),
    )
