"""What is on its way: gives each request a tag of the switch's own, and knows it again by that.

Two hosts may use the same tags, since a device sees only the table's. A tag is a slot and how
often the table went round when it was given, so an answer that comes late or twice finds
nothing.
"""

from collections.abc import Sequence

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.hdl import Shape, ShapeLike, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.cxl.payloads import TIME_BITS
from fanweave.hw.reduction import count_ones, or_tree

__all__ = ["TagTable"]


class TagTable(wiring.Component):
    """Slots with an entry each, which wait for up to `waits` answers.

    Parameters
    ----------
    shape
        Shape of an entry.
    slots : int
        A power of two.
    tag_bits : int
        Width of a tag.
    waits : int
        Bits that say which answers an entry waits for.
    finders : int
        Answers that are looked up in a cycle.

    Members
    -------
    free : Out(1); tag : Out
        Whether a slot is free, and the tag that the next entry gets.
    take : In(1); entry : In; wanted : In(waits)
        An entry begins to wait; only while ``free``, with at least one bit wanted.
    find_{n}_tag : In; find_{n}_entry : Out; find_{n}_waits : Out(waits)
        What a tag stands for, combinational; no bits if nothing.
    find_{n}_done : In(waits)
        These answers came. Two finders never name the same bit of a slot in a cycle.
    now : In(TIME_BITS); timeout : In(24); dead : In(1)
        Entries older than the timeout, or all while ``dead``, leave by ``expired``.
    expired : stream out of a struct of ``entry`` and ``waits``
    level : Out
        Slots in use.
    special : In(1)
        Whether the entry that is taken is one to look after.
    note_all, note_special : In(1); noted : Out(1)
        Notes the slots that are open in this cycle, or those of them whose entry is special; from
        the next cycle on ``noted`` says whether one of them is still open.
    """

    def __init__(
        self, *, shape: ShapeLike, slots: int, tag_bits: int, waits: int, finders: int
    ) -> None:
        self.slots = slots
        self.waits = waits
        self.finders = finders
        self.slot_bits = (slots - 1).bit_length()
        self.round_bits = tag_bits - self.slot_bits
        if slots < 2 or slots & slots - 1 or self.round_bits < 1:
            raise ValueError(f"slots = {slots} must be a power of two below 2**{tag_bits}")
        entry = Shape.cast(shape).width
        self.stored = data.StructLayout(
            {"entry": entry, "round": self.round_bits, "born": TIME_BITS}
        )
        finder_members: dict[str, object] = {}
        for n in range(finders):
            finder_members |= {
                f"find_{n}_tag": In(tag_bits),
                f"find_{n}_entry": Out(shape),
                f"find_{n}_waits": Out(waits),
                f"find_{n}_done": In(waits),
            }
        expired = data.StructLayout({"entry": shape, "waits": waits})
        super().__init__(
            {
                "free": Out(1),
                "tag": Out(tag_bits),
                "take": In(1),
                "entry": In(shape),
                "wanted": In(waits),
                "now": In(TIME_BITS),
                "timeout": In(24),
                "dead": In(1),
                "expired": Out(stream.Signature(expired)),
                "level": Out(range(slots + 1)),
                "special": In(1),
                "note_all": In(1),
                "note_special": In(1),
                "noted": Out(1),
                **finder_members,
            }
        )
        #: Answers that each slot waits for; for proofs.
        self.open = Array(Signal(waits, name=f"open_{slot}") for slot in range(slots))
        #: Where the search for a free slot begins, and the times that it went round.
        self.place = Signal(range(slots))
        self.round = Signal(self.round_bits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=self.stored, depth=self.slots, init=[])
        slot = self._choose(m)
        write = storage.write_port()
        used = Signal(self.slots)
        m.d.comb += [
            write.addr.eq(slot),
            write.en.eq(self.take),
            write.data.entry.eq(Value.cast(self.entry)),
            write.data.round.eq(self.tag[self.slot_bits :]),
            write.data.born.eq(self.now),
            used.eq(Cat(bits.any() for bits in self.open)),
            self.level.eq(count_ones(used)),
        ]
        done = [self._find(m, storage, n) for n in range(self.finders)]
        gone = self._expire(m, storage, done)
        for number, bits in enumerate(self.open):
            closed = or_tree([Mux(place == number, answered, 0) for place, answered in done])
            with m.If(self.take & (slot == number)):
                m.d.sync += bits.eq(self.wanted)
            with m.Elif(gone & (self._scanned == number)):
                m.d.sync += bits.eq(0)
            with m.Else():
                m.d.sync += bits.eq(bits & ~closed)
        self._note(m, used, slot)
        return m

    def _note(self, m: Module, used: Value, slot: Value) -> None:
        """A slot that closes is not noted any more, whatever it gets next."""
        special, noted = Signal(self.slots), Signal(self.slots)
        with m.If(self.take):
            m.d.sync += special.bit_select(slot, 1).eq(self.special)
        with m.If(self.note_all):
            m.d.sync += noted.eq(used)
        with m.Elif(self.note_special):
            m.d.sync += noted.eq(used & special)
        with m.Else():
            m.d.sync += noted.eq(noted & used)
        m.d.comb += self.noted.eq((noted & used).any())

    def _choose(self, m: Module) -> Value:
        """The next free slot round the table; the tag counts rounds."""
        slot, beyond = Signal(self.slot_bits), Signal()
        free, ahead = Signal(self.slots), Signal(self.slots)
        m.d.comb += [
            free.eq(Cat(~bits.any() for bits in self.open)),
            self.free.eq(free.any()),
            ahead.eq(free & (Const((1 << self.slots) - 1) << self.place)),
            self.tag.eq(Cat(slot, self.round + ~beyond)),
        ]
        for number in reversed(range(self.slots)):
            with m.If(free[number]):
                m.d.comb += slot.eq(number)
        for number in reversed(range(self.slots)):
            with m.If(ahead[number]):
                m.d.comb += [slot.eq(number), beyond.eq(1)]
        following = Signal(self.slot_bits + 1)
        m.d.comb += following.eq(slot + 1)
        with m.If(self.take):
            m.d.sync += [
                self.place.eq(following),
                self.round.eq(self.round + ~beyond + following[-1]),
            ]
        return slot

    def _find(self, m: Module, storage: Memory, n: int) -> tuple[Value, Value]:
        tag = getattr(self, f"find_{n}_tag")
        place = tag[: self.slot_bits]
        read = storage.read_port(domain="comb")
        waits = getattr(self, f"find_{n}_waits")
        m.d.comb += [
            read.addr.eq(place),
            Value.cast(getattr(self, f"find_{n}_entry")).eq(read.data.entry),
        ]
        with m.If(read.data.round == tag[self.slot_bits :]):
            m.d.comb += waits.eq(self.open[place])
        answered = Signal(self.waits, name=f"answered_{n}")
        m.d.comb += answered.eq(getattr(self, f"find_{n}_done") & waits)
        return place, answered

    def _expire(self, m: Module, storage: Memory, done: Sequence[tuple[Value, Value]]) -> Value:
        """Looks at one slot a cycle; an answer that comes in just that cycle goes first."""
        self._scanned = scanned = Signal(range(self.slots))
        gone, old, answered = Signal(), Signal(), Signal()
        read = storage.read_port(domain="comb")
        out = self.expired
        age = (self.now - read.data.born)[:TIME_BITS]
        open_now = Signal(self.waits)
        m.d.comb += [
            open_now.eq(self.open[scanned]),
            read.addr.eq(scanned),
            old.eq(open_now.any() & (self.dead | (age >= self.timeout))),
            answered.eq(Cat((place == scanned) & bits.any() for place, bits in done).any()),
            gone.eq(old & ~answered & ~out.valid),
        ]
        with m.If(gone | ~old | answered):
            m.d.sync += scanned.eq(scanned + 1)
        with m.If(gone):
            m.d.sync += [
                out.valid.eq(1),
                Value.cast(out.payload.entry).eq(read.data.entry),
                out.payload.waits.eq(open_now),
            ]
        with m.Elif(out.ready):
            m.d.sync += out.valid.eq(0)
        return gone
