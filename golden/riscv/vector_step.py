"""One vector instruction on its way: operands as arrays, results back into registers."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fanweave.golden.isa.riscv_encoding import InstructionKind
from fanweave.golden.riscv.scalar_float import unbox_half

if TYPE_CHECKING:
    from fanweave.golden.riscv.hart import Hart

__all__ = ["Step", "narrow", "signed", "wide"]

_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def signed(values: np.ndarray) -> np.ndarray:
    """The same bits as signed numbers."""
    return values.view(_SIGNED[values.dtype.itemsize])


def wide(values: np.ndarray) -> np.ndarray:
    """Numbers that products and sums do not overflow: int64, or Python's for 64 bits."""
    return values.astype(object if values.dtype.itemsize == 8 else np.int64)


def narrow(values: np.ndarray, bits: int) -> np.ndarray:
    """Low bits of wide numbers, unsigned."""
    mask = (1 << bits) - 1
    if values.dtype == object:
        return np.array([int(value) & mask for value in values], dtype=_UNSIGNED[bits])
    return values.astype(_UNSIGNED[bits])


class Step:
    """Operands and results of an instruction.

    Parameters
    ----------
    hart : Hart
        Who executes it.
    kind : InstructionKind
        Its row.
    fields : dict of str to int
        Its fields.

    Attributes
    ----------
    base : str
        Mnemonic without the letters of its operands, such as ``vadd``.
    vd, vm : int
        Fields; vm is 1 where there is none.
    """

    def __init__(self, hart: "Hart", kind: InstructionKind, fields: dict[str, int]) -> None:
        self.hart = hart
        self.vector = hart.vector
        self.kind = kind
        self.fields = fields
        self.base = kind.name.split(".")[0]
        self.vd = fields.get("vd", 0)
        self.vm = fields.get("vm", 1)

    @property
    def sew(self) -> int:
        """Bits of an element."""
        return self.vector.sew

    @property
    def vl(self) -> int:
        """Elements."""
        return self.vector.vl

    def active(self) -> np.ndarray:
        """Elements that are worked on; bool [vl]."""
        return self.vector.active(self.vm)

    def vs2(self, bits: int | None = None) -> np.ndarray:
        """Second source; a view."""
        return self.vector.group(self.fields["vs2"], bits or self.sew, self.vl)

    def old(self, bits: int | None = None) -> np.ndarray:
        """The destination before; a view."""
        return self.vector.group(self.vd, bits or self.sew, self.vl)

    def scalar(self, bits: int | None = None) -> int | None:
        """The scalar operand, cut to an element; None if the first source is a vector."""
        width = bits or self.sew
        fields = self.fields
        if "rs1" in fields:
            value = (self.hart.x[fields["rs1"]] ^ 1 << 31) - (1 << 31)
        elif "fs1" in fields:
            number = self.hart.f[fields["fs1"]]
            value = unbox_half(number) if width == 16 else number
        elif "simm" in fields:
            value = fields["simm"]
        elif "uimm" in fields:
            value = fields["uimm"]
        else:
            return None
        return value & (1 << width) - 1

    def first(self, bits: int | None = None) -> np.ndarray:
        """First source, a vector or a scalar as one."""
        width = bits or self.sew
        scalar = self.scalar(width)
        if scalar is None:
            return self.vector.group(self.fields["vs1"], width, self.vl)
        return np.full(self.vl, scalar, dtype=_UNSIGNED[width])

    @cached_property
    def multiplier_is_scalar(self) -> bool:
        """Whether the first source is a scalar."""
        return "vs1" not in self.fields

    def write(self, values: np.ndarray, bits: int | None = None) -> None:
        """Write active elements of the destination."""
        self.vector.write(self.vd, bits or self.sew, values, self.active())

    def write_mask(self, values: np.ndarray) -> None:
        """Write active bits of a destination that is a mask."""
        self.vector.write_mask(self.vd, values, self.active())

    def saturate(self, condition: np.ndarray) -> None:
        """Note that active elements have saturated."""
        if bool((condition & self.active()).any()):
            self.vector.vxsat = 1
