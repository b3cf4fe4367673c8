"""Reads what the rows of transfers hold, ahead of what is written."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import RegionName
from fanweave.hw.cluster.dma_rows import REACHED, Row
from fanweave.hw.cluster.payloads import BEAT_BYTES, OuterRequest

__all__ = ["DmaReader"]

_PLACE_BITS = (BEAT_BYTES - 1).bit_length()


class DmaReader(wiring.Component):
    """Asks for all beats that bytes of a row lie in.

    So much is asked for as has room behind the memories, except of outer memory for another one:
    what waits there is in nobody's way.

    Parameters
    ----------
    room : int
        Beats that there is room for.
    beats : int
        Beats of outer memory that may be asked for.

    Members
    -------
    rows : stream in of `Row`
    requests : stream out of `OuterRequest`, without data; region : Out(2)
        The region holds with the request.
    taken : In(1)
        A beat that was read is used up.
    asked : Out(1)
        No request is left of the rows that were taken.
    """

    def __init__(self, *, room: int, beats: int) -> None:
        self.room, self.beats = room, max(room, beats)
        super().__init__(
            {
                "rows": In(stream.Signature(Row)),
                "requests": Out(stream.Signature(OuterRequest)),
                "region": Out(2),
                "taken": In(1),
                "asked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self.rows.payload
        place, left = Signal(32 - _PLACE_BITS), Signal(27)
        on_way, limit = Signal(range(self.beats + 1)), Signal(range(self.beats + 1))
        moves, fetched, shown = Signal(), Signal(), Signal()
        outer = REACHED.index(RegionName.OUTER)
        distant = (row.source_region == outer) & (row.destination_region != outer)
        m.d.comb += [
            self.asked.eq(left == 0),
            # A request that was shown stays.
            self.requests.valid.eq((left != 0) & ((on_way < limit) | shown)),
            self.requests.payload.address.eq(Cat(Const(0, _PLACE_BITS), place)),
            moves.eq(self.requests.valid & self.requests.ready),
            self.rows.ready.eq((left == 0) | ((left == 1) & moves)),
            fetched.eq(self.rows.valid & self.rows.ready),
        ]
        m.d.sync += [
            on_way.eq(on_way + moves - self.taken),
            shown.eq(self.requests.valid & ~moves),
        ]
        with m.If(fetched):
            beats = (row.source[:_PLACE_BITS] + row.bytes + BEAT_BYTES - 1) >> _PLACE_BITS
            m.d.sync += [
                place.eq(row.source[_PLACE_BITS:]),
                left.eq(Mux(row.bytes == 0, 0, beats)),
                self.region.eq(row.source_region),
                limit.eq(Mux(distant, self.beats, self.room)),
            ]
        with m.Elif(moves):
            m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
        return m
