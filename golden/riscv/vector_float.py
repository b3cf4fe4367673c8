"""Vector floating-point arithmetic, through `fanweave.golden.fp.instructions`."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.fp.instructions.compute import compute_array
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.riscv_csr import RoundingMode
from fanweave.golden.riscv.vector_step import Step, narrow, signed

__all__ = ["FLOAT", "kind_of_bits", "run_operation"]

#: Rounding to odd, beyond the architecture's modes.
_TO_ODD = 6
_O = Operation


def kind_of_bits(bits: int) -> int:
    """Element format of a width."""
    return int(ElementFormat.FP16 if bits == 16 else ElementFormat.FP32)


def run_operation(
    step: Step,
    operation: Operation,
    operands: tuple[np.ndarray, ...],
    widths: tuple[int, int, int],
    mode: int,
    active: np.ndarray | None = None,
    bits: int = 32,
) -> np.ndarray:
    """Compute an operation on arrays and raise its flags.

    Parameters
    ----------
    step : Step
        The instruction.
    operation : Operation
        What is done.
    operands : tuple of ndarray
        a and, if used, b and c.
    widths : (int, int, int)
        Bits of a, of b, and of the result and c.
    mode : int
        Rounding mode.
    active : ndarray, bool, or None
        Elements that are computed; None for the instruction's.
    bits : int
        Width of an integer result.

    Returns
    -------
    ndarray, int64
        Results; zero where inactive.
    """
    chosen = step.active() if active is None else active
    a, b, c = (np.ascontiguousarray(v, dtype=np.int64) for v in (operands * 3)[:3])
    out = np.zeros(a.shape[0], np.int64)
    kinds = (kind_of_bits(width) for width in widths)
    flags = compute_array(int(operation), a, b, c, chosen, out, *kinds, mode, bits)
    step.hart.fflags |= int(flags)
    return out


def _mode(step: Step) -> int:
    return step.hart.csrs.rounding(RoundingMode.DYN)


def _flip(values: np.ndarray, condition: bool) -> np.ndarray:
    """Change signs."""
    bits = 8 * values.dtype.itemsize
    return values ^ values.dtype.type(1 << bits - 1) if condition else values


_BINARY = {
    "vfadd": _O.ADD,
    "vfsub": _O.SUB,
    "vfrsub": _O.SUB,
    "vfmul": _O.MUL,
    "vfdiv": _O.DIV,
    "vfrdiv": _O.DIV,
    "vfmin": _O.MIN,
    "vfmax": _O.MAX,
}
_SWAPPED = frozenset({"vfrsub", "vfrdiv", "vmfgt", "vmfge"})
_COMPARE = {
    "vmfeq": _O.EQ,
    "vmfne": _O.EQ,
    "vmflt": _O.LT,
    "vmfle": _O.LE,
    "vmfgt": _O.LT,
    "vmfge": _O.LE,
}
_WIDENING = {"vfwadd": _O.ADD, "vfwsub": _O.SUB, "vfwmul": _O.MUL}
#: Whether the product and the addend change their signs.
_FUSED = {"macc": (False, False), "nmacc": (True, True), "msac": (False, True)}
_FUSED |= {"nmsac": (True, False), "madd": (False, False), "nmadd": (True, True)}
_FUSED |= {"msub": (False, True), "nmsub": (True, False)}


def _pair(step: Step) -> tuple[np.ndarray, np.ndarray]:
    a, b = step.vs2(), step.first()
    return (b, a) if step.base in _SWAPPED else (a, b)


def _binary(step: Step) -> None:
    sew = step.sew
    result = run_operation(step, _BINARY[step.base], _pair(step), (sew, sew, sew), _mode(step))
    step.write(narrow(result, sew))


def _compare(step: Step) -> None:
    sew = step.sew
    _mode(step)  # an illegal dynamic mode traps, used or not
    result = run_operation(step, _COMPARE[step.base], _pair(step), (sew, sew, sew), 0) != 0
    step.write_mask(~result if step.base == "vmfne" else result)


def _sign(step: Step) -> None:
    a, b = step.vs2(), step.first()
    _mode(step)
    top = a.dtype.type(1 << step.sew - 1)
    source = {"vfsgnj": b, "vfsgnjn": ~b, "vfsgnjx": a ^ b}[step.base]
    step.write((a & ~top) | (source & top))


def _widening(step: Step) -> None:
    sew = step.sew
    first_wide = step.kind.name.split(".")[1].startswith("w")
    a = step.vs2(2 * sew if first_wide else sew)
    widths = (2 * sew if first_wide else sew, sew, 2 * sew)
    result = run_operation(step, _WIDENING[step.base], (a, step.first()), widths, _mode(step))
    step.write(narrow(result, 2 * sew), 2 * sew)


def _fused(step: Step) -> None:
    """The product is of the first source, and of vs2 or the old destination."""
    name = step.base.removeprefix("vfw").removeprefix("vf")
    target = 2 * step.sew if step.base.startswith("vfw") else step.sew
    product, addend = _FUSED[name]
    old = step.old(target)
    factor, third = (step.vs2(), old) if name.endswith(("ac", "acc")) else (
        old, step.vs2())  # fmt: skip
    operands = (_flip(step.first(), product), factor, _flip(third, addend))
    result = run_operation(step, _O.FMA, operands, (step.sew, step.sew, target), _mode(step))
    step.write(narrow(result, target), target)


_UNARY = {
    "vfsqrt": _O.SQRT,
    "vfrsqrt7": _O.RECIPROCAL_ROOT_7,
    "vfrec7": _O.RECIPROCAL_7,
    "vfclass": _O.CLASS,
}


def _unary(step: Step) -> None:
    sew = step.sew
    widths = (sew, sew, sew)
    result = run_operation(step, _UNARY[step.base], (step.vs2(),), widths, _mode(step))
    step.write(narrow(result, sew))


def _convert(step: Step) -> None:
    """Conversions; the name says from what to what, such as ``vfncvt.rtz.x.f.w``."""
    parts = step.kind.name.split(".")[1:-1]
    mode = _mode(step)
    if parts[0] in ("rtz", "rod"):
        mode = RoundingMode.RTZ if parts.pop(0) == "rtz" else _TO_ODD
    target, source = parts
    from_bits = 2 * step.sew if step.base == "vfncvt" else step.sew
    to_bits = 2 * step.sew if step.base == "vfwcvt" else step.sew
    a = step.vs2(from_bits)
    if source == "f" and target == "f":
        operation = _O.CONVERT
    elif target == "f":
        operation = _O.FROM_SIGNED if source == "x" else _O.FROM_UNSIGNED
        a = signed(a) if source == "x" else a
    else:
        operation = _O.TO_SIGNED if target == "x" else _O.TO_UNSIGNED
    widths = (from_bits, from_bits, to_bits)
    result = run_operation(step, operation, (a,), widths, mode, bits=to_bits)
    step.write(narrow(result, to_bits), to_bits)


#: By mnemonic without operands' letters.
FLOAT: dict[str, Callable[[Step], None]] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_COMPARE, _compare),
    **dict.fromkeys(("vfsgnj", "vfsgnjn", "vfsgnjx"), _sign),
    **dict.fromkeys(_WIDENING, _widening),
    **dict.fromkeys((f"vf{name}" for name in _FUSED), _fused),
    **dict.fromkeys((f"vfw{name}" for name in ("macc", "nmacc", "msac", "nmsac")), _fused),
    **dict.fromkeys(_UNARY, _unary),
    **dict.fromkeys(("vfcvt", "vfwcvt", "vfncvt"), _convert),
}
