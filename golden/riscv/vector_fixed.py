"""Vector fixed-point arithmetic: saturation and rounded shifts."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.riscv.vector_step import Step, narrow, signed, wide

__all__ = ["FIXED"]


def _rounded(values: np.ndarray, amount: np.ndarray, mode: int) -> np.ndarray:
    """Wide numbers, shifted right and rounded by ``vxrm``."""
    shifted = values >> amount
    rest = values - (shifted << amount)
    half = np.where(amount > 0, 1 << np.maximum(amount - 1, 0), 0)
    odd = (shifted & 1) == 1
    if mode == 0:
        up = (rest >= half) & (amount > 0)
    elif mode == 1:
        up = (rest > half) | ((rest == half) & odd & (amount > 0))
    elif mode == 2:
        return shifted
    else:
        up = (rest != 0) & ~odd
    return shifted + up.astype(bool).astype(np.int64)


def _clip(step: Step, values: np.ndarray, is_signed: bool) -> None:
    """Write wide numbers, the nearest ones that fit."""
    bits = step.sew
    least = -(1 << bits - 1) if is_signed else 0
    most = (1 << bits - 1) - 1 if is_signed else (1 << bits) - 1
    low, high = values < least, values > most
    step.saturate(low.astype(bool) | high.astype(bool))
    step.write(narrow(np.where(low, least, np.where(high, most, values)), bits))


def _operands(step: Step, is_signed: bool) -> tuple[np.ndarray, np.ndarray]:
    a, b = step.vs2(), step.first()
    return (wide(signed(a)), wide(signed(b))) if is_signed else (wide(a), wide(b))


def _saturating(step: Step) -> None:
    is_signed = not step.base.endswith("u")
    a, b = _operands(step, is_signed)
    _clip(step, a + b if step.base.startswith("vsadd") else a - b, is_signed)


def _averaging(step: Step) -> None:
    a, b = _operands(step, not step.base.endswith("u"))
    total = a + b if step.base.startswith("vaadd") else a - b
    one = np.ones(step.vl, dtype=total.dtype)
    step.write(narrow(_rounded(total, one, step.vector.vxrm), step.sew))


def _fractional(step: Step) -> None:
    a, b = _operands(step, True)
    amount = np.full(step.vl, step.sew - 1, dtype=a.dtype)
    _clip(step, _rounded(a * b, amount, step.vector.vxrm), True)


def _shift(step: Step) -> None:
    a = step.vs2()
    amount = wide(step.first() & a.dtype.type(step.sew - 1))
    source = wide(a) if step.base == "vssrl" else wide(signed(a))
    step.write(narrow(_rounded(source, amount, step.vector.vxrm), step.sew))


def _narrowing_clip(step: Step) -> None:
    is_signed = step.base == "vnclip"
    a = step.vs2(2 * step.sew)
    source = wide(signed(a) if is_signed else a)
    amount = step.first().astype(np.int64) & 2 * step.sew - 1
    _clip(step, _rounded(source, amount.astype(source.dtype), step.vector.vxrm), is_signed)


#: By mnemonic without operands' letters.
FIXED: dict[str, Callable[[Step], None]] = {
    **dict.fromkeys(("vsaddu", "vsadd", "vssubu", "vssub"), _saturating),
    **dict.fromkeys(("vaaddu", "vaadd", "vasubu", "vasub"), _averaging),
    "vsmul": _fractional,
    **dict.fromkeys(("vssrl", "vssra"), _shift),
    **dict.fromkeys(("vnclipu", "vnclip"), _narrowing_clip),
}
