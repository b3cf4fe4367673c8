"""Controls of the lanes by operation and SEW, as tables that become combinational logic."""

from collections.abc import Mapping

from amaranth import Cat, Module, ValueLike
from amaranth.lib import data

__all__ = ["OPERATION_BITS", "decode"]

#: Bits of an operation in a beat.
OPERATION_BITS = 7

_SEW_BITS = 2


def decode(
    m: Module,
    controls: data.View,
    operation: ValueLike,
    sew: ValueLike,
    table: Mapping[tuple[int, int], Mapping[str, int]],
) -> None:
    """Set controls from the row of an operation and of log2 of SEW in bytes.

    Parameters
    ----------
    m : Module
    controls : data.View
        Fields that a row does not name are zero.
    operation, sew : Value
    table : mapping of (operation, log2 of SEW in bytes) to fields
        What has no row means nothing.
    """
    classes: dict[tuple[str, int], list[str]] = {}
    for (code, width), fields in table.items():
        pattern = f"{code:0{OPERATION_BITS}b}{width:0{_SEW_BITS}b}"
        for name, value in fields.items():
            if value:
                classes.setdefault((name, int(value)), []).append(pattern)
    key = Cat(sew, operation)
    for (name, value), patterns in classes.items():
        with m.If(key.matches(*patterns)):
            m.d.comb += controls[name].eq(value)
