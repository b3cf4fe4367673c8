"""Makes the requests of a step, and keeps loads and stores apart."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_payloads import VectorRequest, memory_step
from fanweave.hw.vector.memory_store import StoreData
from fanweave.hw.vector.payloads import address_bits, read_port

__all__ = ["MemoryIssue"]

#: Stores that may wait for their responses before another step is taken.
_STORES = 64


class MemoryIssue(wiring.Component):
    """Reads what a step needs of the register file, then offers its requests until all are taken.

    The requests of a step are made together, each port by itself; the next step follows when all
    of them are taken. A load begins when all stores before it have been answered, a store when
    all loads before it are over.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    steps : stream in of `memory_step`; index_register : In
        As `MemoryWalker` gives them.
    data, index : read ports
        Of stores, and of indices; the index's value may be lost in the next cycle.
    data_bank : Out(1); data_slot : Out
        The data are Ventaglio's accumulators, for the store in that slot.
    requests : array of streams out of `VectorRequest`
    answered : In(lanes)
        Ports that respond.
    loads : stream out of `memory_step`
        Steps of loads whose requests have been made, with the addresses of their elements.
    loads_idle : In(1)
        No load waits.
    stores : Out
        Stores that are not answered.
    finished : Out(1)
        All requests of a store have been made; ``step`` is its last step.
    step : Out of `memory_step`
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "steps": In(stream.Signature(memory_step(config))),
                "index_register": In(address_bits(config)),
                "data": Out(read_port(config)),
                "data_bank": Out(1),
                "data_slot": Out((config.slots - 1).bit_length()),
                "index": Out(read_port(config)),
                "requests": Out(stream.Signature(VectorRequest)).array(config.lanes),
                "answered": In(config.lanes),
                "loads": Out(stream.Signature(memory_step(config))),
                "loads_idle": In(1),
                "stores": Out(range(_STORES + config.lanes + 1)),
                "finished": Out(1),
                "step": Out(memory_step(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._step, self._there, self._moved = Signal(memory_step(self.config)), Signal(), Signal()
        self._take(m)
        self._address(m)
        self._request(m)
        return m

    def _take(self, m: Module) -> None:
        """The next step, once its reads are on their way; a word of indices is read once."""
        following = self.steps.payload
        free, room = Signal(), Signal()
        needs_index, needs_data, last_index = Signal(), Signal(), Signal(len(self.index.address))
        known = Signal()
        got_index, got_data = Signal(), Signal()
        m.d.comb += [
            free.eq(~self._there | self._moved),
            room.eq(~following.store | (self.stores < _STORES)),
            needs_index.eq(
                following.indexed
                & following.lanes.any()
                & (following.first | ~known | (last_index != self.index_register))
            ),
            needs_data.eq(following.store & following.source),
            self.index.address.eq(self.index_register),
            self.data.address.eq(following.register),
            self.data_bank.eq(following.bank),
            self.data_slot.eq(following.slot),
            self.index.valid.eq(self.steps.valid & free & room & needs_index & ~got_index),
            # A word is held until the next read, so the step that needs it must be over.
            self.data.valid.eq(self.steps.valid & free & room & needs_data & ~got_data),
        ]
        index_there = ~needs_index | got_index | self.index.ready
        data_there = ~needs_data | got_data | self.data.ready
        taken = Signal()
        m.d.comb += [
            taken.eq(self.steps.valid & free & room & index_there & data_there),
            self.steps.ready.eq(free & room & index_there & data_there),
        ]
        m.d.sync += [
            got_index.eq(~taken & (got_index | (self.index.valid & self.index.ready))),
            got_data.eq(~taken & (got_data | (self.data.valid & self.data.ready))),
        ]
        with m.If(taken):
            m.d.sync += [self._step.eq(following), self._there.eq(1)]
            with m.If(following.first):
                m.d.sync += known.eq(0)
            with m.If(needs_index):
                m.d.sync += [known.eq(1), last_index.eq(self.index_register)]
        with m.Elif(self._moved):
            m.d.sync += self._there.eq(0)

    def _address(self, m: Module) -> None:
        """Add the elements' indices to the addresses."""
        held, lanes = self._step, self.config.lanes
        m.d.comb += self.step.eq(held)
        with m.If(held.indexed), m.Switch(held.index_width):
            for width in range(3):
                with m.Case(width):
                    bits = 8 << width
                    chunk = self.index.value.word_select(
                        held.index_chunk[: 3 - width], lanes * bits
                    )
                    for lane in range(lanes):
                        index = chunk.word_select(lane, bits)
                        m.d.comb += self.step.addresses[lane].eq(held.addresses[lane] + index)

    def _request(self, m: Module) -> None:
        lanes, step = self.config.lanes, self.step
        m.submodules.store_data = stored = StoreData(config=self.config)
        wanted, done, held_back = Signal(lanes), Signal(lanes), Signal(lanes)
        goes, made = Signal(), Signal(lanes)
        m.d.comb += [
            stored.step.eq(step),
            stored.value.eq(self.data.value),
            stored.moved.eq(self._moved),
            goes.eq(
                self._there
                & Mux(step.store, self.loads_idle, (self.stores == 0) & self.loads.ready)
            ),
            wanted.eq(Mux(step.store, Cat(mask.any() for mask in stored.masks), step.lanes)),
            self._moved.eq(goes & ~(wanted & ~done & ~made).any()),
            self.loads.valid.eq(self._moved & ~step.store),
            self.loads.payload.eq(step),
            self.finished.eq(self._moved & step.store & step.last),
        ]
        for lane in range(lanes):
            request = self.requests[lane]
            m.d.comb += [
                held_back[lane].eq(self._collides(wanted & ~done, lane)),
                request.valid.eq(goes & wanted[lane] & ~done[lane] & ~held_back[lane]),
                request.payload.address.eq(Cat(Const(0, 3), step.addresses[lane][3:])),
                request.payload.write.eq(step.store),
                request.payload.mask.eq(Mux(step.store, stored.masks[lane], 0xFF)),
                request.payload.data.eq(stored.data[lane]),
                made[lane].eq(request.valid & request.ready),
            ]
        m.d.sync += done.eq(Mux(self._moved, 0, done | made))
        m.d.sync += self.stores.eq(
            self.stores
            + sum(bit & step.store for bit in made)
            - Mux(self.stores != 0, sum(self.answered), 0)
        )

    def _collides(self, pending: Value, lane: int) -> Value:
        """Whether an element before this one has still to be stored in the same 64 bits."""
        step = self.step
        found: Value = Const(0, 1)
        for other in range(lane):
            same = step.addresses[other][3:] == step.addresses[lane][3:]
            found = found | (pending[other] & same)
        return found & step.store
