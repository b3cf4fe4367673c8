"""Requests to a device and its answers: where tags are given and answers find their hosts."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.hdl import Const, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import Channel, Direction, RwdOpcode
from fanweave.golden.isa.cxl_messages import (
    ADDRESS_BITS,
    ANSWERS,
    LD_BITS,
    TAG_BITS,
    Snoop,
    answers_of,
)
from fanweave.hw.cxl.credits import CreditReceiver, CreditSender
from fanweave.hw.cxl.event_source import EventSource, fill_event
from fanweave.hw.cxl.locate import page_of
from fanweave.hw.cxl.payloads import (
    HOST_BITS,
    TIME_BITS,
    Rule,
    Unanswered,
    Watch,
    event_layout,
    message_layout,
    route_layout,
)
from fanweave.hw.cxl.tag_table import TagTable

__all__ = ["DeviceAnswers", "DeviceRequests", "Open", "wanted_answers"]

#: Bits of what an entry of the tag table waits for.
NDR, DRS = 0, 1


class Open(data.Struct):
    """What the table keeps of a request."""

    host: HOST_BITS
    tag: TAG_BITS
    ld_id: LD_BITS
    address: ADDRESS_BITS
    born: TIME_BITS
    conflict: 1
    copy: 1


def wanted_answers(m: Module, channel: Channel, message: data.View) -> Signal:
    """A bit for NDR and one for DRS that a request is answered on, from the table."""
    wanted = Signal(2, name=f"wanted_{channel.name.lower()}")
    with m.Switch(message.opcode):
        for opcode in ANSWERS[channel]:
            plain, snooping = (
                (Channel.S2M_NDR in answers) << NDR | (Channel.S2M_DRS in answers) << DRS
                for answers in (
                    answers_of(channel, opcode, Snoop.NO_OP),
                    answers_of(channel, opcode, Snoop.INVALIDATE),
                )
            )
            with m.Case(opcode):
                m.d.comb += wanted.eq(Mux(message.snoop == Snoop.NO_OP, plain, snooping))
    return wanted


class DeviceRequests(wiring.Component):
    """Gives requests of one channel the device's tags and sends them.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    channel : Channel
        ``M2S_REQ`` or ``M2S_RWD``; the highest bit of a tag says which.

    Members
    -------
    i : stream in of a struct of ``source`` and ``payload``
        From a crossbar.
    o : stream out of the message; credit : In(1)
    now, timeout, dead : In
    find_{n}_... : see `TagTable`, with tags without their highest bit
        n = 0 for NDR; 1 for DRS, if the channel is ``M2S_REQ``.
    unanswered : stream out of `Unanswered`
        Requests that nobody answered in time. Those of copies are dropped.
    lost, stuck, overflow, sent : Out(1)
        A request timed out; see `CreditSender`; a request went on its way.
    level : Out
        Requests that wait for an answer.
    watch : In(Watch); note_all, note_watched : In(1); noted : Out(1)
        A page whose requests are marked; see `TagTable`, whose special entries they are.
    """

    def __init__(self, *, config: SwitchConfig, channel: Channel) -> None:
        self.config = config
        self.channel = channel
        self.finders = 2 if channel is Channel.M2S_REQ else 1
        inward = data.StructLayout(
            {"source": range(config.upstream + 1), "payload": route_layout(channel)}
        )
        members: dict[str, object] = {}
        for n in range(self.finders):
            members |= {
                f"find_{n}_tag": In(TAG_BITS - 1),
                f"find_{n}_entry": Out(Open),
                f"find_{n}_waits": Out(2),
                f"find_{n}_done": In(2),
            }
        super().__init__(
            {
                "i": In(stream.Signature(inward)),
                "o": Out(stream.Signature(message_layout(channel))),
                "credit": In(1),
                "now": In(TIME_BITS),
                "timeout": In(24),
                "dead": In(1),
                "unanswered": Out(stream.Signature(Unanswered)),
                "lost": Out(1),
                "stuck": Out(1),
                "overflow": Out(1),
                "sent": Out(1),
                "level": Out(range(config.slots + 1)),
                "watch": In(Watch),
                "note_all": In(1),
                "note_watched": In(1),
                "noted": Out(1),
                **members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = message_layout(self.channel)
        m.submodules.table = table = TagTable(
            shape=Open,
            slots=self.config.slots,
            tag_bits=TAG_BITS - 1,
            waits=2,
            finders=self.finders,
        )
        m.submodules.sender = sender = CreditSender(shape=layout, credits=self.config.credits)
        route, message = self.i.payload.payload, self.i.payload.payload.message
        wanted = wanted_answers(m, self.channel, message)
        may = ~wanted.any() | table.free
        kind = Const(int(self.channel is Channel.M2S_RWD), 1)
        m.d.comb += [
            sender.i.valid.eq(self.i.valid & may),
            self.i.ready.eq(sender.i.ready & may),
            self.sent.eq(sender.i.valid & sender.i.ready),
            table.take.eq(self.sent & wanted.any()),
            table.wanted.eq(wanted),
            sender.i.payload.eq(message),
            sender.i.payload.ld_id.eq(route.ld_id),
            sender.i.payload.tag.eq(Mux(wanted.any(), Cat(table.tag, kind), message.tag)),
            table.entry.host.eq(self.i.payload.source),
            table.entry.tag.eq(message.tag),
            table.entry.ld_id.eq(message.ld_id),
            table.entry.address.eq(message.address),
            table.entry.born.eq(self.now),
            table.entry.copy.eq(route.copy),
            self.level.eq(table.level),
            table.special.eq(
                self.watch.valid
                & (self.i.payload.source == self.watch.host)
                & (page_of(message.address) == self.watch.page)
            ),
            table.note_all.eq(self.note_all),
            table.note_special.eq(self.note_watched),
            self.noted.eq(table.noted),
            *(getattr(table, name).eq(getattr(self, name)) for name in ("now", "timeout", "dead")),
            sender.credit.eq(self.credit),
            sender.down.eq(self.dead),
            sender.timeout.eq(self.timeout),
            self.stuck.eq(sender.stuck),
            self.overflow.eq(sender.overflow),
        ]
        if self.channel is Channel.M2S_RWD:
            m.d.comb += table.entry.conflict.eq(message.opcode == RwdOpcode.BI_CONFLICT)
        for n in range(self.finders):
            for end in ("tag", "done"):
                m.d.comb += getattr(table, f"find_{n}_{end}").eq(getattr(self, f"find_{n}_{end}"))
            for end in ("entry", "waits"):
                m.d.comb += getattr(self, f"find_{n}_{end}").eq(getattr(table, f"find_{n}_{end}"))
        wiring.connect(m, sender.o, wiring.flipped(self.o))
        self._expired(m, table)
        return m

    def _expired(self, m: Module, table: TagTable) -> None:
        late = table.expired
        entry, out = late.payload.entry, self.unanswered.payload
        m.d.comb += [
            self.unanswered.valid.eq(late.valid & ~entry.copy),
            late.ready.eq(entry.copy | self.unanswered.ready),
            self.lost.eq(self.unanswered.valid & self.unanswered.ready),
            out.host.eq(entry.host),
            out.tag.eq(entry.tag),
            out.ld_id.eq(entry.ld_id),
            out.conflict.eq(entry.conflict),
            out.lost.eq(1),
            Cat(out.ndr, out.drs).eq(late.payload.waits),
        ]


class DeviceAnswers(wiring.Component):
    """Answers of one channel of a device: the table says whose they are, or nobody's.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    device : int
        Number of the device's port, from 0.
    channel : Channel
        ``S2M_NDR`` or ``S2M_DRS``.

    Members
    -------
    i : stream in of the message; credit : Out(1)
    dead, now, rules : In
        While the port is dead, what it sends is dropped.
    req_tag, req_done, rwd_tag, rwd_done : Out; req_entry, req_waits, ... : In
        To the finders of the tables; those of writes are for NDR only.
    o : stream out of a struct of ``target`` and ``payload``
        To a crossbar.
    events : stream out of `event_layout`
    dev_load : Out(2); loaded : Out(1)
        What an answer says about the device, and that one came.
    unknown, dropped : Out(1)
        An answer was nobody's; an event found no place.
    """

    def __init__(self, *, config: SwitchConfig, device: int, channel: Channel) -> None:
        self.config = config
        self.device = device
        self.channel = channel
        self.bit = NDR if channel is Channel.S2M_NDR else DRS
        self.tables = ("req", "rwd") if self.bit == NDR else ("req",)
        layout = message_layout(channel)
        outward = data.StructLayout({"target": range(config.upstream + 1), "payload": layout})
        members: dict[str, object] = {}
        for name in self.tables:
            members |= {
                f"{name}_tag": Out(TAG_BITS - 1),
                f"{name}_entry": In(Open),
                f"{name}_waits": In(2),
                f"{name}_done": Out(2),
            }
        super().__init__(
            {
                "i": In(stream.Signature(layout)),
                "credit": Out(1),
                "dead": In(1),
                "now": In(TIME_BITS),
                "rules": In(data.ArrayLayout(Rule, config.rules)),
                "o": Out(stream.Signature(outward)),
                "events": Out(stream.Signature(event_layout())),
                "dev_load": Out(2),
                "loaded": Out(1),
                "unknown": Out(1),
                "dropped": Out(1),
                **members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = message_layout(self.channel)
        m.submodules.receiver = receiver = CreditReceiver(shape=layout, credits=self.config.credits)
        wiring.connect(m, wiring.flipped(self.i), receiver.i)
        came, message = receiver.o, receiver.o.payload
        entry, found, moves = Signal(Open), Signal(), Signal()
        for number, name in enumerate(self.tables):
            mine = message.tag[-1] == number
            with m.If(mine):
                m.d.comb += [
                    entry.eq(getattr(self, f"{name}_entry")),
                    found.eq(getattr(self, f"{name}_waits")[self.bit] & ~self.dead),
                ]
            m.d.comb += [
                getattr(self, f"{name}_tag").eq(message.tag[:-1]),
                getattr(self, f"{name}_done")[self.bit].eq(moves & mine & found),
            ]
        mine = found & ~entry.copy
        out = self.o.payload
        m.d.comb += [
            self.credit.eq(receiver.credit),
            self.o.valid.eq(came.valid & mine),
            came.ready.eq(~mine | self.o.ready),
            moves.eq(came.valid & came.ready),
            out.target.eq(entry.host),
            out.payload.eq(message),
            out.payload.tag.eq(entry.tag),
            out.payload.ld_id.eq(entry.ld_id),
            self.dev_load.eq(message.dev_load),
            self.loaded.eq(moves & ~self.dead),
            self.unknown.eq(moves & ~found & ~self.dead),
        ]
        # Answers to the switch itself raise no events.
        self._observe(m, message, entry, moves & mine & (entry.host != self.config.upstream))
        return m

    def _observe(self, m: Module, message: data.View, entry: data.View, fire: Value) -> None:
        port = self.config.upstream + self.device
        m.submodules.source = source = EventSource(
            channel=self.channel, port=port, rules=self.config.rules
        )
        fill_event(
            m,
            source.event,
            message,
            address=entry.address,
            latency_ns=(self.now - entry.born)[:TIME_BITS] * self.config.clock_ns,
            tag=entry.tag,
            port=port,
            island=entry.host,
            direction=Direction.S2M,
            channel=self.channel,
        )
        m.d.comb += [
            source.rules.eq(self.rules),
            source.fire.eq(fire),
            source.host.eq(entry.host),
            self.dropped.eq(source.dropped),
        ]
        wiring.connect(m, source.o, wiring.flipped(self.events))
