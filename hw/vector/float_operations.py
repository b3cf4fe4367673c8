"""What an instruction asks of the floating-point lanes, from the tables of golden."""

import enum
from collections.abc import Mapping

from amaranth import unsigned
from amaranth.lib import data

from fanweave.golden.isa.riscv_encoding import Extension, InstructionKind
from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS
from fanweave.hw.fp.float_simple import SimpleOperation

__all__ = [
    "FLOAT_CONTROLS",
    "Factor",
    "FloatControls",
    "FloatOperation",
    "Path",
    "float_operation",
]

_OTHERS = frozenset({"vfmv.f.s", "vfmv.s.f", "vfslide1up.vf", "vfslide1down.vf"})


def _name_of(row: InstructionKind) -> str | None:
    """Name of the operation: the mnemonic, with what says more than where operands are."""
    base, *parts = row.name.split(".")
    shape = row.vector
    floating = shape is not None and shape.floating and row.extension is not Extension.VENTAGLIO
    if not floating or row.name in _OTHERS or base.startswith(("vfred", "vfwred")):
        return None
    if "cvt" in base:
        parts = parts[:-1]
    else:
        parts = ["w"] if parts[0].startswith("w") else []
    return "_".join((base, *parts)).upper()


#: In the order of golden's rows.
FloatOperation = enum.IntEnum(  # type: ignore[misc]
    "FloatOperation",
    list(dict.fromkeys(filter(None, map(_name_of, VECTOR_INSTRUCTIONS)))),
    start=0,
)


def float_operation(row: InstructionKind) -> FloatOperation | None:
    """The floating-point lanes' operation; None if the row is not one of theirs."""
    name = _name_of(row)
    return None if name is None else FloatOperation[name]


class Path(enum.IntEnum):
    """Where a result comes from."""

    SUM = 0  # of a product and an addend, of a product alone, or of a number times one
    SIMPLE = 1
    ESTIMATE = 2
    INTEGER = 3  # rounded from an integer
    QUOTIENT = 4
    CHOICE = 5  # vs1 or vs2 as they are


class Factor(enum.IntEnum):
    """The second factor of a product."""

    ONE = 0
    VS2 = 1
    VD = 2


class FloatControls(data.Struct):
    """Decoded operation.

    The first factor is vs1, or 1 with ``first_one``; the addend vs2, or vd with ``addend_vd``, or
    nothing with ``multiply``. ``swapped`` puts vs1 before vs2 in comparisons and quotients.
    ``integer`` is log2 of the bytes of an integer operand or result. ``pairs`` says that the
    beat's widest elements have 16 bits, so that there are two to each 32 bits; ``vs1_dense``,
    ``vs2_dense`` and ``result_dense`` that an operand or the result has elements half as wide.
    """

    path: unsigned(3)
    simple: unsigned(4)
    swapped: unsigned(1)
    inverted: unsigned(1)
    root: unsigned(1)
    merges: unsigned(1)
    first_one: unsigned(1)
    second: unsigned(2)
    addend_vd: unsigned(1)
    multiply: unsigned(1)
    negate_product: unsigned(1)
    negate_addend: unsigned(1)
    integer: unsigned(2)
    is_signed: unsigned(1)
    source_half: unsigned(1)
    addend_half: unsigned(1)
    half: unsigned(1)
    toward_zero: unsigned(1)
    to_odd: unsigned(1)
    pairs: unsigned(1)
    vs1_dense: unsigned(1)
    vs2_dense: unsigned(1)
    result_dense: unsigned(1)


_S = SimpleOperation
_SIMPLE: Mapping[str, Mapping[str, int]] = {
    "VFSGNJ": {"simple": _S.SIGN},
    "VFSGNJN": {"simple": _S.SIGN_NEGATED},
    "VFSGNJX": {"simple": _S.SIGN_XOR},
    "VFMIN": {"simple": _S.MIN},
    "VFMAX": {"simple": _S.MAX},
    "VMFEQ": {"simple": _S.EQ},
    "VMFNE": {"simple": _S.EQ, "inverted": 1},
    "VMFLT": {"simple": _S.LT},
    "VMFLE": {"simple": _S.LE},
    "VMFGT": {"simple": _S.LT, "swapped": 1},
    "VMFGE": {"simple": _S.LE, "swapped": 1},
    "VFCLASS": {"simple": _S.CLASS},
}
_ADDED = {"second": Factor.ONE}
_MULTIPLIED = {"second": Factor.VS2, "multiply": 1}
_ALONE = {"first_one": 1, "second": Factor.VS2, "multiply": 1}
#: By name without the letter of widening.
_ARITHMETIC: Mapping[str, Mapping[str, int]] = {
    "VFADD": _ADDED,
    "VFSUB": {**_ADDED, "negate_product": 1},
    "VFRSUB": {**_ADDED, "negate_addend": 1},
    "VFMUL": _MULTIPLIED,
    "VFDIV": {"path": Path.QUOTIENT, "multiply": 1},
    "VFRDIV": {"path": Path.QUOTIENT, "multiply": 1, "swapped": 1},
    "VFSQRT": {"path": Path.QUOTIENT, "multiply": 1, "root": 1},
    "VFREC7": {**_ALONE, "path": Path.ESTIMATE},
    "VFRSQRT7": {**_ALONE, "path": Path.ESTIMATE, "root": 1},
    "VFMERGE": {"path": Path.CHOICE, "merges": 1},
    "VFMV": {"path": Path.CHOICE},
    **{name: {**fields, "path": Path.SIMPLE} for name, fields in _SIMPLE.items()},
}
#: Signs of product and addend.
_FUSED = {
    "ACC": {},
    "NACC": {"negate_product": 1, "negate_addend": 1},
    "SAC": {"negate_addend": 1},
    "NSAC": {"negate_product": 1},
}
_ACCUMULATED = {"VFMACC": "ACC", "VFNMACC": "NACC", "VFMSAC": "SAC", "VFNMSAC": "NSAC"}
_MULTIPLIED_OLD = {"VFMADD": "ACC", "VFNMADD": "NACC", "VFMSUB": "SAC", "VFNMSUB": "NSAC"}


def _controls(operation: FloatOperation, sew: int) -> dict[str, int] | None:
    """Fields of `FloatControls`; None where the operation has no elements of this width."""
    name = operation.name
    if "CVT" in name:
        return _conversion(name, sew)
    if sew == 0:
        return None
    widening = name.startswith("VFW")
    if widening and sew == 2:
        return None
    base, _, wide_first = name.replace("VFW", "VF", 1).partition("_")
    half = int(sew == 1)
    fields = {"source_half": half, "addend_half": half, "half": half, "pairs": half}
    if base in _ACCUMULATED:
        fields |= {"second": Factor.VS2, "addend_vd": 1, **_FUSED[_ACCUMULATED[base]]}
    elif base in _MULTIPLIED_OLD:
        fields |= {"second": Factor.VD, **_FUSED[_MULTIPLIED_OLD[base]]}
    else:
        fields |= _ARITHMETIC[base]
    if widening:
        fields |= {"half": 0, "pairs": 0, "vs1_dense": 1, "vs2_dense": int(not wide_first)}
        if wide_first or base in _ACCUMULATED:
            fields["addend_half"] = 0
    return fields


def _conversion(name: str, sew: int) -> dict[str, int] | None:
    """The same of a conversion, such as VFNCVT_RTZ_X_F."""
    base, *parts = name.split("_")
    source, target = (sew + (base == wider) for wider in ("VFNCVT", "VFWCVT"))
    modes = {"toward_zero": int("RTZ" in parts), "to_odd": int("ROD" in parts)}
    to, origin = parts[-2:]
    widest = max(source, target)
    numbers = [width for kind, width in ((origin, source), (to, target)) if kind == "F"]
    if widest > 2 or any(width not in (1, 2) for width in numbers):
        return None
    fields = {
        **modes,
        "source_half": int(source == 1),
        "half": int(target == 1),
        "pairs": int(widest == 1),
        "vs2_dense": int(source < widest),
        "result_dense": int(target < widest),
        "is_signed": int("X" in (to, origin)),
    }
    if to == "F" and origin == "F":
        return {**fields, **_ALONE}
    if to == "F":
        return {**fields, "path": Path.INTEGER, "integer": source, "multiply": 1}
    simple = _S.TO_SIGNED if to == "X" else _S.TO_UNSIGNED
    return {**fields, "path": Path.SIMPLE, "simple": simple, "integer": target}


#: By operation and log2 of SEW in bytes, where there are such elements.
FLOAT_CONTROLS: Mapping[tuple[int, int], Mapping[str, int]] = {
    (int(operation), sew): fields
    for operation in FloatOperation
    for sew in range(3)
    if (fields := _controls(operation, sew)) is not None
}
