"""Takes operations and activations, skips zero rows, asks for the others."""

from amaranth import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import Opcode
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.payloads import (
    Marker,
    OperationConfig,
    RowRequest,
    activations_layout,
    pending_row_layout,
)

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Turns each operation into rows to fetch and one end marker.

    One activation beat a cycle is taken or skipped.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    operations : stream in of `OperationConfig`
    activations : stream in
    configs : stream out of `OperationConfig`, one for each operation, ahead of its rows
    fetch : stream out of `RowRequest`
    pending : stream out of rows and markers
    skipped : Out(1)
        A row was skipped in this cycle.
    running : Out(1)
        An operation that takes activations is in progress.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "operations": In(stream.Signature(OperationConfig)),
                "activations": In(stream.Signature(activations_layout(config))),
                "configs": Out(stream.Signature(OperationConfig)),
                "fetch": Out(stream.Signature(RowRequest)),
                "pending": Out(stream.Signature(pending_row_layout(config))),
                "skipped": Out(1),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation = Signal(OperationConfig)
        k = Signal(24)
        asked = Signal()  # for a row of this operation
        mask = self._mask(m, operation)
        wanted = Signal()
        m.d.comb += wanted.eq(mask.any())

        pending = self.pending.payload
        m.d.comb += [
            pending.k.eq(k),
            pending.mask.eq(mask),
            pending.scalars.eq(self.activations.payload),
            self.fetch.payload.row.eq(operation.first_row + k),
            self.fetch.payload.first.eq(~asked),
            self.configs.payload.eq(self.operations.payload),
        ]
        with m.FSM(name="state"):
            with m.State("IDLE"):
                m.d.comb += [
                    self.configs.valid.eq(self.operations.valid),
                    self.operations.ready.eq(self.configs.ready),
                ]
                with m.If(self.operations.valid & self.configs.ready):
                    m.d.sync += [operation.eq(self.operations.payload), k.eq(0), asked.eq(0)]
                    takes_rows = (self.operations.payload.opcode == Opcode.MULTIPLY) | (
                        self.operations.payload.opcode == Opcode.MULTIPLY_ACCUMULATE
                    )
                    with m.If(takes_rows & (self.operations.payload.length != 0)):
                        m.next = "ROWS"
                    with m.Else():
                        m.next = "END"
            with m.State("ROWS"):
                # Both outputs lead into queues, whose ready does not depend on valid: each may
                # look at the other's, so that a row enters both or none.
                room = Signal()
                m.d.comb += [
                    self.running.eq(1),
                    room.eq(self.fetch.ready & self.pending.ready),
                    self.fetch.valid.eq(self.activations.valid & wanted & self.pending.ready),
                    self.pending.valid.eq(self.activations.valid & wanted & self.fetch.ready),
                    pending.marker.eq(Marker.ROW),
                    self.activations.ready.eq(room | ~wanted),
                    self.skipped.eq(self.activations.valid & ~wanted),
                ]
                with m.If(self.activations.valid & self.activations.ready):
                    m.d.sync += [k.eq(k + 1), asked.eq(asked | wanted)]
                    with m.If(k + 1 == operation.length):
                        m.next = "END"
            with m.State("END"):
                m.d.comb += self.pending.valid.eq(1)
                with m.Switch(operation.opcode):
                    with m.Case(Opcode.CLEAR):
                        m.d.comb += pending.marker.eq(Marker.CLEAR)
                    with m.Case(Opcode.DRAIN):
                        m.d.comb += pending.marker.eq(Marker.DRAIN)
                    with m.Default():
                        m.d.comb += pending.marker.eq(Marker.END)
                with m.If(self.pending.ready):
                    m.next = "IDLE"
        return m

    def _mask(self, m: Module, operation: Signal) -> Signal:
        """Which outputs have a product with this activation beat."""
        config = self.config
        mask = Signal(config.max_outputs)
        magnitude_bits = Array(f.bits if f.is_integer else f.bits - 1 for f in ElementFormat)
        ones = Signal(32)
        m.d.comb += ones.eq((1 << magnitude_bits[operation.element]) - 1)
        for u in range(config.max_outputs):
            nonzero = (self.activations.payload[u] & ones).any()
            m.d.comb += mask[u].eq((u < operation.outputs) & (nonzero | ~operation.skip_zeros))
        return mask
