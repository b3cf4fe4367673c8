"""Vector reductions; floating-point sums go through the elements in their order."""

from collections.abc import Callable

import numpy as np

from fanweave.golden.fp.instructions.compute import compute
from fanweave.golden.fp.instructions.operation import Operation
from fanweave.golden.isa.riscv_csr import RoundingMode
from fanweave.golden.riscv.trap import illegal
from fanweave.golden.riscv.vector_float import kind_of_bits
from fanweave.golden.riscv.vector_step import Step, signed

__all__ = ["REDUCE"]


def _ordered(values: np.ndarray, function: np.ufunc, is_signed: bool) -> int:
    source = signed(values) if is_signed else values
    return int(function.reduce(source))


_INTEGER: dict[str, Callable[[np.ndarray], int]] = {
    "vredsum": lambda v: int(np.add.reduce(v, dtype=np.uint64)),
    "vredand": lambda v: _ordered(v, np.bitwise_and, False),
    "vredor": lambda v: _ordered(v, np.bitwise_or, False),
    "vredxor": lambda v: _ordered(v, np.bitwise_xor, False),
    "vredminu": lambda v: _ordered(v, np.minimum, False),
    "vredmin": lambda v: _ordered(v, np.minimum, True),
    "vredmaxu": lambda v: _ordered(v, np.maximum, False),
    "vredmax": lambda v: _ordered(v, np.maximum, True),
}
_FLOAT = {
    "vfredusum": Operation.ADD,
    "vfredosum": Operation.ADD,
    "vfredmin": Operation.MIN,
    "vfredmax": Operation.MAX,
    "vfwredusum": Operation.ADD,
    "vfwredosum": Operation.ADD,
}


def _begin(step: Step) -> bool:
    """Whether there is anything to do."""
    if step.vector.vstart:
        raise illegal()
    return step.vl > 0


def _finish(step: Step, value: int, bits: int) -> None:
    target = step.vector.group(step.vd, bits, 1)
    target[0] = value & (1 << bits) - 1
    if step.vector.tail_ones:
        size = step.vector.config.vlen // bits
        rest = step.vector.group(step.vd, bits, size)[1:]
        rest[:] = np.iinfo(rest.dtype).max


def _start(step: Step, bits: int) -> np.ndarray:
    return step.vector.group(step.fields["vs1"], bits, 1)


def _integer(step: Step) -> None:
    if _begin(step):
        values = np.concatenate((_start(step, step.sew), step.vs2()[step.active()]))
        _finish(step, _INTEGER[step.base](values), step.sew)


def _widening_sum(step: Step) -> None:
    if not _begin(step):
        return
    bits = 2 * step.sew
    source = step.vs2()[step.active()]
    if step.base == "vwredsum":
        source = signed(source)
    total = int(source.astype(np.int64).sum()) + int(_start(step, bits)[0])
    _finish(step, total, bits)


def _float(step: Step) -> None:
    mode = step.hart.csrs.rounding(RoundingMode.DYN)
    if not _begin(step):
        return
    bits = 2 * step.sew if step.base.startswith("vfw") else step.sew
    operation = int(_FLOAT[step.base])
    source, target = kind_of_bits(step.sew), kind_of_bits(bits)
    total, raised = int(_start(step, bits)[0]), 0
    for value in step.vs2()[step.active()].tolist():
        result, flags = compute(operation, total, value, 0, target, source, target, mode, 32)
        total, raised = int(result), raised | int(flags)
    step.hart.fflags |= raised
    _finish(step, total, bits)


#: By mnemonic without operands' letters.
REDUCE: dict[str, Callable[[Step], None]] = {
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(("vwredsumu", "vwredsum"), _widening_sum),
    **dict.fromkeys(_FLOAT, _float),
}
