"""The tables of moved pages: which page may move where, and what becomes of its entry."""

from amaranth import Const, Module, Signal
from amaranth.hdl import Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.hw.cxl.locate import groups_of, same_device
from fanweave.hw.cxl.payloads import (
    GROUP_BITS,
    HOST_BITS,
    MOVE_BITS,
    PAGE_BITS,
    Binding,
    moved_page_layout,
)

__all__ = ["MoveTable"]


class MoveTable(wiring.Component):
    """Entries of all hosts, and what they say about one page.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    pages : Out
        The entries of each host.
    host, page, target : In
        The page in question, and where it shall go.
    fresh, onward, further, back, present : Out(1)
        It has no entry and one is free; it goes on from where it was moved; the rest of it
        follows; what went away comes back; all of it is there. None of these: it cannot go.
    entry : Out
        Its entry, or the free one.
    there : Out
        Groups that are there.
    begin, flip, finish, home, give_up : In(1); group : In
        It begins to move there; a group is there; all of it is, and with ``home`` where its ranges
        say; it does not go on.
    busy : In(1)
        It moves: its entry stays.
    forget : In, a bit an entry
        The host drops it.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        self.groups = groups_of(config)
        row = data.ArrayLayout(moved_page_layout(self.groups), config.moves)
        super().__init__(
            {
                "pages": Out(data.ArrayLayout(row, config.upstream)),
                "host": In(HOST_BITS),
                "page": In(PAGE_BITS),
                "target": In(Binding),
                **{name: Out(1) for name in ("fresh", "onward", "further", "back", "present")},
                "entry": Out(MOVE_BITS),
                "there": Out(self.groups),
                **{name: In(1) for name in ("begin", "flip", "finish", "home", "give_up")},
                "group": In(GROUP_BITS),
                "busy": In(1),
                "forget": In(data.ArrayLayout(config.moves, config.upstream)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        hit, free = Signal(), Signal()
        number, free_number = Signal(MOVE_BITS), Signal(MOVE_BITS)
        found = Signal(moved_page_layout(self.groups))
        for host in range(config.upstream):
            for place in reversed(range(config.moves)):
                row = self.pages[host][place]
                with m.If((self.host == host) & row.valid & (row.page == self.page)):
                    m.d.comb += [hit.eq(1), number.eq(place), found.eq(row)]
                with m.If((self.host == host) & ~row.valid):
                    m.d.comb += [free.eq(1), free_number.eq(place)]
        whole, there, was_there = found.there.all(), Signal(), Signal()
        m.d.comb += [
            there.eq(same_device(found.new, self.target)),
            was_there.eq(found.old.bound & same_device(found.old, self.target)),
            self.fresh.eq(~hit & free),
            self.onward.eq(hit & whole & ~there),
            self.further.eq(hit & ~whole & there),
            self.back.eq(hit & ~whole & ~there & was_there),
            self.present.eq(hit & whole & there),
            self.there.eq(found.there),
            self.entry.eq(free_number),
        ]
        with m.If(hit):
            m.d.comb += self.entry.eq(number)
        for host in range(config.upstream):
            for place in range(config.moves):
                chosen = (self.host == host) & (self.entry == place)
                self._row(m, self.pages[host][place], chosen, self.forget[host][place])
        return m

    def _row(self, m: Module, row: data.View, chosen: Value, forget: Value) -> None:
        ends = self.finish | self.give_up
        with m.If(chosen & self.begin):
            m.d.sync += row.new.eq(self.target)
            with m.If(self.fresh):
                m.d.sync += [row.valid.eq(1), row.page.eq(self.page)]
                m.d.sync += [row.old.eq(Const(0, Binding)), row.there.eq(0)]
            with m.Elif(self.onward):
                m.d.sync += [row.old.eq(row.new), row.there.eq(0)]
            with m.Elif(self.back):
                m.d.sync += [row.old.eq(row.new), row.there.eq(~row.there)]
        with m.If(chosen & self.flip):
            m.d.sync += row.there.bit_select(self.group, 1).eq(1)
        with m.If(chosen & self.finish):
            m.d.sync += [row.old.eq(Const(0, Binding)), row.valid.eq(~self.home)]
        with m.If(chosen & self.give_up & (row.there == 0)):
            # Nothing went: the entry is what it was before.
            m.d.sync += [row.new.eq(row.old), row.valid.eq(row.old.bound)]
            m.d.sync += [row.old.eq(Const(0, Binding)), row.there.eq(~Const(0, self.groups))]
        with m.If(forget & ~(chosen & (self.begin | (self.busy & ~ends)))):
            m.d.sync += row.valid.eq(0)
