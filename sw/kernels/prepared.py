"""Programs with their data, for any engine that keeps memory."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.riscv.program import Program, Segment

__all__ = ["ALIGNMENT", "PreparedRun", "Space", "heap", "outer_memory", "with_data"]

#: Every array begins at a multiple of so many bytes, those of a beat of the DMA.
ALIGNMENT = 64
_OUTER = next(region for region in REGIONS if region.name is RegionName.OUTER)


class Space:
    """Places in a memory, one behind the other.

    Parameters
    ----------
    base, end : int
        First address, and first one behind it.
    name : str
        What it is, for messages.

    Attributes
    ----------
    segments : list of Segment
        What was put into it.
    """

    def __init__(self, base: int, end: int, name: str) -> None:
        self._base, self._next, self._end, self._name = base, base, end, name
        self.segments: list[Segment] = []

    def reserve(self, size: int) -> int:
        """A place of so many bytes.

        Raises
        ------
        InputError
            If there is no room.
        """
        address = -(-self._next // ALIGNMENT) * ALIGNMENT
        if address + size > self._end:
            raise InputError(
                f"the data take {address + size - self._base} bytes or more; the {self._name} has "
                f"{self._end - self._base}"
            )
        self._next = address + size
        return address

    def put(self, data: bytes) -> int:
        """A place with these contents."""
        address = self.reserve(len(data))
        self.segments.append(Segment(address=address, data=data, size=len(data)))
        return address

    def table(self, blocks: list[bytes]) -> bytes:
        """Put blocks; returns their addresses and lengths, a word each."""
        return b"".join(struct.pack("<2I", self.put(block), len(block)) for block in blocks)


def heap(program: Program) -> Space:
    """What a program leaves of the L1."""
    return Space(program.symbols["__heap"], program.symbols["__heap_end"], "L1")


def outer_memory() -> Space:
    """The memory that only the DMA reaches."""
    return Space(_OUTER.base, _OUTER.end, "outer memory")


def with_data(program: Program, symbol: str, fields: bytes, *spaces: Space) -> Program:
    """A program that finds `fields` at a symbol, and what is in the spaces."""
    here = Segment(address=program.symbols[symbol], data=fields, size=len(fields))
    more = [segment for space in spaces for segment in space.segments]
    return replace(program, segments=(*program.segments, *more, here))


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A program with its data.

    Attributes
    ----------
    program : Program
        To be run.
    result : int
        Where the product will be, without gaps.
    shape : tuple of int
        Its rows and columns.
    dtype : numpy dtype
        Of its bits.
    cycles : int
        Where its own ``mcycle`` will be.
    bytes_fetched : int
        What the DMA brings.
    """

    program: Program
    result: int
    shape: tuple[int, int]
    dtype: np.dtype
    cycles: int
    bytes_fetched: int = 0

    def bits(self, read: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """The product.

        Parameters
        ----------
        read : function
            Gives bytes of memory from their address and number.
        """
        size = self.shape[0] * self.shape[1] * self.dtype.itemsize
        return read(self.result, size).view(self.dtype).reshape(self.shape).copy()

    def spent(self, read: Callable[[int, int], np.ndarray]) -> int:
        """What the program counted itself."""
        return int(read(self.cycles, 4).view(np.uint32)[0])
