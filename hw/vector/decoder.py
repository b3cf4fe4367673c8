"""What a vector instruction asks of which unit, from the tables of golden."""

from collections.abc import Callable
from typing import Any

from amaranth import Module, Value, signed, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv import INSTRUCTIONS
from fanweave.golden.isa.riscv_encoding import InstructionKind, Width
from fanweave.hw.vector.float_operations import float_operation
from fanweave.hw.vector.integer_operations import integer_operation
from fanweave.hw.vector.memory_operations import memory_operation
from fanweave.hw.vector.permute_operations import permute_operation
from fanweave.hw.vector.plans import VectorUnitName
from fanweave.hw.vector.ventaglio_operations import is_packed, ventaglio_operation

__all__ = ["Extent", "Scalar", "VectorControls", "VectorDecoder", "unit_of"]


class Extent(enum.Enum, shape=unsigned(2)):
    """How many registers an operand has."""

    NONE = 0
    ONE = 1
    GROUP = 2  # of elements whose width is ``step`` away from SEW
    WHOLE = 3  # as many as the instruction says


class Scalar(enum.Enum, shape=unsigned(2)):
    """What a scalar operand comes from."""

    RS1 = 0
    FS1 = 1
    SIGNED = 2
    UNSIGNED = 3


class VectorControls(data.Struct):
    """Decoded instruction; nothing has a meaning without ``known``.

    ``operation`` is that of the lanes. ``vd``, ``vs2``, ``vs1`` are an `Extent`, and the steps
    what is added to log2 of SEW for the width of their elements; ``index_16`` says that those of
    vs1 have 16 bits. ``bits``: the destination is a mask. ``accumulates``: it is read as well.
    ``maskable``: the instruction's bit vm is one; ``carries``: v0 is an operand. ``floating``:
    ``frm`` counts, and flags may be set; with ``rounds`` it must be a mode that exists.
    ``from_zero``: ``vstart`` must be zero. ``names_vd``, ``names_vs2``, ``names_vs1``: it has
    these fields. ``ventaglio``: it is legal only where there is a Ventaglio unit.
    """

    known: unsigned(1)
    unit: VectorUnitName
    operation: unsigned(7)
    vd: Extent
    vs2: Extent
    vs1: Extent
    vd_step: signed(3)
    vs2_step: signed(3)
    index_16: unsigned(1)
    bits: unsigned(1)
    accumulates: unsigned(1)
    scalar: Scalar
    maskable: unsigned(1)
    carries: unsigned(1)
    floating: unsigned(1)
    rounds: unsigned(1)
    from_zero: unsigned(1)
    names_vd: unsigned(1)
    names_vs2: unsigned(1)
    names_vs1: unsigned(1)
    ventaglio: unsigned(1)


_LANES: dict[Any, Any] = {
    VectorUnitName.INTEGER: integer_operation,
    VectorUnitName.FLOAT: float_operation,
}
_OWNERS: dict[Any, Callable[[InstructionKind], int | None]] = {
    **_LANES,
    VectorUnitName.MEMORY: memory_operation,
    VectorUnitName.PERMUTE: permute_operation,
    VectorUnitName.VENTAGLIO: ventaglio_operation,
}
_EXTENTS = {None: Extent.NONE, Width.WHOLE: Extent.WHOLE}
_EXTENTS |= dict.fromkeys((Width.MASK, Width.SCALAR, Width.SCALAR_DOUBLE), Extent.ONE)
_STEPS = {Width.DOUBLE: 1, Width.HALF: -1, Width.QUARTER: -2}
_SCALARS = {"fs1": Scalar.FS1, "simm": Scalar.SIGNED, "uimm": Scalar.UNSIGNED}
#: Mnemonics without operands' letters of what cannot start in the middle, and of floating-point
#: instructions that only move.
_FROM_ZERO = ("vcpop", "vfirst", "vmsbf", "vmsif", "vmsof", "viota", "vcompress")
_MOVES = ("vfmv", "vfmerge", "vfslide1up", "vfslide1down")


def unit_of(row: InstructionKind) -> VectorUnitName | None:
    """The unit that executes a row; None if none does."""
    for unit, operation_of in _OWNERS.items():
        if operation_of(row) is not None:
            return unit
    return None


class VectorDecoder(wiring.Component):
    """Combinational; knows loads, stores and arithmetic, not what configures.

    Members
    -------
    word : In(32)
    controls : Out of `VectorControls`
    """

    word: In(32)
    controls: Out(VectorControls)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for values, patterns in _classes().items():
            name, value = values
            with m.If(self.word.matches(*patterns)):
                m.d.comb += Value.cast(self.controls[name]).eq(value)
        return m


def _classes() -> dict[tuple[str, int], list[str]]:
    """Patterns of the instructions of which a control has a value other than zero."""
    classes: dict[tuple[str, int], list[str]] = {}
    for row in INSTRUCTIONS:
        unit = unit_of(row)
        if unit is None:
            continue
        for name, value in _values(row, unit).items():
            if value:
                classes.setdefault((name, value), []).append(row.bits)
    return classes


def _values(row: InstructionKind, unit: VectorUnitName) -> dict[str, int]:
    """Fields of `VectorControls`."""
    base = row.name.split(".")[0]
    values = {
        "known": 1,
        "unit": unit.value,
        "maskable": int("vm" in row.fields),
        "carries": int("v0" in row.syntax.split(", ")),
        **{f"names_{name}": int(name in row.fields) for name in ("vd", "vs2", "vs1")},
        "ventaglio": int(unit is VectorUnitName.VENTAGLIO or is_packed(row)),
    }
    if unit in _LANES:
        operation = _LANES[unit](row)
        assert operation is not None
        values["operation"] = int(operation)
    for field, scalar in _SCALARS.items():
        if field in row.fields:
            values["scalar"] = scalar.value  # type: ignore[attr-defined]
    shape = row.vector
    if shape is None:
        return values
    reduces = base.startswith(("vred", "vwred", "vfred", "vfwred"))
    return values | {
        **{
            name: _EXTENTS.get(width, Extent.GROUP).value  # type: ignore[attr-defined]
            for name, width in (("vd", shape.vd), ("vs2", shape.vs2), ("vs1", shape.vs1))
        },
        "vd_step": _STEPS.get(shape.vd, 0) if shape.vd else 0,
        "vs2_step": _STEPS.get(shape.vs2, 0) if shape.vs2 else 0,
        "index_16": int(shape.vs1 is Width.EEW16),
        "bits": int(shape.vd is Width.MASK),
        "accumulates": int(shape.accumulates),
        "floating": int(shape.floating),
        "rounds": int(shape.floating and base not in _MOVES),
        "from_zero": int(reduces or base in _FROM_ZERO),
    }
