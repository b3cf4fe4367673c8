"""What an instruction asks of the integer lanes, from the tables of golden."""

import enum
from collections.abc import Mapping

from amaranth import unsigned
from amaranth.lib import data

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind, Width
from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS

__all__ = [
    "INTEGER_CONTROLS",
    "Comparison",
    "IntegerControls",
    "IntegerOperation",
    "Logic",
    "Part",
    "Result",
    "integer_operation",
]


class Result(enum.IntEnum):
    """What a slice's first stage makes."""

    SUM = 0
    LOGIC = 1
    SHIFT = 2
    EXTREME = 3
    SATURATED = 4  # sum
    AVERAGE = 5  # half a sum
    CHOICE = 6  # vs1 or vs2 as they are
    QUOTIENT = 7


class Logic(enum.IntEnum):
    """Bit by bit."""

    AND = 0
    OR = 1
    XOR = 2


class Comparison(enum.IntEnum):
    """A bit an element."""

    EQUAL = 0
    LESS = 1
    LESS_EQUAL = 2
    CARRY = 3  # out of a sum, or the borrow of a difference


class Part(enum.IntEnum):
    """What the second stage takes of a product."""

    NONE = 0
    LOW = 1  # added to the addend
    HIGH = 2
    FRACTION = 3  # rounded and saturated


class IntegerControls(data.Struct):
    """Decoded operation.

    ``width`` is log2 of the bytes of the beat's widest elements, on which all is computed:
    ``vs1_dense``, ``vs2_dense`` and ``result_dense`` say that an operand or the result has
    elements half as wide, ``vs2_quarter`` a quarter. ``vs1_signed`` and ``vs2_signed`` are how
    operands are extended, compared, multiplied, divided, saturated. ``subtract`` is of the sum or
    of the product; ``swapped`` puts vs1 before vs2. ``with_carry`` adds v0's bits, or subtracts.
    ``merges`` chooses by them, and otherwise CHOICE is vs1, or with ``second`` vs2.
    """

    width: unsigned(2)
    vs1_dense: unsigned(1)
    vs2_dense: unsigned(1)
    vs2_quarter: unsigned(1)
    result_dense: unsigned(1)
    vs1_signed: unsigned(1)
    vs2_signed: unsigned(1)
    result: unsigned(3)
    logic: unsigned(2)
    subtract: unsigned(1)
    swapped: unsigned(1)
    with_carry: unsigned(1)
    comparison: unsigned(2)
    inverted: unsigned(1)
    largest: unsigned(1)
    left: unsigned(1)
    rounded: unsigned(1)
    clipped: unsigned(1)
    merges: unsigned(1)
    second: unsigned(1)
    part: unsigned(2)
    factor_vd: unsigned(1)
    addend_vs2: unsigned(1)
    remainder: unsigned(1)


_SIGNED = {"vs1_signed": 1, "vs2_signed": 1}
_SUM, _DIFFERENCE = {"result": Result.SUM}, {"result": Result.SUM, "subtract": 1}
_EXTREME = {"result": Result.EXTREME, "subtract": 1}
_SATURATED, _AVERAGE = {"result": Result.SATURATED}, {"result": Result.AVERAGE, "rounded": 1}
_RIGHT = {"result": Result.SHIFT}
_QUOTIENT, _REMAINDER = {"result": Result.QUOTIENT}, {"result": Result.QUOTIENT, "remainder": 1}
_PRODUCT, _HIGH = {"part": Part.LOW}, {"part": Part.HIGH}
_EQUAL, _LESS, _LESS_EQUAL, _CARRY = (
    {"subtract": 1, "comparison": comparison} for comparison in Comparison
)
_ADDED = {"part": Part.LOW, "result": Result.CHOICE}

#: By name; the operands of shifts are signed where the sign fills.
_ROWS: Mapping[str, Mapping[str, int]] = {
    "VADD": _SUM,
    "VSUB": _DIFFERENCE,
    "VRSUB": {**_DIFFERENCE, "swapped": 1},
    "VADC": {**_SUM, "with_carry": 1},
    "VSBC": {**_DIFFERENCE, "with_carry": 1},
    "VMADC": {"comparison": Comparison.CARRY},
    "VMSBC": _CARRY,
    "VMADC_M": {"comparison": Comparison.CARRY, "with_carry": 1},
    "VMSBC_M": {**_CARRY, "with_carry": 1},
    "VMINU": _EXTREME,
    "VMIN": {**_EXTREME, **_SIGNED},
    "VMAXU": {**_EXTREME, "largest": 1},
    "VMAX": {**_EXTREME, **_SIGNED, "largest": 1},
    "VAND": {"result": Result.LOGIC, "logic": Logic.AND},
    "VOR": {"result": Result.LOGIC, "logic": Logic.OR},
    "VXOR": {"result": Result.LOGIC, "logic": Logic.XOR},
    "VMSEQ": _EQUAL,
    "VMSNE": {**_EQUAL, "inverted": 1},
    "VMSLTU": _LESS,
    "VMSLT": {**_LESS, **_SIGNED},
    "VMSLEU": _LESS_EQUAL,
    "VMSLE": {**_LESS_EQUAL, **_SIGNED},
    "VMSGTU": {**_LESS_EQUAL, "inverted": 1},
    "VMSGT": {**_LESS_EQUAL, **_SIGNED, "inverted": 1},
    "VSADDU": _SATURATED,
    "VSADD": {**_SATURATED, **_SIGNED},
    "VSSUBU": {**_SATURATED, "subtract": 1},
    "VSSUB": {**_SATURATED, **_SIGNED, "subtract": 1},
    "VAADDU": _AVERAGE,
    "VAADD": {**_AVERAGE, **_SIGNED},
    "VASUBU": {**_AVERAGE, "subtract": 1},
    "VASUB": {**_AVERAGE, **_SIGNED, "subtract": 1},
    "VSLL": {**_RIGHT, "left": 1},
    "VSRL": _RIGHT,
    "VSRA": {**_RIGHT, "vs2_signed": 1},
    "VSSRL": {**_RIGHT, "rounded": 1},
    "VSSRA": {**_RIGHT, "vs2_signed": 1, "rounded": 1},
    "VNSRL": _RIGHT,
    "VNSRA": {**_RIGHT, "vs2_signed": 1},
    "VNCLIPU": {**_RIGHT, "rounded": 1, "clipped": 1},
    "VNCLIP": {**_RIGHT, "vs2_signed": 1, "rounded": 1, "clipped": 1},
    "VMUL": _PRODUCT,
    "VMULH": {**_HIGH, **_SIGNED},
    "VMULHU": _HIGH,
    "VMULHSU": {**_HIGH, "vs2_signed": 1},
    "VSMUL": {"part": Part.FRACTION, **_SIGNED},
    "VMACC": _ADDED,
    "VNMSAC": {**_ADDED, "subtract": 1},
    "VMADD": {**_ADDED, "factor_vd": 1, "addend_vs2": 1},
    "VNMSUB": {**_ADDED, "factor_vd": 1, "addend_vs2": 1, "subtract": 1},
    "VDIVU": _QUOTIENT,
    "VDIV": {**_QUOTIENT, **_SIGNED},
    "VREMU": _REMAINDER,
    "VREM": {**_REMAINDER, **_SIGNED},
    "VWADDU": _SUM,
    "VWADD": {**_SUM, **_SIGNED},
    "VWSUBU": _DIFFERENCE,
    "VWSUB": {**_DIFFERENCE, **_SIGNED},
    "VWMULU": _PRODUCT,
    "VWMUL": {**_PRODUCT, **_SIGNED},
    "VWMULSU": {**_PRODUCT, "vs2_signed": 1},
    "VWMACCU": _ADDED,
    "VWMACC": {**_ADDED, **_SIGNED},
    "VWMACCUS": {**_ADDED, "vs2_signed": 1},
    "VWMACCSU": {**_ADDED, "vs1_signed": 1},
    "VMERGE": {"result": Result.CHOICE, "merges": 1},
    "VMV": {"result": Result.CHOICE},
    "VZEXT": {"result": Result.CHOICE, "second": 1},
    "VSEXT": {"result": Result.CHOICE, "second": 1, "vs2_signed": 1},
}


def _name_of(row: InstructionKind) -> str | None:
    """Name of the operation: the mnemonic, with what says more than where operands are."""
    base, *parts = row.name.split(".")
    if row.extension is not Extension.ZVE32X or row.vector is None:
        return None
    if base.upper() not in _ROWS or row.name in ("vmv.x.s", "vmv.s.x"):
        return None
    if base in ("vzext", "vsext"):
        return f"{base}_{parts[0]}".upper()
    if base in ("vmadc", "vmsbc") and parts[0].endswith("m"):
        return f"{base}_M".upper()
    wide_first = row.vector.vd is Width.DOUBLE and row.vector.vs2 is Width.DOUBLE
    return (base + ("_w" if wide_first else "")).upper()


#: In the order of golden's rows.
IntegerOperation = enum.IntEnum(  # type: ignore[misc]
    "IntegerOperation",
    list(dict.fromkeys(filter(None, map(_name_of, VECTOR_INSTRUCTIONS)))),
    start=0,
)


def integer_operation(row: InstructionKind) -> IntegerOperation | None:
    """The integer lanes' operation; None if the row is not one of theirs."""
    name = _name_of(row)
    return None if name is None else IntegerOperation[name]


def _controls(operation: IntegerOperation, sew: int) -> dict[str, int] | None:
    """Fields of `IntegerControls`; None where the operation has no elements of this width."""
    base, _, form = operation.name.partition("_")
    fields: dict[str, int] = dict(_ROWS[operation.name if form == "M" else base])
    fields["width"] = sew
    if form.startswith("VF"):
        quarter = form == "VF4"
        if sew < 1 + quarter:
            return None
        return {**fields, "vs2_quarter": int(quarter), "vs2_dense": int(not quarter)}
    widening, narrowing = base.startswith("VW"), base.startswith(("VNS", "VNC"))
    if base in ("VNMSAC", "VNMSUB"):
        narrowing = False
    if not widening and not narrowing:
        return fields
    if sew == 2:
        return None
    fields |= {"width": sew + 1, "vs1_dense": 1}
    return fields | ({"result_dense": 1} if narrowing else {"vs2_dense": int(form != "W")})


#: By operation and log2 of SEW in bytes, where there are such elements.
INTEGER_CONTROLS: Mapping[tuple[int, int], Mapping[str, int]] = {
    (int(operation), sew): fields
    for operation in IntegerOperation
    for sew in range(3)
    if (fields := _controls(operation, sew)) is not None
}
