"""Slots, registers and the ways to and from all units."""

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream.queue import Queue
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.operand_fetch import OperandFetch
from fanweave.hw.vector.payloads import (
    address_bits,
    operand_beat,
    read_port,
    result_beat,
    write_port,
)
from fanweave.hw.vector.plans import (
    VectorUnitName,
    beat_tag,
    slot_bits,
    slot_ranges,
    vector_plan,
)
from fanweave.hw.vector.register_file import RegisterFile
from fanweave.hw.vector.slots import LANES, LOADS, PRODUCTS, UNITS, SlotTable
from fanweave.hw.vector.ventaglio_payloads import product_plan
from fanweave.hw.vector.write_back import WriteBack
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["Sequencer", "dispatch"]

#: Beats between operand fetch and write back.
_TAGS = 4
_UNIT_READS = ("memory_data", "memory_index", "permute_vs2", "permute_vs1", "permute_vd")
_UNIT_WRITES = ("memory_write", "permute_write")


def dispatch(config: VectorConfig) -> data.StructLayout:
    """An instruction for the sequencer; its slot is not known yet.

    With Ventaglio, ``product`` counts for its instructions, and for a load or store that has to
    take its turn there.
    """
    members: dict[str, data.Layout] = {"plan": vector_plan(config), "ranges": slot_ranges(config)}
    if config.ventaglio is not None:
        members["product"] = product_plan(config)
    return data.StructLayout(members)


class Sequencer(wiring.Component):
    """Gives each instruction a slot, and each unit its instructions in their order.

    Lanes get beats as soon as their words are written by the instructions before, word by word:
    that is chaining; Ventaglio and stores read, and loads write, likewise. Other units get
    an instruction when none of its words waits.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    dispatches : stream in of `dispatch`
    asked : In of `slot_ranges`; asked_blocked : Out(1)
        See `SlotTable`.
    beats : array of streams out of `operand_beat`; results : array of streams in of `result_beat`
        Of the integer and the floating-point lanes.
    memory, permute : streams out of `vector_instruction`
    finished : array of In(1); finished_slot : array of In
        An instruction of the memory unit, or of the permutation unit, is over.
    ascending : In(1); progress, writer : In
        See `MemoryUnit`.
    memory_data, memory_index, permute_vs2, permute_vs1, permute_vd : read ports
    memory_write, permute_write : write ports; memory_write_slot, memory_data_slot : In
    products : stream out of `product_plan`
    weights, indices : read ports; weights_blocked, indices_blocked, scalars_blocked : Out(1)
    reading : In; fetched, scalars_read : In(1)
        See `VentaglioUnit`; these only if there is one.
    products_wait : Out(1)
        It has not got all of its instructions yet.
    mask : Out(vlen)
    flags : Out(5); saturated : Out(1)
        What the lanes raise.
    floats, saturates, busy : Out(1)
        Whether an instruction in flight may set flags or ``vxsat``; whether there is one.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "dispatches": In(stream.Signature(dispatch(config))),
                "asked": In(slot_ranges(config)),
                "asked_blocked": Out(1),
                "beats": Out(stream.Signature(operand_beat(config))).array(LANES),
                "results": In(stream.Signature(result_beat(config))).array(LANES),
                "memory": Out(stream.Signature(vector_instruction(config))),
                "permute": Out(stream.Signature(vector_instruction(config))),
                "finished": In(1).array(UNITS - LANES),
                "finished_slot": In(slot_bits(config)).array(UNITS - LANES),
                "ascending": In(1),
                "progress": In(address_bits(config)),
                "writer": In(slot_bits(config)),
                **{name: In(read_port(config)) for name in _UNIT_READS},
                **{name: In(write_port(config)) for name in _UNIT_WRITES},
                "memory_write_slot": In(slot_bits(config)),
                "memory_data_slot": In(slot_bits(config)),
                **self._product_members(),
                "mask": Out(config.vlen),
                "flags": Out(5),
                "saturated": Out(1),
                "floats": Out(1),
                "saturates": Out(1),
                "busy": Out(1),
            }
        )

    def _product_members(self) -> dict[str, wiring.Member]:
        config = self.config
        if config.ventaglio is None:
            return {}
        return {
            "products": Out(stream.Signature(product_plan(config))),
            "weights": In(read_port(config)),
            "indices": In(read_port(config)),
            "weights_blocked": Out(1),
            "indices_blocked": Out(1),
            "scalars_blocked": Out(1),
            "reading": In(slot_bits(config)),
            "fetched": In(1),
            "scalars_read": In(1),
            "products_wait": Out(1),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.table = self._table = table = SlotTable(config=config)
        m.submodules.registers = self._registers = RegisterFile(
            config=config,
            readers=3 * LANES + len(_UNIT_READS) + 2 * (config.ventaglio is not None),
            writers=LANES + len(_UNIT_WRITES),
        )
        plans = self._dispatch(m)
        fetches, backs = [], []
        for number, name in enumerate(("integer", "float")):
            fetch, back = self._lane(m, number, name)
            wiring.connect(m, plans[number], fetch.plans)
            fetches.append(fetch)
            backs.append(back)
        for number, out in enumerate((self.memory, self.permute)):
            self._transfer(m, number, plans[LANES + number], out)
        self._ports(m)
        if config.ventaglio is not None:
            self._products(m)
        m.d.comb += [
            self.mask.eq(self._registers.mask),
            self.flags.eq(backs[0].flags | backs[1].flags),
            self.saturated.eq(backs[0].saturated | backs[1].saturated),
            self.floats.eq(table.floats),
            self.saturates.eq(table.saturates),
            self.busy.eq(table.live.any()),
            table.asked.eq(self.asked),
            self.asked_blocked.eq(table.asked_blocked),
        ]
        return m

    def _dispatch(self, m: Module) -> list[stream.Interface]:
        """Keep the instruction in its slot, and the slot's number in its unit's queue."""
        config, table = self.config, self._table
        given = self.dispatches.payload
        storage = Memory(shape=unsigned(given.plan.shape().size), depth=config.slots, init=[])
        m.submodules.storage = storage
        write = storage.write_port()
        kept = Signal(vector_plan(config))
        m.d.comb += [
            table.begins.valid.eq(self.dispatches.valid),
            table.begins.payload.eq(given.ranges),
            self.dispatches.ready.eq(table.begins.ready),
            kept.eq(given.plan),
            kept.instruction.slot.eq(table.following),
            write.en.eq(self.dispatches.valid & self.dispatches.ready),
            write.addr.eq(table.following),
            write.data.eq(kept),
        ]
        plans = []
        for unit in VectorUnitName:  # type: ignore[attr-defined]
            if unit is VectorUnitName.VENTAGLIO:
                continue
            name = unit.name.lower()
            queue = Queue(shape=unsigned(slot_bits(config)), depth=config.slots)
            m.submodules[f"{name}_queue"] = queue
            read = storage.read_port(domain="comb")
            plan = stream.Signature(vector_plan(config)).create(path=(f"{name}_plans",))
            m.d.comb += [
                queue.i.valid.eq(write.en & (given.plan.unit == unit)),
                queue.i.payload.eq(table.following),
                read.addr.eq(queue.o.payload),
                plan.valid.eq(queue.o.valid),
                plan.payload.eq(read.data),
                queue.o.ready.eq(plan.ready),
            ]
            plans.append(plan)
        return plans

    def _lane(self, m: Module, number: int, name: str) -> tuple[OperandFetch, WriteBack]:
        config, table, registers = self.config, self._table, self._registers
        fetch, back = OperandFetch(config=config), WriteBack(config=config)
        m.submodules[f"{name}_fetch"] = fetch
        m.submodules[f"{name}_write_back"] = back
        tags = Queue(shape=beat_tag(config), depth=_TAGS)
        m.submodules[f"{name}_tags"] = tags
        wiring.connect(m, fetch.tags, tags.i)
        wiring.connect(m, tags.o, back.tags)
        wiring.connect(m, fetch.beats, wiring.flipped(self.beats[number]))
        wiring.connect(m, wiring.flipped(self.results[number]), back.results)
        for place, operand in enumerate(("vs2", "vs1", "vd")):
            port = getattr(fetch, operand)
            check = table.reads[3 * number + place]
            wiring.connect(m, port, registers.reads[3 * number + place])
            m.d.comb += [
                check.slot.eq(fetch.slot),
                check.address.eq(port.address),
                getattr(fetch, f"{operand}_blocked").eq(check.blocked),
            ]
        for read, port in (
            (table.read_vs2[number], fetch.vs2),
            (table.read_vs1[number], fetch.vs1),
        ):
            m.d.comb += [
                read.enable.eq(port.valid & port.ready),
                read.slot.eq(fetch.slot),
                read.address.eq(port.address + 1),
            ]
        wiring.connect(m, back.write, registers.writes[number])
        mask, over, tag = table.masks[number], table.fetched[number], back.tags.payload
        check, written, done = table.writes[number], table.written[number], table.done[number]
        m.d.comb += [
            mask.slot.eq(fetch.slot),
            fetch.mask_blocked.eq(mask.blocked),
            fetch.mask.eq(registers.mask),
            over.enable.eq(fetch.fetched),
            over.slot.eq(fetch.slot),
            check.slot.eq(tag.slot),
            check.address.eq(tag.address),
            back.blocked.eq(check.blocked),
            written.enable.eq(back.moves & tag.complete),
            written.slot.eq(tag.slot),
            written.address.eq(tag.address + 1),
            done.enable.eq(back.moves & tag.last),
            done.slot.eq(tag.slot),
        ]
        return fetch, back

    def _transfer(
        self, m: Module, number: int, plans: stream.Interface, out: stream.Interface
    ) -> None:
        """An instruction of a unit of register groups."""
        transfer, done = self._table.transfers[number], self._table.done[LANES + number]
        # Who may begin once may begin for ever: nobody older comes.
        m.d.comb += [
            transfer.slot.eq(plans.payload.instruction.slot),
            out.valid.eq(plans.valid & ~transfer.blocked),
            out.payload.eq(plans.payload.instruction),
            plans.ready.eq(out.ready & ~transfer.blocked),
            done.enable.eq(self.finished[number]),
            done.slot.eq(self.finished_slot[number]),
        ]

    def _products(self, m: Module) -> None:
        """Ventaglio's queue, which loads and stores of accumulators are in as well."""
        config, table, given = self.config, self._table, self.dispatches.payload
        shape = product_plan(config)
        m.submodules.products = queue = Queue(shape=shape, depth=config.slots)
        to_ventaglio = given.plan.unit == VectorUnitName.VENTAGLIO
        m.d.comb += [
            queue.i.valid.eq(
                self.dispatches.valid
                & self.dispatches.ready
                & (to_ventaglio | (given.product.marker == Marker.DRAIN))
            ),
            queue.i.payload.eq(given.product),
            queue.i.payload.slot.eq(table.following),
            self.products_wait.eq(queue.o.valid),
        ]
        wiring.connect(m, queue.o, wiring.flipped(self.products))
        scalars = table.masks[PRODUCTS]
        m.d.comb += [scalars.slot.eq(self.reading), self.scalars_blocked.eq(scalars.blocked)]
        for place, (name, moved) in enumerate(
            (("weights", table.read_vs2[PRODUCTS]), ("indices", table.read_vs1[PRODUCTS]))
        ):
            port, check = getattr(self, name), table.reads[3 * LANES + place]
            wiring.connect(
                m, wiring.flipped(port), self._registers.reads[3 * LANES + len(_UNIT_READS) + place]
            )
            m.d.comb += [
                check.slot.eq(self.reading),
                check.address.eq(port.address),
                getattr(self, f"{name}_blocked").eq(check.blocked),
                moved.enable.eq(port.valid & port.ready),
                moved.slot.eq(self.reading),
                moved.address.eq(port.address + 1),
            ]
        for over, happens in (
            (table.fetched[PRODUCTS], self.fetched),
            (table.done[UNITS], self.fetched),
            (table.read_masks[0], self.scalars_read),
        ):
            m.d.comb += [over.enable.eq(happens), over.slot.eq(self.reading)]

    def _ports(self, m: Module) -> None:
        """Those of the units, and how far loads are."""
        registers, written = self._registers, self._table.written[LANES]
        for place, name in enumerate(_UNIT_READS):
            asked, read = getattr(self, name), registers.reads[3 * LANES + place]
            if name != "memory_data":
                wiring.connect(m, wiring.flipped(asked), read)
                continue
            # A store follows what makes its data word by word.
            check = self._table.reads[-1]
            m.d.comb += [
                check.slot.eq(self.memory_data_slot),
                check.address.eq(asked.address),
                read.valid.eq(asked.valid & ~check.blocked),
                read.address.eq(asked.address),
                asked.ready.eq(read.ready & ~check.blocked),
                asked.value.eq(read.value),
            ]
        wiring.connect(m, wiring.flipped(self.permute_write), registers.writes[LANES + 1])
        write, port, check = self.memory_write, registers.writes[LANES], self._table.writes[LOADS]
        m.d.comb += [
            check.slot.eq(self.memory_write_slot),
            check.address.eq(write.address),
            port.valid.eq(write.valid & ~check.blocked),
            port.address.eq(write.address),
            port.value.eq(write.value),
            port.enable.eq(write.enable),
            write.ready.eq(port.ready & ~check.blocked),
            written.enable.eq(self.ascending),
            written.slot.eq(self.writer),
            written.address.eq(self.progress),
        ]
