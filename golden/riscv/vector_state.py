"""Vector registers, vtype, and how elements are read and written."""

import numpy as np

from fanweave.golden.riscv.config import CoreConfig

__all__ = ["VectorState"]

_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_ALL = np.iinfo(np.uint64).max


class VectorState:
    """Registers and CSRs of the vector unit.

    Attributes
    ----------
    bytes : ndarray, uint8
        All registers, one behind the other.
    vtype, vl, vstart, vxsat, vxrm : int
        The CSRs.
    sew : int
        Bits of an element.
    lmul8 : int
        Eight times LMUL: 1 to 64.
    illegal : bool
        ``vill``.
    """

    def __init__(self, config: CoreConfig) -> None:
        self.config = config
        self.bytes = np.zeros(32 * config.register_bytes, np.uint8)
        self._views = {bits: self.bytes.view(dtype) for bits, dtype in _UNSIGNED.items()}
        self._numbers = np.arange(config.vlen)
        self.vl = self.vstart = self.vxsat = self.vxrm = 0
        self.set_vtype(1 << 31)

    def set_vtype(self, value: int) -> int:
        """Take a vtype as `vsetvl` does; returns VLMAX, 0 if it is not supported."""
        lmul8 = {0: 8, 1: 16, 2: 32, 3: 64, 5: 1, 6: 2, 7: 4}.get(value & 7, 0)
        sew = 8 << (value >> 3 & 7)
        # The longest group of the widest elements must hold one.
        legal = value >> 8 == 0 and sew <= self.config.elen and sew * 8 <= lmul8 * self.config.elen
        self.illegal = not legal
        self.vtype = value if legal else 1 << 31
        self.sew, self.lmul8 = (sew, lmul8) if legal else (8, 8)
        self.tail_ones = legal and bool(value & 0x40) and self.config.agnostic_ones
        self.mask_ones = legal and bool(value & 0x80) and self.config.agnostic_ones
        return self.vlmax if legal else 0

    @property
    def vlmax(self) -> int:
        """Elements of a register group."""
        return self.config.vlen * self.lmul8 // (8 * self.sew)

    def group(self, register: int, eew: int, count: int) -> np.ndarray:
        """Elements of a register group, unsigned, to read or to write.

        Parameters
        ----------
        register : int
            First register.
        eew : int
            Bits of an element.
        count : int
            Number of elements from the first.
        """
        start = register * self.config.vlen // eew
        return self._views[eew][start : start + count]

    def mask_bits(self, register: int, count: int) -> np.ndarray:
        """First bits of a mask register; bool [count]."""
        size = self.config.register_bytes
        raw = self.bytes[register * size : register * size + (count + 7) // 8]
        return np.unpackbits(raw, count=count, bitorder="little").view(bool)

    def active(self, vm: int, count: int | None = None) -> np.ndarray:
        """Elements from vstart on that the mask lets through; bool [vl] or [count]."""
        length = self.vl if count is None else count
        if vm:
            if self.vstart == 0:
                return np.ones(length, bool)
            return self._numbers[:length] >= self.vstart
        bits = self.mask_bits(0, length)
        if self.vstart:
            bits = bits & (self._numbers[:length] >= self.vstart)
        return bits

    def write(self, register: int, eew: int, values: np.ndarray, active: np.ndarray) -> None:
        """Write elements of a group where they are active; the others follow vtype's policies.

        Parameters
        ----------
        register, eew : int
            First register and bits of an element.
        values : ndarray, unsigned [n]
            The body's elements, n = vl.
        active : ndarray, bool [n]
            As from `active`.
        """
        target = self.group(register, eew, values.shape[0])
        np.copyto(target, values, where=active, casting="unsafe")
        if self.mask_ones and not active.all():
            inactive = ~active
            inactive[: self.vstart] = False
            target[inactive] = _ALL >> np.uint64(64 - eew)
        self.fill_tail(register, eew, values.shape[0])

    def fill_tail(self, register: int, eew: int, count: int) -> None:
        """Apply the tail policy behind `count` elements of a group of EMUL = EEW / SEW * LMUL."""
        if not self.tail_ones or self.vstart >= self.vl:
            return
        group = self.group(register, eew, max(self.vlmax, self.config.vlen // eew))
        group[count:] = _ALL >> np.uint64(64 - eew)

    def write_mask(self, register: int, values: np.ndarray, active: np.ndarray) -> None:
        """Write bits of a mask register where they are active; the others stay.

        Parameters
        ----------
        register : int
            The register.
        values, active : ndarray, bool [n]
            Bits, and which of them are written.
        """
        count = values.shape[0]
        size = self.config.register_bytes
        raw = self.bytes[register * size : (register + 1) * size]
        bits = np.unpackbits(raw, bitorder="little").view(bool)
        np.copyto(bits[:count], values, where=active)
        if self.mask_ones:
            bits[self.vstart : count][~active[self.vstart :]] = True
        if self.config.agnostic_ones and self.vstart < self.vl:
            bits[count:] = True  # the tail of a mask is always agnostic
        raw[:] = np.packbits(bits.view(np.uint8), bitorder="little")
