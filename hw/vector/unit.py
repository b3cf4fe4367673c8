"""The vector unit: front, sequencer, lanes, loads and stores, permutations."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.payloads import Offload, OffloadResult, VectorBusy, Verdict
from fanweave.hw.reduction import count_ones
from fanweave.hw.stream.arbiter import Arbiter
from fanweave.hw.vector.activity import VectorActivity
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.float_lanes import FloatLanes
from fanweave.hw.vector.front import Front
from fanweave.hw.vector.integer_lanes import IntegerLanes
from fanweave.hw.vector.memory_payloads import VectorRequest
from fanweave.hw.vector.memory_unit import MemoryUnit
from fanweave.hw.vector.permute_unit import PermuteUnit
from fanweave.hw.vector.sequencer import Sequencer
from fanweave.hw.vector.ventaglio_switch import BankSwitch
from fanweave.hw.vector.ventaglio_unit import VentaglioUnit

__all__ = ["VectorUnit"]


class VectorUnit(wiring.Component):
    """RVV 1.0 (Zve32f, Zvfh) behind the core's port; `VectorConfig` says how large.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    offloads, verdicts, results, vector, vector_flags, rounding
        See `Core`.
    requests, responses : arrays of streams
        Memory, a port a lane; see `MemoryUnit`.
    activity : Out of `VectorActivity`
        For counters.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "offloads": In(stream.Signature(Offload)),
                "verdicts": Out(stream.Signature(Verdict)),
                "results": Out(stream.Signature(OffloadResult)),
                "vector": Out(VectorBusy),
                "vector_flags": Out(5),
                "rounding": In(3),
                "requests": Out(stream.Signature(VectorRequest)).array(config.lanes),
                "responses": In(stream.Signature(unsigned(64))).array(config.lanes),
                "activity": Out(VectorActivity),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.front = front = Front(config=config)
        m.submodules.sequencer = sequencer = Sequencer(config=config)
        m.submodules.integer_lanes = integer = IntegerLanes(config)
        m.submodules.float_lanes = floating = FloatLanes(config)
        m.submodules.memory = memory = MemoryUnit(config=config)
        m.submodules.permute = permute = PermuteUnit(config=config)
        m.submodules.results = results = Arbiter(shape=OffloadResult, sources=2)
        for source, sink in (
            (wiring.flipped(self.offloads), front.offloads),
            (front.verdicts, wiring.flipped(self.verdicts)),
            (front.results, results.sources[0]),
            (permute.results, results.sources[1]),
            (front.dispatches, sequencer.dispatches),
            (front.checks, memory.checks),
            (memory.verdicts, front.answers),
            (sequencer.beats[0], integer.i),
            (integer.o, sequencer.results[0]),
            (sequencer.beats[1], floating.i),
            (floating.o, sequencer.results[1]),
            (sequencer.memory, memory.instructions),
            (sequencer.permute, permute.instructions),
            (memory.index, sequencer.memory_index),
            (permute.vs2, sequencer.permute_vs2),
            (permute.vs1, sequencer.permute_vs1),
            (permute.vd, sequencer.permute_vd),
            (permute.write, sequencer.permute_write),
        ):
            wiring.connect(m, source, sink)
        for lane in range(config.lanes):
            wiring.connect(m, memory.requests[lane], wiring.flipped(self.requests[lane]))
            wiring.connect(m, wiring.flipped(self.responses[lane]), memory.responses[lane])
        m.d.comb += [
            memory.mask.eq(sequencer.mask),
            permute.mask.eq(sequencer.mask),
            sequencer.finished[0].eq(memory.finished),
            sequencer.finished[1].eq(permute.finished),
            sequencer.finished_slot[0].eq(memory.slot),
            sequencer.finished_slot[1].eq(permute.slot),
        ]
        m.d.comb += [
            sequencer.memory_write_slot.eq(memory.write_slot),
            sequencer.memory_data_slot.eq(memory.data_slot),
        ]
        if config.ventaglio is None:
            wiring.connect(m, memory.data, sequencer.memory_data)
            wiring.connect(m, memory.write, sequencer.memory_write)
        else:
            self._add_ventaglio(m, front, sequencer, memory)
        beats, active = sequencer.beats[1], Signal(range(8 * config.word_bytes + 1))
        # Bits behind a beat's own elements speak of those that follow.
        m.d.comb += active.eq(count_ones(beats.payload.active) << beats.payload.sew)
        with m.If(beats.valid & beats.ready):
            m.d.comb += self.activity.float_bytes.eq(
                Mux(active > config.word_bytes, config.word_bytes, active)
            )
        m.d.comb += [
            self.activity.live.eq(sequencer.busy),
            self.activity.memory.eq(memory.loads | memory.stores),
        ]
        m.d.comb += [
            sequencer.asked.eq(front.asked),
            front.asked_blocked.eq(sequencer.asked_blocked),
            front.rounding.eq(self.rounding),
            front.saturates.eq(sequencer.saturates),
            front.saturated.eq(sequencer.saturated),
            sequencer.ascending.eq(memory.ascending),
            sequencer.progress.eq(memory.progress),
            sequencer.writer.eq(memory.writer),
            self.results.valid.eq(results.o.valid),
            self.results.payload.eq(results.o.payload.payload),
            results.o.ready.eq(self.results.ready),
            self.vector.loads.eq(memory.loads),
            self.vector.stores.eq(memory.stores),
            self.vector.floats.eq(sequencer.floats),
            self.vector_flags.eq(sequencer.flags | Mux(permute.finished, permute.flags, 0)),
        ]
        return m

    def _add_ventaglio(
        self, m: Module, front: Front, sequencer: Sequencer, memory: MemoryUnit
    ) -> None:
        """Products, and the memory unit's way to their accumulators."""
        m.submodules.ventaglio = unit = VentaglioUnit(config=self.config)
        m.submodules.switch = switch = BankSwitch(config=self.config)
        for source, sink in (
            (sequencer.products, unit.plans),
            (unit.weights, sequencer.weights),
            (unit.indices, sequencer.indices),
            (memory.data, switch.data),
            (memory.write, switch.write),
            (switch.register_data, sequencer.memory_data),
            (switch.register_write, sequencer.memory_write),
            (switch.bank_data, unit.read),
            (switch.bank_write, unit.write),
        ):
            wiring.connect(m, source, sink)
        m.d.comb += [
            unit.weights_blocked.eq(sequencer.weights_blocked),
            unit.indices_blocked.eq(sequencer.indices_blocked),
            unit.mask.eq(sequencer.mask),
            unit.mask_blocked.eq(sequencer.scalars_blocked),
            sequencer.reading.eq(unit.slot),
            sequencer.fetched.eq(unit.fetched),
            sequencer.scalars_read.eq(unit.scalars_read),
            switch.reads_bank.eq(memory.data_bank),
            switch.writes_bank.eq(memory.write_bank),
            unit.read_slot.eq(memory.data_slot),
            unit.write_slot.eq(memory.write_slot),
            unit.finished.eq(memory.finished),
            unit.finished_slot.eq(memory.slot),
            self.activity.product_bytes.eq(unit.multiplied),
            self.activity.products.eq(sequencer.products_wait | unit.busy),
            front.quiet.eq(~sequencer.products_wait & ~unit.busy),
            front.fault.eq(unit.fault),
            front.element.eq(unit.element),
        ]
