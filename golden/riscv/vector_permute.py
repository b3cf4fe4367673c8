"""Vector moves, slides, gathers and compress."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.riscv.trap import illegal
from fanweave.golden.riscv.vector_step import Step

__all__ = ["PERMUTE", "WHOLE_MOVES"]

_BOX = 0xFFFF0000


def _index(step: Step) -> int:
    """A scalar index or offset, unsigned."""
    if "uimm" in step.fields:
        return step.fields["uimm"]
    return step.hart.x[step.fields["rs1"]]


def _slide_up(step: Step) -> None:
    offset = min(_index(step), step.vl)
    source = step.vs2().copy()
    moved = step.old().copy()
    moved[offset:] = source[: step.vl - offset]
    active = step.active()
    active[:offset] = False
    step.vector.write(step.vd, step.sew, moved, active)


def _taken(step: Step, positions: np.ndarray) -> np.ndarray:
    """Elements of vs2's whole group at positions; zero beyond VLMAX."""
    vlmax = step.vector.vlmax
    group = step.vector.group(step.fields["vs2"], step.sew, vlmax)
    inside = positions < vlmax
    return np.where(inside, group[np.where(inside, positions, 0)], group.dtype.type(0))


def _slide_down(step: Step) -> None:
    step.write(_taken(step, np.arange(step.vl) + _index(step)))


def _slide_one(step: Step) -> None:
    """Slide by one; the scalar comes in at the end."""
    scalar = step.scalar()
    source = step.vs2()
    moved = np.empty_like(source)
    if step.vl:
        if step.base.endswith("up"):
            moved[1:], moved[0] = source[:-1], scalar
        else:
            moved[:-1], moved[-1] = source[1:], scalar
    step.write(moved)


def _gather(step: Step) -> None:
    if step.multiplier_is_scalar:
        positions = np.full(step.vl, _index(step), np.int64)
    else:
        bits = 16 if step.base == "vrgatherei16" else step.sew
        positions = step.vector.group(step.fields["vs1"], bits, step.vl)
    if positions.dtype == np.uint64:
        positions = np.minimum(positions, np.uint64(1 << 62))
    step.write(_taken(step, positions.astype(np.int64)))


def _compress(step: Step) -> None:
    if step.vector.vstart:
        raise illegal()
    kept = step.vs2()[step.vector.mask_bits(step.fields["vs1"], step.vl)]
    target = step.vector.group(step.vd, step.sew, kept.shape[0])
    target[:] = kept
    if step.vl:
        step.vector.fill_tail(step.vd, step.sew, kept.shape[0])


def _move(step: Step) -> None:
    step.write(step.first())


def _to_scalar(step: Step) -> None:
    """Element 0 to a register, whatever vl is."""
    value = int(step.vector.group(step.fields["vs2"], step.sew, 1)[0])
    if "fd" in step.fields:
        step.hart.f[step.fields["fd"]] = value | (_BOX if step.sew == 16 else 0)
        return
    if step.sew < 32 and value >> step.sew - 1:
        value -= 1 << step.sew
    step.hart.x[step.fields["rd"] or 32] = value & 0xFFFFFFFF


def _from_scalar(step: Step) -> None:
    """A register to element 0, unless there is none."""
    if step.vector.vstart < step.vl:
        target = step.vector.group(step.vd, step.sew, 1)
        target[0] = step.scalar()
        step.vector.fill_tail(step.vd, step.sew, 1)


def _move_registers(step: Step) -> None:
    """Whole registers; vstart counts elements of SEW."""
    size = step.vector.config.register_bytes * int(step.base[3])
    skipped = min(step.vector.vstart * step.sew // 8, size)
    source, target = (step.vector.group(step.fields[n], 8, size) for n in ("vs2", "vd"))
    target[skipped:] = source[skipped:].copy()


#: vmv1r and its like, which do not look at vtype.
WHOLE_MOVES: dict[str, Callable[[Step], None]] = {
    f"vmv{count}r.v": _move_registers for count in (1, 2, 4, 8)
}

#: By whole mnemonic, then by mnemonic without operands' letters.
PERMUTE: dict[str, Callable[[Step], None]] = {
    "vmv.x.s": _to_scalar,
    "vfmv.f.s": _to_scalar,
    "vmv.s.x": _from_scalar,
    "vfmv.s.f": _from_scalar,
    "vmv.v.v": _move,
    "vmv.v.x": _move,
    "vmv.v.i": _move,
    "vfmv.v.f": _move,
    "vslideup": _slide_up,
    "vslidedown": _slide_down,
    **dict.fromkeys(("vslide1up", "vslide1down", "vfslide1up", "vfslide1down"), _slide_one),
    **dict.fromkeys(("vrgather", "vrgatherei16"), _gather),
    "vcompress": _compress,
}
