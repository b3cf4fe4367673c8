"""The hardware filter in front of the policy engine: which messages become events."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cxl_event import Channel
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS, LINE_BYTES
from fanweave.hw.cxl.payloads import (
    HOST_BITS,
    SEQUENCE_BITS,
    EventPayload,
    Rule,
    copy_fields,
    event_layout,
)
from fanweave.hw.reduction import choose

__all__ = ["EventSource", "fill_event"]

_LINE_SHIFT = (LINE_BYTES - 1).bit_length()


def fill_event(m: Module, event: data.View, message: data.View, **more: Value | int) -> None:
    """Drive an event from a message: fields of the same name, digest, and what is given.

    Parameters
    ----------
    m : Module
        Where.
    event : view of `EventPayload`
        The event.
    message : view of a message
        The message.
    **more : Value or int
        Other fields, or other values for fields; ``address`` is a line's.
    """
    copy_fields(m, event, message)
    names = {name for name, _ in message.shape()}
    if "address" in names:
        more = {"address": message.address, **more}
    if "bi_tag" in names:
        m.d.comb += event.tag.eq(message.bi_tag)
    if "data" in names:
        digest = message.data[:64]
        for word in range(1, 8):
            digest = digest ^ message.data[64 * word : 64 * word + 64]
        m.d.comb += event.payload_digest.eq(digest)
    for name, value in more.items():
        if name == "address":
            value = Cat(Value.cast(0)[:1].replicate(_LINE_SHIFT), value)
        m.d.comb += event[name].eq(value)


class EventSource(wiring.Component):
    """Matches messages of one channel of one port, and keeps one event until it is taken.

    Parameters
    ----------
    channel : Channel
        Kind of message.
    port : int
        Number of the port, hosts first.
    rules : int
        Rules of the filter.

    Members
    -------
    rules : In
        The filter.
    fire : In(1); event : In; host : In; sequence : In
        A message passes in this cycle.
    inline, deny : Out(1)
        It waits for a verdict, and the default is to deny; in the same cycle. A message whose
        event finds no place does not wait, and the default holds.
    dropped : Out(1)
        Its event found no place.
    o : stream out of `event_layout`
    """

    def __init__(self, *, channel: Channel, port: int, rules: int) -> None:
        self.channel = channel
        self.port = port
        self.count = rules
        super().__init__(
            {
                "rules": In(data.ArrayLayout(Rule, rules)),
                "fire": In(1),
                "event": In(EventPayload),
                "host": In(HOST_BITS),
                "sequence": In(SEQUENCE_BITS),
                "inline": Out(1),
                "deny": Out(1),
                "dropped": Out(1),
                "o": Out(stream.Signature(event_layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        page = (self.event.address >> 12)[: ADDRESS_BITS - 6]
        fits = Signal(self.count)
        chosen = Signal(self.count)
        sampled = Signal(self.count)
        m.d.comb += chosen.eq(fits & (~fits + 1))
        for number in range(self.count):
            rule = self.rules[number]
            passed = Signal(16, name=f"passed_{number}")
            m.d.comb += [
                fits[number].eq(
                    rule.enable
                    & rule.ports[self.port]
                    & rule.channels[self.channel]
                    & rule.opcodes.bit_select(self.event.opcode[:4], 1)
                    & (page >= rule.first)
                    & (page <= rule.last)
                ),
                sampled[number].eq(chosen[number] & (passed == 0)),
            ]
            with m.If(~rule.enable):
                m.d.sync += passed.eq(0)
            with m.Elif(self.fire & chosen[number]):
                m.d.sync += passed.eq(Mux(passed == rule.skip, 0, passed + 1))
        raised, place = Signal(), Signal()
        wants = choose(sampled, [self.rules[n].inline for n in range(self.count)])
        m.d.comb += [
            raised.eq(self.fire & sampled.any()),
            place.eq(~self.o.valid | self.o.ready),
            self.dropped.eq(raised & ~place),
            self.inline.eq(raised & place & wants),
            self.deny.eq(
                raised & wants & choose(sampled, [self.rules[n].deny for n in range(self.count)])
            ),
        ]
        with m.If(place):
            m.d.sync += [
                self.o.valid.eq(raised),
                self.o.payload.event.eq(self.event),
                self.o.payload.program.eq(
                    choose(sampled, [self.rules[n].program for n in range(self.count)])
                ),
                self.o.payload.host.eq(self.host),
                self.o.payload.inline.eq(wants),
                self.o.payload.sequence.eq(self.sequence),
            ]
        return m
