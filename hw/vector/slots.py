"""Which words the instructions in flight still read and write, and who has to wait for them."""

from collections.abc import Callable

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, Signature

from fanweave.hw.reduction import or_tree
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import address_bits
from fanweave.hw.vector.plans import slot_bits, slot_ranges

__all__ = ["LANES", "UNITS", "SlotTable"]

#: Units that work beat by beat; and those that every vector unit has.
LANES, UNITS = 2, 4
#: The port of loads behind those of the lanes, and Ventaglio's, where it reads and is done.
LOADS, PRODUCTS = 2, 2


class SlotTable(wiring.Component):
    """Holds an instruction from dispatch until its last write.

    A word waits for an older instruction as long as that has not read or written beyond it. Slots
    are taken in turn, so that an instruction which waits is the oldest in the end, and waits for
    nobody then.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    begins : stream in of `slot_ranges`; following : Out
        A new instruction, and the slot that it gets.
    reads : array of {slot, address : In; blocked : Out}
        Whether an instruction in the lanes or in Ventaglio, or at last a store, may not read a
        word yet: an older one writes it.
    writes : array of the same
        Whether an instruction in the lanes, or a load, may not write a word yet: an older one
        reads or writes it.
    masks : array of {slot : In; blocked : Out}
        Whether it may not use v0 yet.
    transfers : array of {slot : In; blocked : Out}
        Whether an instruction of other units, which reads and writes in any order, has to wait
        for any of its words; a load or store, for its indices and its mask.
    asked : In of `slot_ranges`; asked_blocked : Out(1)
        Whether an instruction that has no slot yet may not read vs2, or its mask, yet.
    read_vs2, read_vs1 : array of {enable, slot, address : In}
        The lanes, or Ventaglio, have read a word, and so all below it.
    fetched : array of {enable, slot : In}
        They have read everything.
    read_masks : array of {enable, slot : In}
        Ventaglio has read all that it needs of v0.
    written : array of {enable, slot, address : In}
        All words below the address are written: by the lanes, and by loads.
    done : array of {enable, slot : In}
        The instruction is over, by unit.
    live : Out(slots); floats, saturates : Out(1)
        Slots in use; whether one of them may still set flags or ``vxsat``.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        slot, address = slot_bits(config), address_bits(config)
        word = Signature({"slot": In(slot), "address": In(address), "blocked": Out(1)})
        whole = Signature({"slot": In(slot), "blocked": Out(1)})
        at = Signature({"enable": In(1), "slot": In(slot), "address": In(address + 1)})
        over = Signature({"enable": In(1), "slot": In(slot)})
        products = int(config.ventaglio is not None)
        super().__init__(
            {
                "begins": In(stream.Signature(slot_ranges(config))),
                "following": Out(slot),
                "reads": Out(word).array(3 * LANES + 2 * products + 1),
                "writes": Out(word).array(LANES + 1),
                "masks": Out(whole).array(LANES + products),
                "transfers": Out(whole).array(UNITS - LANES),
                "asked": In(slot_ranges(config)),
                "asked_blocked": Out(1),
                "read_vs2": Out(at).array(LANES + products),
                "read_vs1": Out(at).array(LANES + products),
                "fetched": Out(over).array(LANES + products),
                "read_masks": Out(over).array(products),
                "written": Out(at).array(LANES + 1),
                "done": Out(over).array(UNITS + products),
                "live": Out(config.slots),
                "floats": Out(1),
                "saturates": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slots = range(self.config.slots)
        self._ranges = [Signal(slot_ranges(self.config), name=f"ranges_{n}") for n in slots]
        #: Slots of older instructions; whether there is still something to read.
        self._older = [Signal(len(slots), name=f"older_{n}") for n in slots]
        self._reading = [Signal(name=f"reading_{n}") for n in slots]
        self._move(m)
        over = Signal(len(slots))
        for number in slots:
            ends = [done.enable & (done.slot == number) for done in self.done]
            m.d.comb += over[number].eq(or_tree(ends))
        self._begin(m, over)
        self._check(m)
        m.d.comb += [
            self.floats.eq(self._any(lambda n: self._ranges[n].floats)),
            self.saturates.eq(self._any(lambda n: self._ranges[n].saturates)),
        ]
        return m

    def _any(self, condition: Callable[[int], Value]) -> Value:
        return or_tree([self.live[n] & condition(n) for n in range(self.config.slots)])

    def _move(self, m: Module) -> None:
        """The first word that is left, of what is read and written."""
        for ports, name in (
            (self.read_vs2, "vs2"),
            (self.read_vs1, "vs1"),
            (self.written, "vd"),
        ):
            for number, ranges in enumerate(self._ranges):
                for port in ports:
                    with m.If(port.enable & (port.slot == number)):
                        m.d.sync += ranges[name].first.eq(port.address)
        for number, ranges in enumerate(self._ranges):
            for port in self.read_masks:
                with m.If(port.enable & (port.slot == number)):
                    m.d.sync += ranges.mask.eq(0)
        for number, reading in enumerate(self._reading):
            for port in self.fetched:
                with m.If(port.enable & (port.slot == number)):
                    m.d.sync += reading.eq(0)

    def _begin(self, m: Module, over: Value) -> None:
        begins = Signal()
        m.d.comb += [
            self.begins.ready.eq(~self.live.bit_select(self.following, 1)),
            begins.eq(self.begins.valid & self.begins.ready),
        ]
        remaining = self.live & ~over
        m.d.sync += self.live.eq(remaining)
        for older in self._older:
            m.d.sync += older.eq(older & ~over)
        with m.If(begins):
            m.d.sync += self.following.eq(self.following + 1)
            with m.Switch(self.following):
                for number, ranges in enumerate(self._ranges):
                    with m.Case(number):
                        m.d.sync += [
                            ranges.eq(self.begins.payload),
                            self._older[number].eq(remaining),
                            self._reading[number].eq(1),
                            self.live[number].eq(1),
                        ]

    def _select(self, slot: Value) -> Value:
        """Older slots of a slot."""
        return or_tree([Mux(slot == n, older, 0) for n, older in enumerate(self._older)])

    def _writes_mask(self, number: int) -> Value:
        vd = self._ranges[number].vd
        return (vd.first < self.config.words) & (vd.first != vd.end)

    def _check(self, m: Module) -> None:
        slots, words = range(self.config.slots), self.config.words
        for read in self.reads:
            older = self._select(read.slot)
            waits = [_has(self._ranges[n].vd, read.address) for n in slots]
            m.d.comb += read.blocked.eq((older & Cat(waits)).any())
        for write in self.writes:
            older = self._select(write.slot)
            waits = []
            for number in slots:
                ranges, address = self._ranges[number], write.address
                reads = _has(ranges.vs2, address) | _has(ranges.vs1, address)
                reads = reads | (ranges.mask & (address < words))
                waits.append(_has(ranges.vd, address) | (reads & self._reading[number]))
            m.d.comb += write.blocked.eq((older & Cat(waits)).any())
        for mask in self.masks:
            waits = [self._writes_mask(n) for n in slots]
            m.d.comb += mask.blocked.eq((self._select(mask.slot) & Cat(waits)).any())
        for number, transfer in enumerate(self.transfers):
            self._check_transfer(m, transfer, word_by_word=number + LANES == LOADS)
        asked = self.asked
        m.d.comb += self.asked_blocked.eq(
            self._any(
                lambda n: _meet(self._ranges[n].vd, asked.vs2) | (asked.mask & self._writes_mask(n))
            )
        )

    def _check_transfer(
        self, m: Module, transfer: wiring.PureInterface, *, word_by_word: bool
    ) -> None:
        """All of an instruction's words at once, but for those that are asked for one by one."""
        own = Signal.like(self._ranges[0], name=f"own_{transfer.slot.name}")
        m.d.comb += own.eq(
            or_tree(
                [
                    Mux(transfer.slot == n, ranges.as_value(), 0)
                    for n, ranges in enumerate(self._ranges)
                ]
            )
        )
        waits = []
        for number, ranges in enumerate(self._ranges):
            after_write = _meet(ranges.vd, own.vs2) | (own.mask & self._writes_mask(number))
            if word_by_word:
                waits.append(after_write)
                continue
            after_write = after_write | _meet(ranges.vd, own.vs1)
            writes_mask = (own.vd.first < self.config.words) & (own.vd.first != own.vd.end)
            after_read = _meet(ranges.vs2, own.vd) | _meet(ranges.vs1, own.vd)
            after_read = after_read | (ranges.mask & writes_mask)
            before_write = _meet(ranges.vd, own.vd) | (after_read & self._reading[number])
            waits.append(after_write | before_write)
        m.d.comb += transfer.blocked.eq((self._select(transfer.slot) & Cat(waits)).any())


def _has(words: data.View, address: ValueLike) -> Value:
    """Whether a word is in a range."""
    return (words.first <= address) & (address < words.end)


def _meet(a: data.View, b: data.View) -> Value:
    """Whether ranges have words in common."""
    return (a.first < b.end) & (b.first < a.end) & (a.first != a.end) & (b.first != b.end)
