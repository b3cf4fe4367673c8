"""The Ventaglio unit with stream interfaces."""

from amaranth import Cat, Module, ResetInserter, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ventaglio import ErrorCause
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.reduction import count_ones
from fanweave.hw.stream.queue import Queue, SkidBuffer
from fanweave.hw.ventaglio.aligner import Aligner
from fanweave.hw.ventaglio.bank import Bank
from fanweave.hw.ventaglio.counters import Counters
from fanweave.hw.ventaglio.decoder import Decoder
from fanweave.hw.ventaglio.describer import Describer
from fanweave.hw.ventaglio.drain import Drain
from fanweave.hw.ventaglio.lanes import Lanes
from fanweave.hw.ventaglio.payloads import (
    Command,
    Marker,
    OperationConfig,
    RowDescription,
    RowRequest,
    activations_layout,
    described_row_layout,
    entry_shape,
    pending_row_layout,
    results_layout,
)
from fanweave.hw.ventaglio.registers import Registers
from fanweave.hw.ventaglio.row_buffer import RowBuffer
from fanweave.hw.ventaglio.scatter import Scatter
from fanweave.hw.ventaglio.sequencer import Sequencer

__all__ = ["Ventaglio"]

_OPERATION_QUEUE = 4
_ROW_BUFFER = 4
_EXTENT_QUEUE = 4


class Ventaglio(wiring.Component):
    """Gather-accumulate-scatter unit; ``docs/ventaglio/theory.md`` says what it does.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    commands, activations, rows, weights, indices : stream in
    fetch, results : stream out
    read_address : In(8); read_data : Out(32)
        Register read-back, combinational.
    busy : Out(1)
        An operation is queued or running, or results have not left.
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        beat = stream.Signature(unsigned(config.beat_bits))
        super().__init__(
            {
                "commands": In(stream.Signature(Command)),
                "activations": In(stream.Signature(activations_layout(config))),
                "fetch": Out(stream.Signature(RowRequest)),
                "rows": In(stream.Signature(RowDescription)),
                "weights": In(beat),
                "indices": In(beat),
                "results": Out(stream.Signature(results_layout(config))),
                "read_address": In(8),
                "read_data": Out(32),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._build(m)
        self._connect_front(m)
        self._connect_decoder(m)
        self._connect_back(m)
        self._connect_errors(m)
        self._connect_counters(m)
        return m

    def _build(self, m: Module) -> None:
        """Make the blocks. All but registers, counters and what leaves are reset by a halt."""
        config = self.config
        m.submodules.registers = self._registers = Registers(config=config)
        m.submodules.counters = self._counters = Counters()
        m.submodules.drain = self._drain = Drain(config=config)
        # What was asked for must stay on the stream until it is taken, also in a halt.
        m.submodules.fetch_queue = self._fetch_queue = Queue(shape=RowRequest, depth=2)
        halting = ResetInserter(self._registers.halted)

        def block(name: str, component: wiring.Component) -> wiring.Component:
            m.submodules[name] = halting(component)
            return component

        self._operations = block(
            "operation_queue", Queue(shape=OperationConfig, depth=_OPERATION_QUEUE)
        )
        self._configs = block("config_queue", Queue(shape=OperationConfig, depth=_OPERATION_QUEUE))
        self._sequencer = block("sequencer", Sequencer(config=config))
        self._pending = block(
            "pending_queue", Queue(shape=pending_row_layout(config), depth=config.row_queue)
        )
        self._describer = block("describer", Describer(config=config))
        self._row_buffer = block(
            "row_buffer", RowBuffer(shape=described_row_layout(config), depth=_ROW_BUFFER)
        )
        self._weights = block("weight_aligner", Aligner(beat_bits=config.beat_bits, unit_bits=8))
        self._indices = block("index_aligner", Aligner(beat_bits=config.beat_bits, unit_bits=32))
        self._decoder = block("decoder", Decoder(config=config))
        self._lanes = block("lanes", Lanes(config=config, registered=True))
        self._scatter = block("scatter", Scatter(config=config))
        self._banks = [block(f"bank_{i}", Bank(config=config)) for i in range(config.banks)]
        self._block = block

    def _connect_front(self, m: Module) -> None:
        registers, sequencer, describer = self._registers, self._sequencer, self._describer
        running = ~registers.halted
        wiring.connect(m, wiring.flipped(self.commands), registers.commands)
        wiring.connect(m, registers.operations, self._operations.i)
        wiring.connect(m, self._operations.o, sequencer.operations)
        wiring.connect(m, sequencer.configs, self._configs.i)
        wiring.connect(m, sequencer.fetch, self._fetch_queue.i)
        wiring.connect(m, self._fetch_queue.o, wiring.flipped(self.fetch))
        wiring.connect(m, sequencer.pending, self._pending.i)
        wiring.connect(m, self._pending.o, describer.pending)
        wiring.connect(m, describer.described, self._row_buffer.i)
        for name, aligner in (("weights", self._weights), ("indices", self._indices)):
            extents = self._block(
                f"{name}_extents", Queue(shape=aligner.extents.payload.shape(), depth=_EXTENT_QUEUE)
            )
            wiring.connect(m, getattr(describer, name), extents.i)
            wiring.connect(m, extents.o, aligner.extents)
        # Whether an aligner takes a beat hangs on what the decoder finds in the beat before it;
        # that must not go on to the memory in the same cycle.
        beats = {}
        for name, aligner in (("weights", self._weights), ("indices", self._indices)):
            beats[name] = self._block(
                f"{name}_beats", SkidBuffer(shape=unsigned(self.config.beat_bits))
            )
            wiring.connect(m, beats[name].o, aligner.beats)
        for outer, inner in (
            (self.activations, sequencer.activations),
            (self.rows, describer.rows),
            (self.weights, beats["weights"].i),
            (self.indices, beats["indices"].i),
        ):
            m.d.comb += [
                inner.payload.eq(outer.payload),
                inner.valid.eq(outer.valid & running),
                outer.ready.eq(inner.ready & running),
            ]
        m.d.comb += [
            registers.read_address.eq(self.read_address),
            self._counters.read_address.eq(self.read_address),
            self.read_data.eq(registers.read_data | self._counters.read_data),
            describer.operation.eq(self._configs.o.payload),
            describer.end_done.eq(self._decoder.end_done),
        ]

    def _connect_decoder(self, m: Module) -> None:
        decoder, buffer = self._decoder, self._row_buffer
        m.d.comb += [
            decoder.operation.eq(self._configs.o.payload),
            self._configs.o.ready.eq(decoder.end_done),
            decoder.first.eq(buffer.first),
            decoder.second.eq(buffer.second),
            decoder.first_valid.eq(buffer.first_valid),
            decoder.second_valid.eq(buffer.second_valid),
            buffer.pop.eq(decoder.pop),
            decoder.weights_head.eq(self._weights.head),
            decoder.weights_level.eq(self._weights.level),
            self._weights.take.eq(decoder.weights_take),
            decoder.indices_head.eq(self._indices.head),
            decoder.indices_level.eq(self._indices.level),
            self._indices.take.eq(decoder.indices_take),
            self._indices.flush.eq(decoder.end_done),
        ]
        wiring.connect(m, decoder.groups, self._lanes.groups)

    def _connect_back(self, m: Module) -> None:
        config = self.config
        lanes, scatter, drain, banks = self._lanes, self._scatter, self._drain, self._banks
        wiring.connect(m, lanes.products, scatter.products)
        wiring.connect(m, drain.results, wiring.flipped(self.results))
        settled = Signal()
        clear = Signal()
        marker_may_go = Signal()
        m.d.comb += [
            settled.eq(
                ~lanes.products.valid & scatter.empty & Cat(bank.idle for bank in banks).all()
            ),
            marker_may_go.eq(settled & ~drain.busy),
            clear.eq(marker_may_go & (lanes.marker == Marker.CLEAR)),
            drain.start.eq(marker_may_go & (lanes.marker == Marker.DRAIN)),
            lanes.marker_done.eq(clear | drain.start),
            drain.operation.eq(lanes.marker_config),
            drain.abort.eq(self._registers.halted),
            lanes.drain_busy.eq(drain.busy),
            lanes.drain_from.eq(drain.read_from),
            lanes.drain_to.eq(drain.read_to),
        ]
        self._settled = settled
        # A drain's lanes read neighbouring banks at one entry.
        groups = config.banks // config.drain_lanes
        entry = Signal(entry_shape(config))
        group = Signal(range(max(groups, 2)))
        lane_bits = (config.drain_lanes - 1).bit_length()
        bank_bits = (config.banks - 1).bit_length()
        m.d.comb += [
            # `VentaglioConfig.bank_of` turns each further entry by one group.
            group.eq(
                (drain.read_from[lane_bits:bank_bits] - drain.read_from[bank_bits:]) & (groups - 1)
            ),
            entry.eq(drain.read_from[bank_bits:]),
        ]
        for i, bank in enumerate(banks):
            number, lane = divmod(i, config.drain_lanes)
            m.d.comb += [
                bank.valid.eq(scatter.bank_valid[i]),
                bank.product.eq(scatter.bank_products[i]),
                bank.multiply.eq(scatter.bank_multiply[i]),
                bank.integer.eq(scatter.bank_integer[i]),
                scatter.bank_ready[i].eq(bank.ready),
                bank.clear.eq(clear),
                bank.read_entry.eq(entry),
            ]
            with m.If(group == number):
                m.d.comb += [
                    drain.read_data[32 * lane : 32 * lane + 32].eq(bank.read_data),
                    bank.read_clear.eq(
                        drain.read_clear & (lane < (drain.read_to - drain.read_from))
                    ),
                ]

    def _connect_errors(self, m: Module) -> None:
        """Collect errors, count operations on their way, and bound every wait."""
        registers, decoder, lanes, drain = self._registers, self._decoder, self._lanes, self._drain
        outstanding = Signal(5)  # operations whose marker has not passed the decoder
        accepted = registers.operations.valid & registers.operations.ready
        with m.If(registers.halted):
            m.d.sync += outstanding.eq(0)
        with m.Else():
            m.d.sync += outstanding.eq(outstanding + accepted - decoder.end_done)
        m.d.comb += [
            self.busy.eq(
                (outstanding != 0) | decoder.holds | lanes.holds | ~self._settled | drain.active
            ),
            registers.busy.eq(self.busy),
        ]
        issued = lanes.products.valid & lanes.products.ready
        streams = (
            self.activations,
            self.fetch,
            self.rows,
            self.weights,
            self.indices,
            self.results,
        )
        progress = Signal()  # in the cycle before: it is found at the end of long paths
        quiet = Signal(24)  # cycles without any progress
        timed_out = Signal()
        m.d.sync += progress.eq(
            issued
            | drain.read
            | (self._scatter.bank_valid & self._scatter.bank_ready).any()
            | lanes.marker_done
            | Cat(port.valid & port.ready for port in streams).any()
        )
        m.d.comb += timed_out.eq(self.busy & ~progress & (quiet >= registers.timeout))
        with m.If(progress | ~self.busy | registers.halted):
            m.d.sync += quiet.eq(0)
        with m.Else():
            m.d.sync += quiet.eq(quiet + 1)
        with m.If(~registers.halted):
            m.d.comb += registers.halt.eq(decoder.length_error | timed_out)
        with m.If(decoder.length_error):
            m.d.comb += [
                registers.error.cause.eq(ErrorCause.LENGTH),
                registers.error.row.eq(decoder.error_row),
                registers.error.element.eq(decoder.error_element),
            ]
        with m.Elif(timed_out):
            m.d.comb += registers.error.cause.eq(ErrorCause.TIMEOUT)
        with m.Else():
            wiring.connect(m, lanes.error, registers.error)

    def _connect_counters(self, m: Module) -> None:
        counters, lanes, decoder = self._counters, self._lanes, self._decoder
        scatter, sequencer = self._scatter, self._sequencer
        issued = Signal()
        hazards = Cat(bank.hazard for bank in self._banks)
        m.d.comb += [
            issued.eq(lanes.products.valid & lanes.products.ready),
            counters.clear.eq(self._registers.clear_counters),
            counters.event_cycles.eq(self.busy),
            counters.event_skipped_rows.eq(sequencer.skipped),
            counters.event_skipped_products.eq(lanes.skipped_products),
            counters.event_conflicts.eq(scatter.waiting),
            counters.event_hazards.eq(count_ones(hazards)),
        ]
        with m.If(issued):
            m.d.comb += counters.event_products.eq(count_ones(lanes.products.payload.valid))
        for name, port in (
            ("weight", self.weights),
            ("index", self.indices),
            ("activation", self.activations),
            ("result", self.results),
        ):
            m.d.comb += getattr(counters, f"event_{name}_beats").eq(port.valid & port.ready)
        starved = sequencer.running & ~self.activations.valid
        with m.If(self.busy):
            with m.If(issued):
                m.d.comb += counters.event_cycles_issue.eq(1)
            with m.Elif(lanes.products.valid):
                with m.If(hazards.any()):
                    m.d.comb += counters.event_cycles_hazard.eq(1)
                with m.Else():
                    m.d.comb += counters.event_cycles_conflict.eq(1)
            with m.Elif(lanes.holds & (lanes.marker == Marker.ROW) & lanes.blocked):
                m.d.comb += counters.event_cycles_drain.eq(1)
            with m.Elif((lanes.marker != Marker.ROW) & ~lanes.marker_done):
                m.d.comb += counters.event_cycles_order.eq(1)
            with m.Elif(decoder.missing_weights):
                m.d.comb += counters.event_cycles_weights.eq(1)
            with m.Elif(decoder.missing_indices):
                m.d.comb += counters.event_cycles_indices.eq(1)
            with m.Elif(self._describer.missing):
                m.d.comb += counters.event_cycles_rows.eq(1)
            with m.Elif(starved):
                m.d.comb += counters.event_cycles_activations.eq(1)
            with m.Else():
                m.d.comb += counters.event_cycles_other.eq(1)
