"""What the steps of an operation work with: its registers, and the blocks beside it."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_machine import Region
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.hw.ebpf.maps.copier import Copier
from fanweave.hw.ebpf.maps.hash_index import HashIndex, found_layout
from fanweave.hw.ebpf.maps.map_state import MapState
from fanweave.hw.ebpf.maps.payloads import BEAT_BITS, PLACE_BITS, Command, is_command, is_kind
from fanweave.hw.ebpf.maps.prefix_table import PrefixTable
from fanweave.hw.ebpf.maps.use_order import UseOrder
from fanweave.hw.ebpf.maps.value_store import StoreCommand

__all__ = ["Work", "value_address"]


def value_address(number: Value, place: Value) -> Value:
    """Address of a place in a map's values."""
    return Region.MAP_VALUES + Cat(Const(0, PLACE_BITS), number) + place


class Work:
    """Registers of the operation that holds the unit, and what its steps can ask for.

    Attributes
    ----------
    found : Signal
        The operation, and what the index found of its key; see `found_layout`.
    op, descriptor : data.View
        Parts of it.
    state : data.View
        Of the operation's map, as it is.
    next_state : Signal
        The same unless a step changes it; stored with ``keep_state``.
    slot : Signal
        The slot that the operation works on.
    value, answered : Signal
        What the result will say.
    counter : Signal
        Of rows that a step goes through.
    key_read, key_write : Signal
        A key that a host asked for, and that a row of it is written to the operands.
    visit, visit_valid, visit_ready, visit_ended, words_read : Signal
        A visit of a step to the memory of values: offered, taken, over, and what was read.
    """

    def __init__(self, m: Module, *, config: EbpfConfig, sources: int) -> None:
        self.m = m
        self.config = config
        m.submodules.index = self.index = HashIndex(config=config, sources=sources)
        m.submodules.prefixes = self.prefixes = PrefixTable(config=config)
        m.submodules.order = self.order = UseOrder(slots=config.entries)
        m.submodules.copier = self.copier = Copier()
        self.found = Signal(found_layout(config, sources))
        self.op = self.found.operation
        self.descriptor = self.op.descriptor
        self.slot = Signal(16)
        self.value = Signal(64)
        self.answered = Signal()
        self.counter = Signal(17)
        self.key_rows = -(-8 * config.key_bytes // BEAT_BITS)
        self.key_read = Signal(BEAT_BITS * self.key_rows)
        self.key_write = Signal()
        self.visit = Signal(StoreCommand)
        self.visit_valid = Signal()
        self.visit_ready = Signal()
        self.visit_ended = Signal()
        self.words_read = Signal(64)
        self._memories()
        self._defaults()

    def _memories(self) -> None:
        m, config = self.m, self.config
        m.submodules.states = states = Memory(shape=MapState, depth=config.maps, init=[])
        read, self._state_write = states.read_port(domain="comb"), states.write_port()
        self.state = read.data
        self.next_state = Signal(MapState)
        self.keep_state = Signal()
        m.submodules.free_slots = free = Memory(
            shape=16, depth=config.entries + config.prefixes, init=[]
        )
        self._free_read, self._free_write = free.read_port(), free.write_port()
        m.d.comb += [
            read.addr.eq(self.op.map),
            self._state_write.addr.eq(self.op.map),
            self._state_write.data.eq(self.next_state),
            self._state_write.en.eq(self.keep_state),
            self.next_state.eq(self.state),
            self._free_read.addr.eq(self.descriptor.free_base + self.state.freed - 1),
            self._free_read.en.eq(1),
            self._free_write.addr.eq(self.descriptor.free_base + self.state.freed),
            self._free_write.data.eq(self.slot),
        ]

    def _defaults(self) -> None:
        """Where the blocks look unless a step says otherwise."""
        m, op, descriptor, lanes = self.m, self.op, self.descriptor, self.config.prefix_lanes
        lane_bits = (lanes - 1).bit_length()
        self.prefix_slot = Signal(16)
        m.d.comb += [
            self.prefix_slot.eq(self.slot),
            self.prefixes.key.eq(op.key),
            self.prefixes.exact.eq(is_command(op, Command.UPDATE, Command.DELETE)),
            self.prefixes.first_row.eq(descriptor.entry_base),
            self.prefixes.row_count.eq((descriptor.entries + lanes - 1) >> lane_bits),
            self.prefixes.row.eq(descriptor.entry_base + (self.prefix_slot >> lane_bits)),
            self.prefixes.lane.eq(self.prefix_slot[:lane_bits] if lane_bits else 0),
            self.index.bucket.eq(self.found.bucket),
            self.index.key_slot.eq(descriptor.entry_base + self.slot),
            self.index.key_row.key.eq(op.key),
            self.index.key_row.bucket.eq(self.found.bucket),
            self.index.link_slot.eq(descriptor.entry_base + self.slot),
            self.index.key_read_slot.eq(descriptor.entry_base + self.state.ends.oldest),
            self.order.base.eq(descriptor.entry_base),
            self.order.slot.eq(self.slot),
            self.order.ends.eq(self.state.ends),
            self.visit.base.eq(descriptor.value_base),
            self.visit.mask.eq(self.mask),
            self.copier.task.base.eq(descriptor.value_base),
            self.copier.task.mask.eq(self.mask),
            self.copier.task.length.eq(descriptor.value_bytes),
        ]

    @property
    def mask(self) -> Value:
        """Where the words of a ring come around; of other maps they do not."""
        ring = is_kind(self.descriptor, MapType.RINGBUF)
        return Mux(ring, (self.descriptor.entries >> 3) - 1, Const((1 << 20) - 1, 20))[:20]

    @property
    def is_lookup(self) -> Value:
        """The operation looks a key up, as use or not."""
        return is_command(self.op, Command.LOOKUP, Command.READ)

    def finish(self, value: Value | int, *, answered: Value | int = 0) -> None:
        """Go to the result, with a number."""
        self.m.d.sync += [self.value.eq(value), self.answered.eq(answered)]
        self.m.next = "RESULT"

    def fail(self, error: int) -> None:
        """Go to the result, with an error number."""
        self.finish(Const(-error, 64))

    def address(self, place: Value) -> Value:
        """Address of a place in the operation's map."""
        return value_address(self.op.map, place)

    def first_word(self, slot: Value) -> Value:
        """Word of a slot's value, counted from the map's first."""
        return (slot * self.descriptor.pitch_words)[:20]

    def copy(self, word: Value, *, stores: int, length: Value | None = None) -> None:
        """Begin to copy a value; the result waits for it."""
        task = self.copier.task
        self.m.d.comb += [self.copier.start.eq(1), task.stores.eq(stores), task.offset.eq(word)]
        if length is not None:
            self.m.d.comb += task.length.eq(length)

    def free_slot(self, slot: Value) -> None:
        """Give a slot back, with the state of the map."""
        self.m.d.comb += [
            self._free_write.en.eq(1),
            self._free_write.data.eq(slot),
            self.next_state.freed.eq(self.state.freed + 1),
            self.keep_state.eq(1),
        ]

    @property
    def has_room(self) -> Value:
        """A slot can be given out."""
        return (self.state.freed != 0) | (self.state.fresh < self.descriptor.entries)

    @property
    def next_slot(self) -> Value:
        """The slot that is given out next; a cycle after the operation's begin, or later."""
        return Mux(self.state.freed != 0, self._free_read.data, self.state.fresh)

    def take_slot(self) -> None:
        """Give out `next_slot`."""
        self.m.d.comb += self.keep_state.eq(1)
        with self.m.If(self.state.freed != 0):
            self.m.d.comb += self.next_state.freed.eq(self.state.freed - 1)
        with self.m.Else():
            self.m.d.comb += self.next_state.fresh.eq(self.state.fresh + 1)
