"""Joins each requested row with its description and tells the aligners what to expect."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.aligner import Extent
from fanweave.hw.ventaglio.payloads import (
    Marker,
    OperationConfig,
    RowDescription,
    described_row_layout,
    pending_row_layout,
)

__all__ = ["Describer"]


class Describer(wiring.Component):
    """Passes rows on once they are described, in order, one a cycle.

    Behind an end marker it waits until the decoder has passed the marker, because the aligners
    and the decoder work with the configuration of one operation.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    operation : In(OperationConfig)
        Configuration that the decoder works with.
    pending : stream in of rows and markers
    rows : stream in of `RowDescription`
    described : stream out of described rows and markers
    weights, indices : stream out of `Extent`
        What the aligners should keep of their beats.
    end_done : In(1)
        The decoder passes an end marker in this cycle.
    missing : Out(1)
        A row waits for its description.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "operation": In(OperationConfig),
                "pending": In(stream.Signature(pending_row_layout(config))),
                "rows": In(stream.Signature(RowDescription)),
                "described": Out(stream.Signature(described_row_layout(config))),
                "weights": Out(stream.Signature(Extent)),
                "indices": Out(stream.Signature(Extent)),
                "end_done": In(1),
                "missing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self.rows.payload
        is_row = Signal()
        waiting = Signal()  # an end marker is on its way through the decoder
        m.d.comb += is_row.eq(self.pending.payload.marker == Marker.ROW)

        index_words = self._index_words(m)
        uses_indices = Signal()
        empty = Signal()
        both = Signal()
        m.d.comb += [
            uses_indices.eq(index_words != 0),
            empty.eq(row.nnz == 0),
            both.eq(self.pending.valid & is_row & self.rows.valid & ~waiting),
            self.missing.eq(self.pending.valid & is_row & ~self.rows.valid & ~waiting),
        ]
        self._payloads(m, index_words)

        # The three outputs lead into queues, whose ready does not depend on valid.
        room = Signal()
        passes = Signal()
        m.d.comb += [
            room.eq(self.described.ready & self.weights.ready & self.indices.ready),
            passes.eq(both & ~empty & room),
            self.weights.valid.eq(passes),
            self.indices.valid.eq(passes & uses_indices),
            self.rows.ready.eq(self.pending.valid & is_row & ~waiting & (room | empty)),
        ]
        with m.If(self.pending.valid & ~is_row & ~waiting):
            m.d.comb += [
                self.described.valid.eq(1),
                self.pending.ready.eq(self.described.ready),
            ]
            with m.If(self.described.ready):
                m.d.sync += waiting.eq(1)
        with m.Else():
            m.d.comb += [
                self.described.valid.eq(passes),
                self.pending.ready.eq(self.rows.valid & self.rows.ready),
            ]
        with m.If(self.end_done):
            m.d.sync += waiting.eq(0)
        return m

    def _payloads(self, m: Module, index_words: Signal) -> None:
        row = self.rows.payload
        element_bytes = Signal(3)
        m.d.comb += element_bytes.eq(Mux(self.operation.element == 0, 4, 2))
        with m.If(self.operation.element > 2):
            m.d.comb += element_bytes.eq(1)
        described = self.described.payload
        pending = self.pending.payload
        m.d.comb += [
            described.marker.eq(pending.marker),
            described.k.eq(pending.k),
            described.mask.eq(pending.mask),
            described.scalars.eq(pending.scalars),
            described.nnz.eq(row.nnz),
            self.weights.payload.start.eq(row.lane * element_bytes),
            self.weights.payload.joined.eq(row.joined),
            self.weights.payload.length.eq(row.nnz * element_bytes),
            self.indices.payload.start.eq(row.index_word),
            self.indices.payload.joined.eq(row.index_joined),
            self.indices.payload.length.eq(index_words),
        ]

    def _index_words(self, m: Module) -> Signal:
        """Words that the row's indices take."""
        operation = self.operation
        nnz = self.rows.payload.nnz
        index_words = Signal(16)
        with m.Switch(operation.index_mode):
            with m.Case(IndexMode.N_OF_M):
                for bits in range(1, 6):
                    first, last = (1 << bits - 1) + 1, 1 << bits
                    with m.If((operation.m >= first) & (operation.m <= last)):
                        m.d.comb += index_words.eq((nnz * bits + 31)[5:])
            with m.Case(IndexMode.BITMASK):
                m.d.comb += index_words.eq((operation.width + 31)[5:])
            with m.Case(IndexMode.ABSOLUTE_8):
                m.d.comb += index_words.eq((nnz + 3)[2:])
            with m.Case(IndexMode.ABSOLUTE_16):
                m.d.comb += index_words.eq((nnz + 1)[1:])
        return index_words
