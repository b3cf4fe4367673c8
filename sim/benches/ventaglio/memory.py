"""Amaranth side of the bench's file-backed memory."""

from amaranth import Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BenchMemory"]


class BenchMemory(wiring.Component):
    """Read-only memory that simulation fills from the file of a plusarg.

    Parameters
    ----------
    width, depth : int
        Bits of a word and number of words.
    plusarg : str
        Name of the plusarg, ``+plusarg=file``.

    Members
    -------
    address : In; data : Out(width)
        Combinational read.
    """

    def __init__(self, *, width: int, depth: int, plusarg: str) -> None:
        self.width = width
        self.depth = depth
        self.plusarg = plusarg
        super().__init__({"address": In(range(depth)), "data": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = Instance(
            "fanweave_bench_memory",
            p_WIDTH=self.width,
            p_DEPTH=self.depth,
            p_ADDRESS=len(self.address),
            p_PLUSARG=f"{self.plusarg}=%s",
            i_address=self.address,
            o_data=self.data,
        )
        return m
