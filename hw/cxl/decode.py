"""Which device an address of a host belongs to."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cxl_messages import ADDRESS_BITS, LINE_BYTES
from fanweave.golden.isa.cxl_switch import GRANULARITY_BYTES
from fanweave.hw.cxl.payloads import Binding, RangeEntry

__all__ = ["AddressDecoder"]

#: Bit of a line's address that the smallest granularity begins at.
_FINEST = (GRANULARITY_BYTES // LINE_BYTES).bit_length() - 1


class AddressDecoder(wiring.Component):
    """The first range that holds an address, its way, and what is bound there; combinational.

    Parameters
    ----------
    ranges, bindings : int
        Ranges and virtual ports.

    Members
    -------
    address : In
        Of a line.
    ranges, bindings : In
        The host's tables.
    target : Out(Binding)
        Where to; not bound if nothing holds the address or nothing is bound there.
    """

    def __init__(self, *, ranges: int, bindings: int) -> None:
        self.count = ranges
        super().__init__(
            {
                "address": In(ADDRESS_BITS),
                "ranges": In(data.ArrayLayout(RangeEntry, ranges)),
                "bindings": In(data.ArrayLayout(Binding, bindings)),
                "target": Out(Binding),
            }
        )
        self.places = bindings

    def elaborate(self, platform: object) -> Module:
        m = Module()
        page = self.address[ADDRESS_BITS - len(self.ranges[0].first) :]
        virtual, held = Signal(4), Signal()
        for number in reversed(range(self.count)):
            entry = self.ranges[number]
            way = Signal(3, name=f"way_{number}")
            ways = Array((0, 1, 3, 7))[entry.ways]
            m.d.comb += way.eq((self.address >> (entry.granularity + _FINEST)) & ways)
            with m.If(entry.enable & (page >= entry.first) & (page <= entry.last)):
                m.d.comb += [held.eq(1), virtual.eq(entry.targets[way])]
        for number in range(self.places):
            with m.If(held & (virtual == number)):
                m.d.comb += self.target.eq(
                    Mux(self.bindings[number].bound, self.bindings[number].as_value(), 0)
                )
        return m
