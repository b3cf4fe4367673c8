"""The cluster's address space."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fanweave.golden.isa.cluster import REGIONS, Region, RegionName
from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.riscv.trap import EndError, TrapError

__all__ = ["Device", "Memory", "Part"]


class Device(Protocol):
    """Registers in the address space."""

    def read(self, address: int) -> int | None:
        """A word; None if there is no such register."""

    def write(self, address: int, value: int) -> bool:
        """Write a word; False if there is no such register."""


@dataclass(eq=False)
class Part:
    """A region with memory in it.

    Attributes
    ----------
    region : Region
        Where it is.
    data : ndarray, uint8
        Its bytes.
    views : dict of int to memoryview
        The same as numbers, by their bytes: 1, 2, 4.
    """

    region: Region
    data: np.ndarray
    views: dict[int, memoryview] = field(init=False)

    def __post_init__(self) -> None:
        raw = self.data.data.cast("B")
        self.views = {1: raw, 2: raw.cast("H"), 4: raw.cast("I")}


class Memory:
    """Memories and devices at their addresses.

    Parameters
    ----------
    devices : sequence of Device
        Asked in turn for addresses in the region of peripherals.

    Attributes
    ----------
    tohost : int or None
        Address of a word in memory whose write ends the run.
    """

    def __init__(self, devices: Sequence[Device] = ()) -> None:
        self._parts = [
            Part(region, np.zeros(region.size, np.uint8))
            for region in REGIONS
            if region.name is not RegionName.PERIPHERALS
        ]
        self._loadable = [part for part in self._parts if part.region.data]
        self._devices = tuple(devices)
        self._registers = next(r for r in REGIONS if r.name is RegionName.PERIPHERALS)
        self.tohost: int | None = None

    def part(self, name: RegionName) -> Part:
        """A region's memory."""
        return next(part for part in self._parts if part.region.name is name)

    def add_devices(self, devices: Sequence[Device]) -> None:
        """Add devices, such as those that need the memory themselves."""
        self._devices = (*self._devices, *devices)

    def load(self, address: int, size: int) -> int:
        """Number of 1, 2 or 4 bytes that a scalar load sees; unsigned.

        Raises
        ------
        TrapError
            If the address is not a multiple of the size, or nothing is there.
        """
        if address & size - 1:
            raise TrapError(Cause.LOAD_MISALIGNED, address)
        for part in self._loadable:
            region = part.region
            if region.base <= address < region.end:
                value: int = part.views[size][(address - region.base) // size]
                return value
        if size == 4 and self._registers.base <= address < self._registers.end:
            for device in self._devices:
                word = device.read(address)
                if word is not None:
                    return word
        raise TrapError(Cause.LOAD_FAULT, address)

    def store(self, address: int, size: int, value: int) -> None:
        """Write the low bytes of a number as a scalar store does.

        Raises
        ------
        TrapError
            As for `load`.
        EndError
            If that ends the run.
        """
        if address & size - 1:
            raise TrapError(Cause.STORE_MISALIGNED, address)
        for part in self._loadable:
            region = part.region
            if region.base <= address < region.end:
                part.views[size][(address - region.base) // size] = value & (1 << 8 * size) - 1
                if address == self.tohost and value & 1:
                    raise EndError(value >> 1)
                return
        if size == 4 and self._registers.base <= address < self._registers.end:
            for device in self._devices:
                if device.write(address, value):
                    return
        raise TrapError(Cause.STORE_FAULT, address)

    def span(self, address: int, size: int, dma: bool = False) -> np.ndarray | None:
        """Bytes of a stretch of memory, to read or to write; None if not all of it is there.

        Parameters
        ----------
        address, size : int
            First address and bytes.
        dma : bool
            Whether the DMA asks, and not a core.
        """
        for part in self._parts:
            region = part.region
            reaches = region.dma if dma else region.data
            if reaches and region.base <= address and address + size <= region.end:
                start = address - region.base
                return part.data[start : start + size]
        return None

    def fetch(self, address: int) -> int:
        """Instruction at an address.

        Raises
        ------
        TrapError
            If none can be fetched from there.
        """
        if address & 3:
            raise TrapError(Cause.FETCH_MISALIGNED, address)
        for part in self._parts:
            region = part.region
            if region.fetch and region.base <= address < region.end:
                word: int = part.views[4][(address - region.base) // 4]
                return word
        raise TrapError(Cause.FETCH_FAULT, address)
