"""Rows of transfers: checked, and let go when nothing before them is in their way."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.hw.cluster.dma_registers import Transfer
from fanweave.hw.cluster.payloads import BEAT_BYTES

__all__ = ["REACHED", "DmaRows", "Row"]

#: Regions that the DMA reaches, by their codes.
REACHED: tuple[RegionName, ...] = tuple(region.name for region in REGIONS if region.dma)


class Row(data.Struct):
    """Bytes to be copied, a multiple of 4 as all addresses are; none if ``bytes`` is zero.

    ``source_region`` and ``destination_region`` are codes of `REACHED`. With ``alone`` nothing
    else moves at the same time; with ``whole`` all of it is read before any of it is written.
    ``last`` marks the last row of a transfer.
    """

    source: unsigned(32)
    destination: unsigned(32)
    bytes: unsigned(32)
    source_region: unsigned(2)
    destination_region: unsigned(2)
    alone: unsigned(1)
    whole: unsigned(1)
    last: unsigned(1)


class DmaRows(wiring.Component):
    """Takes transfers apart, in order.

    Rows may overlap each other on their way if they go from one memory to another, as those
    before them did: what is written is not what is read. A row inside one memory goes alone, and
    one that is moved up over itself goes in pieces from its end, each read before it is written.
    So what comes out is what copying byte arrays one after the other gives.

    Members
    -------
    transfers : stream in of `Transfer`
    rows : stream out of `Row`
    idle : In(1)
        No row is on its way.
    failed : Out(1); address : Out(32)
        A row cannot reach an address; its transfer is over with those before it.
    """

    transfers: In(stream.Signature(Transfer))
    rows: Out(stream.Signature(Row))
    idle: In(1)
    failed: Out(1)
    address: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._now, self._busy = Signal(Transfer, name="now"), Signal(name="busy")
        self._left = Signal(32, name="left")  # bytes of a row that goes in pieces
        self._pieces = Signal(name="pieces")
        now, row = self._now, self.rows.payload
        places = {}
        for side in ("source", "destination"):
            places[side] = self._place(m, side)
        moves, over, fails = Signal(), Signal(), Signal()
        faulty = [
            ~reached | (now[side][:2] != 0) | (now.bytes[:2] != 0)
            for side, (reached, _) in places.items()
        ]
        ends = (now.rows == 0) | faulty[0] | faulty[1]
        m.d.comb += [
            fails.eq((now.rows != 0) & (faulty[0] | faulty[1])),
            self.address.eq(Mux(faulty[0], now.source, now.destination)),
            row.source_region.eq(places["source"][1]),
            row.destination_region.eq(places["destination"][1]),
            row.alone.eq(row.source_region == row.destination_region),
            moves.eq(self.rows.valid & self.rows.ready),
            self.failed.eq(moves & fails),
        ]
        self._shape(m, row, ends, over)
        self._order(m, row, moves)
        self._advance(m, moves, over)
        return m

    def _place(self, m: Module, side: str) -> tuple[Value, Value]:
        """Whether a row's bytes are all in one memory, and its code."""
        now = self._now
        end = Signal(33, name=f"{side}_end")
        m.d.comb += end.eq(now[side] + now.bytes)
        reached: Value = Const(0, 1)
        code: Value = Const(0, 2)
        for number, name in enumerate(REACHED):
            region = next(region for region in REGIONS if region.name is name)
            inside = (now[side] >= region.base) & (end <= region.end)
            reached = reached | inside
            code = Mux(inside, number, code)
        return reached, code

    def _shape(self, m: Module, row: data.View, ends: Value, over: Signal) -> None:
        """The row, or its next piece; `over` if the transfer has no more."""
        now = self._now
        distance = Signal(32)
        piece, start = Signal(32), Signal(32)
        m.d.comb += [
            distance.eq(now.destination - now.source),
            self._pieces.eq(~ends & row.alone & (distance != 0) & (distance < now.bytes)),
            piece.eq(Mux(self._left > BEAT_BYTES, BEAT_BYTES, self._left)),
            start.eq(Mux(self._pieces, self._left - piece, 0)),
            row.source.eq(now.source + start),
            row.destination.eq(now.destination + start),
            row.bytes.eq(Mux(ends, 0, Mux(self._pieces, piece, now.bytes))),
            row.whole.eq(self._pieces),
            over.eq(ends | ((now.rows == 1) & (~self._pieces | (start == 0)))),
            row.last.eq(over),
        ]

    def _order(self, m: Module, row: data.View, moves: Signal) -> None:
        """A row goes if those on their way have the same way, and are not alone."""
        way, last_way = Cat(row.source_region, row.destination_region), Signal(4)
        same = (way == last_way) & ~row.alone
        m.d.comb += self.rows.valid.eq(self._busy & (self.idle | same))
        with m.If(moves):
            m.d.sync += last_way.eq(way)

    def _advance(self, m: Module, moves: Signal, over: Signal) -> None:
        now, row = self._now, self.rows.payload
        fetched = ~self._busy | (moves & over)
        m.d.comb += self.transfers.ready.eq(fetched)
        with m.If(fetched):
            m.d.sync += [
                self._busy.eq(self.transfers.valid),
                now.eq(self.transfers.payload),
                self._left.eq(self.transfers.payload.bytes),
            ]
        with m.Elif(moves & self._pieces & (self._left != row.bytes)):
            m.d.sync += self._left.eq(self._left - row.bytes)
        with m.Elif(moves):
            m.d.sync += [
                now.rows.eq(now.rows - 1),
                now.source.eq(now.source + now.source_stride),
                now.destination.eq(now.destination + now.destination_stride),
                self._left.eq(now.bytes),
            ]
