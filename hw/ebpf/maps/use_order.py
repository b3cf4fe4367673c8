"""The order in which keys of LRU maps were used: lists through the slots, two links a slot."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["Ends", "OrderChange", "UseOrder"]


class OrderChange(enum.Enum, shape=unsigned(2)):
    """What happens to a slot in the order."""

    TOUCH = 0  # it is in the order, and becomes the youngest
    INSERT = 1  # it is not, and becomes the youngest
    REMOVE = 2  # it leaves


class Ends(data.Struct):
    """Youngest and oldest slot of a map; without a meaning while ``empty``."""

    youngest: unsigned(16)
    oldest: unsigned(16)
    empty: unsigned(1)


class UseOrder(wiring.Component):
    """Changes a list in four cycles, whatever its length.

    A slot's links name the next younger and the next older one. *read* fetches the links of the
    slot, *unlink* joins its neighbours, *link* puts it at the young end. Links beyond the ends are
    never looked at, so the memories need no reset.

    Parameters
    ----------
    slots : int
        Slots of all maps; a power of two.

    Members
    -------
    start : In(1)
        Begin a change; only while `ready`.
    ready : Out(1)
    done : Out(1)
        The change ends in this cycle; ``ends_after`` is valid.
    change : In(OrderChange); base : In; slot : In; ends : In(Ends)
        With ``start``: what, the map's first slot, the slot in it, and the ends of its list.
    ends_after : Out(Ends)
        The ends of the list when it is done.
    """

    def __init__(self, *, slots: int) -> None:
        if slots < 2 or slots & slots - 1:
            raise ValueError(f"slots = {slots} must be a power of two of at least 2")
        self.slots = slots
        super().__init__(
            {
                "start": In(1),
                "ready": Out(1),
                "done": Out(1),
                "change": In(OrderChange),
                "base": In(16),
                "slot": In(16),
                "ends": In(Ends),
                "ends_after": Out(Ends),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(self.slots)
        m.submodules.younger = younger_memory = Memory(shape=bits, depth=self.slots, init=[])
        m.submodules.older = older_memory = Memory(shape=bits, depth=self.slots, init=[])
        read_younger, write_younger = younger_memory.read_port(), younger_memory.write_port()
        read_older, write_older = older_memory.read_port(), older_memory.write_port()

        change, base, slot = Signal(OrderChange), Signal(16), Signal(16)
        ends = Signal(Ends)
        is_youngest, is_oldest = Signal(), Signal()
        younger, older = Signal(bits), Signal(bits)
        m.d.comb += [
            read_younger.addr.eq(self.base + self.slot),
            read_older.addr.eq(self.base + self.slot),
            read_younger.en.eq(self.start),
            read_older.en.eq(self.start),
            is_youngest.eq(~ends.empty & (slot == ends.youngest)),
            is_oldest.eq(~ends.empty & (slot == ends.oldest)),
            younger.eq(read_younger.data),
            older.eq(read_older.data),
            self.ends_after.eq(ends),
        ]
        with m.FSM(name="order"):
            with m.State("IDLE"):
                m.d.comb += self.ready.eq(1)
                with m.If(self.start):
                    m.d.sync += [
                        change.eq(self.change),
                        base.eq(self.base),
                        slot.eq(self.slot),
                        ends.eq(self.ends),
                    ]
                    m.next = "UNLINK"
            with m.State("UNLINK"):
                leaves = change != OrderChange.INSERT
                m.d.comb += [
                    write_older.addr.eq(base + younger),
                    write_older.data.eq(older),
                    write_older.en.eq(leaves & ~is_youngest),
                    write_younger.addr.eq(base + older),
                    write_younger.data.eq(younger),
                    write_younger.en.eq(leaves & ~is_oldest),
                ]
                with m.If(leaves):
                    with m.If(is_youngest):
                        m.d.sync += ends.youngest.eq(older)
                    with m.If(is_oldest):
                        m.d.sync += ends.oldest.eq(younger)
                    m.d.sync += ends.empty.eq(is_youngest & is_oldest)
                m.next = "LINK"
            with m.State("LINK"):
                enters = change != OrderChange.REMOVE
                m.d.comb += [
                    write_older.addr.eq(base + slot),
                    write_older.data.eq(ends.youngest),
                    write_older.en.eq(enters),
                    write_younger.addr.eq(base + ends.youngest),
                    write_younger.data.eq(slot),
                    write_younger.en.eq(enters & ~ends.empty),
                ]
                with m.If(enters):
                    m.d.sync += [
                        ends.youngest.eq(slot),
                        ends.oldest.eq(Mux(ends.empty, slot, ends.oldest)),
                        ends.empty.eq(0),
                    ]
                m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m
