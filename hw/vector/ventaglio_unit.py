"""Ventaglio as a unit of the vector unit: products of weights and a scalar, added where indices
say."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.riscv_ventaglio import VectorFault
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import read_port, write_port
from fanweave.hw.vector.ventaglio_bank import AccumulatorBank
from fanweave.hw.vector.ventaglio_fetch import ProductFetch
from fanweave.hw.vector.ventaglio_groups import ProductGroups
from fanweave.hw.vector.ventaglio_payloads import parameters, product_plan
from fanweave.hw.ventaglio.lanes import Lanes
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["VentaglioUnit"]


class VentaglioUnit(wiring.Component):
    """Products, clears, and turns of the memory unit, in their order.

    A clear, or a turn, waits until all products before it are added, and those behind it wait
    for it; both wait for older instructions only, whatever their order is. Nothing else waits
    for another instruction, but for registers that are not written yet.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    plans : stream in of `product_plan`
    weights, indices : read ports; weights_blocked, indices_blocked : In(1)
    mask : In(vlen); mask_blocked : In(1)
    slot : Out; fetched, scalars_read : Out(1)
        See `ProductFetch`; an instruction that is fetched is over for all others but for the
        bank.
    read : read port; write : write port, from the bank's side; read_slot, write_slot : In
        Words of accumulators, for the load or store in that slot: ready in its turn.
    finished : In(1); finished_slot : In
        The memory unit's instruction in that slot is over, and so is its turn.
    busy : Out(1)
        An error may still come.
    multiplied : Out
        Bytes of weights that go to the lanes in this cycle.
    fault : Out of `VectorFault`; element : Out(16)
        What went wrong in this cycle, and at which element.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        slot = (config.slots - 1).bit_length()
        super().__init__(
            {
                "plans": In(stream.Signature(product_plan(config))),
                "weights": Out(read_port(config)),
                "indices": Out(read_port(config)),
                "weights_blocked": In(1),
                "indices_blocked": In(1),
                "mask": In(config.vlen),
                "mask_blocked": In(1),
                "slot": Out(slot),
                "fetched": Out(1),
                "scalars_read": Out(1),
                "read": In(read_port(config)),
                "write": In(write_port(config)),
                "read_slot": In(slot),
                "write_slot": In(slot),
                "finished": In(1),
                "finished_slot": In(slot),
                "busy": Out(1),
                "multiplied": Out(range(config.word_bytes + 1)),
                "fault": Out(VectorFault),
                "element": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.fetch = fetch = ProductFetch(config=config)
        m.submodules.groups = groups = ProductGroups(config=config)
        m.submodules.lanes = lanes = Lanes(config=parameters(config))
        m.submodules.bank = bank = AccumulatorBank(config=config)
        for source, sink in (
            (wiring.flipped(self.plans), fetch.plans),
            (fetch.weights, wiring.flipped(self.weights)),
            (fetch.indices, wiring.flipped(self.indices)),
            (fetch.rows, groups.rows),
            (groups.groups, lanes.groups),
            (lanes.products, bank.products),
        ):
            wiring.connect(m, source, sink)
        m.d.comb += [
            fetch.weights_blocked.eq(self.weights_blocked),
            fetch.indices_blocked.eq(self.indices_blocked),
            fetch.mask.eq(self.mask),
            fetch.mask_blocked.eq(self.mask_blocked),
            self.slot.eq(fetch.slot),
            self.fetched.eq(fetch.fetched),
            self.scalars_read.eq(fetch.scalars_read),
            self.busy.eq(fetch.busy),
            self.multiplied.eq(groups.weights_take >> 3),
        ]
        for name in ("weights", "indices"):
            m.d.comb += [
                getattr(groups, f"{name}_{part}").eq(getattr(fetch, f"{name}_{part}"))
                for part in ("head", "level")
            ]
            m.d.comb += getattr(fetch, f"{name}_take").eq(getattr(groups, f"{name}_take"))
        self._take_turns(m, lanes, bank)
        with m.If(groups.many):
            m.d.comb += [self.fault.eq(VectorFault.INDEX_RANGE), self.element.eq(groups.element)]
        with m.Elif(lanes.error.cause != 0):
            m.d.comb += [
                self.fault.eq(VectorFault.INDEX_RANGE),
                self.element.eq(lanes.error.element),
            ]
        return m

    def _take_turns(self, m: Module, lanes: Lanes, bank: AccumulatorBank) -> None:
        """Clears, and the memory unit's turns at the bank."""
        turn, slot = Signal(), Signal.like(self.finished_slot)
        m.d.comb += [
            bank.clear.eq(bank.settled & (lanes.marker == Marker.CLEAR)),
            turn.eq(bank.settled & (lanes.marker == Marker.DRAIN)),
            slot.eq(lanes.marker_config.first_row),
            lanes.marker_done.eq(
                bank.clear | (turn & self.finished & (self.finished_slot == slot))
            ),
        ]
        for port, inner, asking in (
            (self.read, bank.read, self.read_slot),
            (self.write, bank.write, self.write_slot),
        ):
            m.d.comb += [
                inner.valid.eq(port.valid & turn & (asking == slot)),
                inner.address.eq(port.address),
                port.ready.eq(turn & (asking == slot)),
            ]
        m.d.comb += [
            bank.granted.eq(turn),
            bank.write.value.eq(self.write.value),
            bank.write.enable.eq(self.write.enable),
            self.read.value.eq(bank.read.value),
        ]
