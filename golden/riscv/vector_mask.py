"""Vector mask instructions."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.riscv.trap import illegal
from fanweave.golden.riscv.vector_step import Step

__all__ = ["MASK"]

_LOGICAL: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "vmandn": lambda a, b: a & ~b,
    "vmand": lambda a, b: a & b,
    "vmor": lambda a, b: a | b,
    "vmxor": lambda a, b: a ^ b,
    "vmorn": lambda a, b: a | ~b,
    "vmnand": lambda a, b: ~(a & b),
    "vmnor": lambda a, b: ~(a | b),
    "vmxnor": lambda a, b: ~(a ^ b),
}


def _logical(step: Step) -> None:
    a, b = (step.vector.mask_bits(step.fields[name], step.vl) for name in ("vs2", "vs1"))
    step.write_mask(_LOGICAL[step.base](a, b))


def _whole(step: Step) -> np.ndarray:
    """Source bits that the mask lets through; the instruction cannot start in the middle."""
    if step.vector.vstart:
        raise illegal()
    return step.vector.mask_bits(step.fields["vs2"], step.vl) & step.active()


def _count(step: Step) -> None:
    step.hart.x[step.fields["rd"] or 32] = int(_whole(step).sum())


def _first(step: Step) -> None:
    found = np.flatnonzero(_whole(step))
    step.hart.x[step.fields["rd"] or 32] = int(found[0]) if found.size else 0xFFFFFFFF


def _around_first(step: Step) -> None:
    """Set before, only or including the first set bit."""
    bits = _whole(step)
    active = step.active()
    before = np.concatenate(([0], np.cumsum(bits)))[:-1] == 0
    result = {
        "vmsbf": before & ~bits,
        "vmsif": before,
        "vmsof": before & bits,
    }[step.base]
    step.vector.write_mask(step.vd, result, active)


def _iota(step: Step) -> None:
    """Number of set bits before each element."""
    bits = _whole(step)
    counts = np.concatenate(([0], np.cumsum(bits)))[:-1]
    step.write(counts.astype(step.old().dtype))


def _identity(step: Step) -> None:
    step.write(np.arange(step.vl).astype(step.old().dtype))


#: By mnemonic without operands' letters.
MASK: dict[str, Callable[[Step], None]] = {
    **dict.fromkeys(_LOGICAL, _logical),
    "vcpop": _count,
    "vfirst": _first,
    **dict.fromkeys(("vmsbf", "vmsif", "vmsof"), _around_first),
    "viota": _iota,
    "vid": _identity,
}
