"""Vector integer arithmetic."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.riscv.vector_step import Step, narrow, signed, wide

__all__ = ["INTEGER"]

_Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _amount(b: np.ndarray) -> np.ndarray:
    """Shift amounts: the low bits."""
    return b & b.dtype.type(8 * b.dtype.itemsize - 1)


def _high(a: np.ndarray, b: np.ndarray, bits: int) -> np.ndarray:
    """Upper half of products of wide numbers."""
    return narrow(a * b >> bits, bits)


def _high_unsigned(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    bits = 8 * a.dtype.itemsize
    if bits == 64:
        return _high(wide(a), wide(b), bits)
    return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(bits)).astype(a.dtype)


def _quotients(a: np.ndarray, b: np.ndarray, is_signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Quotients toward zero and remainders, as the architecture defines them for zero."""
    x, y = (wide(signed(v) if is_signed else v) for v in (a, b))
    zero = y == 0
    divisor = np.where(zero, 1, y)
    magnitude = abs(x) // abs(divisor)
    quotient = np.where((x < 0) != (divisor < 0), -magnitude, magnitude)
    remainder = x - quotient * divisor
    bits = 8 * a.dtype.itemsize
    return (
        narrow(np.where(zero, -1, quotient), bits),
        narrow(np.where(zero, x, remainder), bits),
    )


#: vs2 and the first source to vd, all of SEW.
_SINGLE: dict[str, _Binary] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vrsub": lambda a, b: b - a,
    "vminu": np.minimum,
    "vmin": lambda a, b: np.minimum(signed(a), signed(b)).view(a.dtype),
    "vmaxu": np.maximum,
    "vmax": lambda a, b: np.maximum(signed(a), signed(b)).view(a.dtype),
    "vand": lambda a, b: a & b,
    "vor": lambda a, b: a | b,
    "vxor": lambda a, b: a ^ b,
    "vsll": lambda a, b: a << _amount(b),
    "vsrl": lambda a, b: a >> _amount(b),
    "vsra": lambda a, b: (signed(a) >> signed(_amount(b))).view(a.dtype),
    "vdivu": lambda a, b: _quotients(a, b, False)[0],
    "vdiv": lambda a, b: _quotients(a, b, True)[0],
    "vremu": lambda a, b: _quotients(a, b, False)[1],
    "vrem": lambda a, b: _quotients(a, b, True)[1],
    "vmul": lambda a, b: a * b,
    "vmulhu": _high_unsigned,
    "vmulhsu": lambda a, b: _high(wide(signed(a)), wide(b), 8 * a.dtype.itemsize),
    "vmulh": lambda a, b: _high(wide(signed(a)), wide(signed(b)), 8 * a.dtype.itemsize),
}
_COMPARE: dict[str, _Binary] = {
    "vmseq": lambda a, b: a == b,
    "vmsne": lambda a, b: a != b,
    "vmsltu": lambda a, b: a < b,
    "vmslt": lambda a, b: signed(a) < signed(b),
    "vmsleu": lambda a, b: a <= b,
    "vmsle": lambda a, b: signed(a) <= signed(b),
    "vmsgtu": lambda a, b: a > b,
    "vmsgt": lambda a, b: signed(a) > signed(b),
}
#: (product or sum, whether vs2 and the first source are signed)
_WIDENING: dict[str, tuple[_Binary, bool, bool]] = {
    "vwaddu": (lambda a, b: a + b, False, False),
    "vwadd": (lambda a, b: a + b, True, True),
    "vwsubu": (lambda a, b: a - b, False, False),
    "vwsub": (lambda a, b: a - b, True, True),
    "vwmulu": (lambda a, b: a * b, False, False),
    "vwmulsu": (lambda a, b: a * b, True, False),
    "vwmul": (lambda a, b: a * b, True, True),
}
#: Whether vs2 and the first source are signed.
_WIDENING_ACCUMULATE = {
    "vwmaccu": (False, False),
    "vwmacc": (True, True),
    "vwmaccus": (True, False),
    "vwmaccsu": (False, True),
}


def _single(step: Step) -> None:
    step.write(_SINGLE[step.base](step.vs2(), step.first()))


def _compare(step: Step) -> None:
    step.write_mask(np.asarray(_COMPARE[step.base](step.vs2(), step.first())))


def _extended(values: np.ndarray, is_signed: bool) -> np.ndarray:
    """Elements of twice the width."""
    double = np.dtype(f"u{2 * values.dtype.itemsize}")
    source = signed(values) if is_signed else values
    return source.astype(np.dtype(f"i{double.itemsize}")).view(double)


def _widening(step: Step) -> None:
    operation, vs2_signed, first_signed = _WIDENING[step.base]
    bits = 2 * step.sew
    if step.kind.name.split(".")[1].startswith("w"):
        a = step.vs2(bits)
    else:
        a = _extended(step.vs2(), vs2_signed)
    step.write(operation(a, _extended(step.first(), first_signed)), bits)


def _accumulate(step: Step) -> None:
    a, b, d = step.vs2(), step.first(), step.old()
    result = {
        "vmacc": lambda: b * a + d,
        "vnmsac": lambda: d - b * a,
        "vmadd": lambda: b * d + a,
        "vnmsub": lambda: a - b * d,
    }[step.base]()
    step.write(result)


def _widening_accumulate(step: Step) -> None:
    vs2_signed, first_signed = _WIDENING_ACCUMULATE[step.base]
    bits = 2 * step.sew
    product = _extended(step.vs2(), vs2_signed) * _extended(step.first(), first_signed)
    step.write(step.old(bits) + product, bits)


def _narrowing_shift(step: Step) -> None:
    a = step.vs2(2 * step.sew)
    b = _amount(step.first().astype(a.dtype))
    shifted = a >> b if step.base == "vnsrl" else (signed(a) >> signed(b)).view(a.dtype)
    step.write(narrow(shifted, step.sew))


def _carry(step: Step) -> np.ndarray:
    """The mask as carries, or none."""
    if step.kind.name.endswith("m") and step.kind.name.split(".")[1].endswith("m"):
        return step.vector.mask_bits(0, step.vl)
    return np.zeros(step.vl, bool)


def _with_carry(step: Step) -> None:
    a, b, carry = step.vs2(), step.first(), _carry(step)
    added = carry.astype(a.dtype)
    match step.base:
        case "vadc":
            step.write(a + b + added)
        case "vsbc":
            step.write(a - b - added)
        case "vmadc":
            total = a + b
            step.write_mask(
                (total < a) | (carry & (total == total.dtype.type(-1 % (1 << step.sew))))
            )
        case _:
            step.write_mask((a < b) | (carry & (a == b)))


def _merge(step: Step) -> None:
    step.write(np.where(step.vector.mask_bits(0, step.vl), step.first(), step.vs2()))


def _extend(step: Step) -> None:
    """Zero and sign extension from a half or a quarter."""
    bits = step.sew // int(step.kind.name[-1])
    source = step.vs2(bits)
    target = np.dtype(f"u{step.sew // 8}")
    if step.base == "vzext":
        step.write(source.astype(target))
    else:
        step.write(signed(source).astype(np.dtype(f"i{step.sew // 8}")).view(target))


#: By mnemonic without operands' letters.
INTEGER: dict[str, Callable[[Step], None]] = {
    **dict.fromkeys(_SINGLE, _single),
    **dict.fromkeys(_COMPARE, _compare),
    **dict.fromkeys(_WIDENING, _widening),
    **dict.fromkeys(_WIDENING_ACCUMULATE, _widening_accumulate),
    **dict.fromkeys(("vmacc", "vnmsac", "vmadd", "vnmsub"), _accumulate),
    **dict.fromkeys(("vnsrl", "vnsra"), _narrowing_shift),
    **dict.fromkeys(("vadc", "vmadc", "vsbc", "vmsbc"), _with_carry),
    **dict.fromkeys(("vmerge", "vfmerge"), _merge),
    **dict.fromkeys(("vzext", "vsext"), _extend),
}
