"""Moves pages between devices, while their host goes on with them.

Group by group, the lines of a page are held, copied and flipped. Before a group is copied, all
requests for the page that left their entries before the hold are answered, so no write is lost;
while it is copied, none leaves, so none is torn.
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import PAGE_LINES
from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.hw.cxl.line_copier import LineCopier
from fanweave.hw.cxl.locate import groups_of, own_device
from fanweave.hw.cxl.move_table import MoveTable
from fanweave.hw.cxl.payloads import (
    GROUP_BITS,
    Binding,
    Hold,
    Moving,
    Promotion,
    RangeEntry,
    Watch,
    message_layout,
    moved_page_layout,
    route_layout,
)

__all__ = ["MIGRATOR_PULSES", "Migrator"]

#: What it tells the counters, a bit each.
MIGRATOR_PULSES = ("dropped", "moved", "copied", "failed")


class Migrator(wiring.Component):
    """Carries promotions out, one after the other.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    promotions : stream in of `Promotion`; still : In(1)
        While ``still``, they are taken and forgotten.
    ranges, bindings : In
        Of each host.
    forget : In
        For each host, entries of its table that it drops.
    pages : Out
        The tables of moved pages.
    watch : Out(Watch)
        The page that moves: tag tables mark its requests.
    note_all, note_watched : Out(1); noted : In(1)
        To the tag tables: what is open now, or is of the page that moves; some of it still is.
    hold : Out(Hold)
        Requests that wait in their entries.
    mark : Out(1); drained : In(1)
        To the crossbars of requests, for the host that is held.
    req, rwd : streams out of a struct of ``target`` and ``payload``
    ndr, drs : streams in of a struct of ``source`` and ``payload``
        Its own requests, and their answers.
    target : Out(Binding)
        Where the page goes.
    moving : Out(Moving)
        What it does, for observers.
    pulses : Out
        See `MIGRATOR_PULSES`.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        self.groups = groups_of(config)
        hosts = config.upstream
        row = data.ArrayLayout(moved_page_layout(self.groups), config.moves)
        ranges = data.ArrayLayout(RangeEntry, config.decoders)
        bindings = data.ArrayLayout(Binding, config.bindings)
        members: dict[str, object] = {}
        for name, channel in (("req", Channel.M2S_REQ), ("rwd", Channel.M2S_RWD)):
            outward = {"target": range(config.downstream + 1), "payload": route_layout(channel)}
            members[name] = Out(stream.Signature(data.StructLayout(outward)))
        for name, channel in (("ndr", Channel.S2M_NDR), ("drs", Channel.S2M_DRS)):
            inward = {"source": range(config.downstream + 1), "payload": message_layout(channel)}
            members[name] = In(stream.Signature(data.StructLayout(inward)))
        super().__init__(
            {
                "promotions": In(stream.Signature(Promotion)),
                "still": In(1),
                "ranges": In(data.ArrayLayout(ranges, hosts)),
                "bindings": In(data.ArrayLayout(bindings, hosts)),
                "forget": In(data.ArrayLayout(config.moves, hosts)),
                "pages": Out(data.ArrayLayout(row, hosts)),
                "watch": Out(Watch),
                "note_all": Out(1),
                "note_watched": Out(1),
                "noted": In(1),
                "hold": Out(Hold),
                "mark": Out(1),
                "drained": In(1),
                **members,
                "target": Out(Binding),
                "moving": Out(Moving),
                "pulses": Out(data.StructLayout(dict.fromkeys(MIGRATOR_PULSES, 1))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = self._table = MoveTable(config=self.config)
        m.submodules.copier = self._copier = LineCopier(config=self.config)
        self._asked = Signal(Promotion)
        self._group, self._away = Signal(GROUP_BITS), Signal()
        self._own = self._connect(m)
        self._following = Signal(GROUP_BITS)
        for group in reversed(range(self.groups)):
            with m.If(~self._table.there[group]):
                m.d.comb += self._following.eq(group)
        with m.FSM():
            self._choose(m)
            self._settle(m)
            self._copy(m)
        m.d.comb += [
            self.watch.host.eq(self._asked.host),
            self.watch.page.eq(self._asked.page),
            self.hold.host.eq(self._asked.host),
            self.hold.page.eq(self._asked.page),
            self.hold.group.eq(self._group),
            self._table.busy.eq(self.watch.valid),
            self._table.group.eq(self._group),
        ]
        return m

    def _connect(self, m: Module) -> data.View:
        """Parts get the tables of the host in question; returns its device at the target."""
        config, asked = self.config, self._asked
        table, copier = self._table, self._copier
        bindings = Signal(data.ArrayLayout(Binding, config.bindings))
        for host in range(config.upstream):
            with m.If(asked.host == host):
                m.d.comb += [
                    bindings.eq(self.bindings[host]),
                    copier.ranges.eq(self.ranges[host]),
                    copier.pages.eq(table.pages[host]),
                ]
        for name in ("req", "rwd"):
            wiring.connect(m, getattr(copier, name), wiring.flipped(getattr(self, name)))
        for name in ("ndr", "drs"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(copier, name))
        m.d.comb += [
            copier.bindings.eq(bindings),
            copier.target.eq(self.target),
            table.host.eq(asked.host),
            table.page.eq(asked.page),
            table.target.eq(self.target),
            table.forget.eq(self.forget),
            self.pages.eq(table.pages),
            self.pulses.copied.eq(copier.copied),
            self.moving.host.eq(asked.host),
            self.moving.entry.eq(table.entry),
            self.moving.page.eq(asked.page),
            self.moving.group.eq(self._group),
            self.moving.port.eq(self.target.port),
            self.moving.ld_id.eq(self.target.ld_id),
        ]
        return own_device(m, bindings, asked.target, name="own")

    def _choose(self, m: Module) -> None:
        """Takes a promotion that can be carried out, and drops others."""
        table, copier, own = self._table, self._copier, self._own
        stale = ~own.bound | (own != self.target)
        with m.State("IDLE"):
            m.d.comb += self.promotions.ready.eq(1)
            with m.If(self.promotions.valid & ~self.still):
                m.d.sync += self._asked.eq(self.promotions.payload)
                m.next = "FIND"
        with m.State("FIND"):
            m.d.sync += self.target.eq(own)
            m.next = "LOOK"
        with m.State("LOOK"):
            m.next = "IDLE"
            with m.If(stale):
                m.d.comb += self.pulses.dropped.eq(1)
            with m.Elif(table.onward | table.further | table.back):
                self._begin(m)
            with m.Elif(table.fresh):
                m.d.comb += [copier.scan.eq(1), copier.first.eq(self._asked.page * PAGE_LINES)]
                m.next = "SCAN"
            with m.Elif(~table.present):
                m.d.comb += self.pulses.dropped.eq(1)
        with m.State("SCAN"), m.If(copier.done):
            m.next = "IDLE"
            with m.If(copier.failed | stale | ~table.fresh):
                m.d.comb += self.pulses.dropped.eq(1)
            with m.Elif(copier.apart):
                self._begin(m)

    def _begin(self, m: Module) -> None:
        m.d.comb += [self._table.begin.eq(1), self.moving.step.eq(MoveStep.BEGIN)]
        m.d.sync += [
            self.watch.valid.eq(1),
            # Groups that are there already were not looked at.
            self._away.eq(self._table.further | self._table.back),
        ]
        m.next = "NOTE"

    def _settle(self, m: Module) -> None:
        """Until all requests are answered that the tag tables did not mark."""
        with m.State("NOTE"):
            m.d.comb += self.note_all.eq(1)
            m.next = "SETTLE"
        with m.State("SETTLE"), m.If(~self.noted):
            m.next = "NEXT"

    def _copy(self, m: Module) -> None:
        """A group: hold, wait for what is on its way, copy, flip."""
        table, copier = self._table, self._copier
        with m.State("NEXT"):
            with m.If(table.there.all()):
                home = ~self._away
                m.d.comb += [
                    table.finish.eq(1),
                    table.home.eq(home),
                    self.pulses.moved.eq(1),
                    self.moving.step.eq(home + MoveStep.END),
                ]
                m.d.sync += self.watch.valid.eq(0)
                m.next = "IDLE"
            with m.Else():
                m.d.sync += [self._group.eq(self._following), self.hold.valid.eq(1)]
                m.next = "MARK"
        with m.State("MARK"):
            m.d.comb += [self.mark.eq(1), self.moving.step.eq(MoveStep.HOLD)]
            m.next = "DRAIN"
        with m.State("DRAIN"), m.If(self.drained):
            m.d.comb += self.note_watched.eq(1)
            m.next = "ANSWERS"
        with m.State("ANSWERS"), m.If(~self.noted):
            first = self._asked.page * PAGE_LINES + self._group * self.config.move_lines
            m.d.comb += [copier.copy.eq(1), copier.first.eq(first[:ADDRESS_BITS])]
            m.next = "COPY"
        with m.State("COPY"), m.If(copier.done):
            m.d.sync += self.hold.valid.eq(0)
            with m.If(copier.failed):
                m.d.comb += [
                    table.give_up.eq(1),
                    self.pulses.failed.eq(1),
                    self.moving.step.eq(MoveStep.GIVE_UP),
                ]
                m.d.sync += self.watch.valid.eq(0)
                m.next = "IDLE"
            with m.Else():
                m.d.comb += [table.flip.eq(1), self.moving.step.eq(MoveStep.FLIP)]
                m.d.sync += self._away.eq(self._away | copier.elsewhere)
                m.next = "NEXT"
