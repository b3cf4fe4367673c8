"""Descriptors of the maps, and which of them were ever written."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from fanweave.hw.ebpf.maps.payloads import Descriptor

__all__ = ["DescriptorMemory", "DescriptorWrite"]


class DescriptorWrite(data.Struct):
    """Makes a map's descriptor."""

    map: 8
    descriptor: Descriptor


class DescriptorMemory(wiring.Component):
    """A descriptor for each map; one that was never written, or cannot be, is all zeros.

    Parameters
    ----------
    maps : int
        Maps at most; a power of two, 2 or more.

    Members
    -------
    writes : stream in of `DescriptorWrite`
        Always ready.
    enable : In(1); map : In(8)
        Read the descriptor of a map.
    descriptor : Out(Descriptor)
        What was read last, from the next cycle on.
    """

    def __init__(self, *, maps: int) -> None:
        if maps < 2 or maps & maps - 1:
            raise ValueError(f"maps = {maps} must be a power of two of at least 2")
        self.maps = maps
        super().__init__(
            {
                "writes": In(stream.Signature(DescriptorWrite)),
                "enable": In(1),
                "map": In(8),
                "descriptor": Out(Descriptor),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=Descriptor, depth=self.maps, init=[])
        read, write = storage.read_port(), storage.write_port()
        known = Signal(self.maps)
        exists = Signal()
        bits = ceil_log2(self.maps)
        request = self.writes.payload
        m.d.comb += [
            self.writes.ready.eq(1),
            write.addr.eq(request.map),
            write.data.eq(request.descriptor),
            write.en.eq(self.writes.valid & ((request.map >> bits) == 0)),
            read.addr.eq(self.map),
            read.en.eq(self.enable),
        ]
        with m.If(write.en):
            m.d.sync += known.bit_select(request.map[:bits], 1).eq(1)
        with m.If(self.enable):
            m.d.sync += exists.eq(known.bit_select(self.map[:bits], 1) & ((self.map >> bits) == 0))
        with m.If(exists):
            m.d.comb += self.descriptor.eq(read.data)
        return m
