"""Where requests of a host come in: decoded, matched, held for a verdict, and sent on."""

from itertools import pairwise

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import Channel, Direction, VerdictAction
from fanweave.golden.isa.cxl_messages import ANSWERS
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES
from fanweave.hw.cxl.decode import AddressDecoder
from fanweave.hw.cxl.event_source import EventSource, fill_event
from fanweave.hw.cxl.locate import LineLocator, group_of, groups_of, own_device, page_of
from fanweave.hw.cxl.payloads import (
    SEQUENCE_BITS,
    Binding,
    Decided,
    Decision,
    Failure,
    Hold,
    RangeEntry,
    Rule,
    event_layout,
    message_layout,
    moved_page_layout,
    route_layout,
)

__all__ = ["PULSES", "RequestEntry"]

#: What an entry tells the counters, a bit each.
PULSES = (
    "unmapped",
    "denied",
    "dropped",
    "defaulted",
    "late",
    "refused",
    "redirected",
    "mirrored",
    "bad_opcode",
    "dead",
    "held",
)


class RequestEntry(wiring.Component):
    """A ring of requests, in order; its head leaves when its verdict is there or its wait is over.

    A request enters the ring a cycle after it was taken, already decoded and matched. While later
    ones come in, each waits for its own verdict, so waiting costs latency and no rate.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    host : int
        Number of the port.
    channel : Channel
        ``M2S_REQ`` or ``M2S_RWD``.

    Members
    -------
    i : stream in of the message; credit : Out(1)
    ranges, bindings, pages, rules, wait, dead, dev_load : In
        Tables, cycles to wait for a verdict, dead ports, and how busy devices are.
    hold : In(Hold)
        Lines whose requests wait at the head.
    events : stream out of `event_layout`
    verdict_valid : In(1); verdict_sequence, verdict, verdict_legal : In
        A verdict for one of these requests, and whether it says anything.
    tokens : Out(16); wants_tokens : Out(1); granted : In(1)
        What the head must pay.
    o : stream out of a struct of ``target`` and ``payload``
        To a crossbar, whose last exit is for errors.
    pulses : Out
        See `PULSES`.
    decided : Out of `Decided`
        For observers.
    """

    def __init__(self, *, config: SwitchConfig, host: int, channel: Channel) -> None:
        self.config = config
        self.host = host
        self.channel = channel
        route = route_layout(channel)
        outward = data.StructLayout({"target": range(config.downstream + 1), "payload": route})
        super().__init__(
            {
                "i": In(stream.Signature(message_layout(channel))),
                "credit": Out(1),
                "ranges": In(data.ArrayLayout(RangeEntry, config.decoders)),
                "bindings": In(data.ArrayLayout(Binding, config.bindings)),
                "pages": In(data.ArrayLayout(moved_page_layout(groups_of(config)), config.moves)),
                "hold": In(Hold),
                "rules": In(data.ArrayLayout(Rule, config.rules)),
                "wait": In(5),
                "dead": In(config.downstream),
                "dev_load": In(data.ArrayLayout(2, config.downstream)),
                "events": Out(stream.Signature(event_layout())),
                "verdict_valid": In(1),
                "verdict_sequence": In(SEQUENCE_BITS),
                "verdict": In(Decision),
                "verdict_legal": In(1),
                "tokens": Out(32),
                "wants_tokens": Out(1),
                "granted": In(1),
                "o": Out(stream.Signature(outward)),
                "pulses": Out(data.StructLayout(dict.fromkeys(PULSES, 1))),
                "decided": Out(Decided),
            }
        )
        self._entry = data.StructLayout(
            {
                "message": message_layout(channel),
                "target": Binding,
                "deny": 1,
                "bad_opcode": 1,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._depth = depth = self.config.credits
        m.submodules.ring = self._ring = Memory(shape=self._entry, depth=depth, init=[])
        self._read, self._write = Signal(SEQUENCE_BITS), Signal(SEQUENCE_BITS)
        self._needs = Array(Signal(name=f"needs_{n}") for n in range(depth))
        self._got = Array(Signal(name=f"got_{n}") for n in range(depth))
        enters = self._enter(m)
        self._await_verdicts(m, enters)
        self._leave(m)
        return m

    def _place(self, sequence: Signal) -> Signal:
        return sequence[: (self._depth - 1).bit_length()]

    def _enter(self, m: Module) -> Signal:
        """Takes a message, and in the next cycle writes it into the ring."""
        held = Signal(range(self._depth + 1))
        arrived, message = Signal(), Signal(message_layout(self.channel))
        leaves = Signal()
        self._leaves = leaves
        m.d.comb += self.i.ready.eq(held != self._depth)
        m.d.sync += [
            arrived.eq(self.i.valid & self.i.ready),
            held.eq(held + (self.i.valid & self.i.ready) - leaves),
            self.credit.eq(leaves),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += message.eq(self.i.payload)

        config = self.config
        m.submodules.decoder = decoder = AddressDecoder(
            ranges=config.decoders, bindings=config.bindings
        )
        m.submodules.source = source = EventSource(
            channel=self.channel, port=self.host, rules=config.rules
        )
        target = self._locate(m, "found", message.address, decoder.target)
        load = Array(self.dev_load)[(target.port - config.upstream)[:3]]
        fill_event(
            m,
            source.event,
            message,
            port=self.host,
            island=target.port,
            direction=Direction.M2S,
            channel=self.channel,
            dev_load=Mux(target.bound, load, 0),
        )
        known = Signal()
        m.d.comb += [
            known.eq(message.opcode.matches(*ANSWERS[self.channel])),
            decoder.address.eq(message.address),
            decoder.ranges.eq(self.ranges),
            decoder.bindings.eq(self.bindings),
            source.rules.eq(self.rules),
            source.fire.eq(arrived & known),
            source.host.eq(self.host),
            source.sequence.eq(self._write),
            self.pulses.dropped.eq(source.dropped),
        ]
        wiring.connect(m, source.o, wiring.flipped(self.events))
        write = self._ring.write_port()
        m.d.comb += [
            write.addr.eq(self._place(self._write)),
            write.en.eq(arrived),
            write.data.message.eq(message),
            write.data.target.eq(decoder.target),
            write.data.deny.eq(source.deny),
            write.data.bad_opcode.eq(~known),
        ]
        with m.If(arrived):
            m.d.sync += [
                self._write.eq(self._write + 1),
                self._needs[self._place(self._write)].eq(source.inline),
                self._got[self._place(self._write)].eq(0),
            ]
        return source.inline

    def _await_verdicts(self, m: Module, enters: Signal) -> None:
        """A verdict is for a request that waits; after the wait it is too late."""
        wait = Signal(5)
        m.d.comb += wait.eq(Mux(self.wait > MAX_VERDICT_CYCLES, MAX_VERDICT_CYCLES, self.wait))
        # One bit for each of the last cycles: whether a request that waits came in.
        came = Signal(MAX_VERDICT_CYCLES)
        where = [Signal(range(self._depth), name=f"where_{n}") for n in range(MAX_VERDICT_CYCLES)]
        m.d.sync += came.eq(Cat(enters, came))
        m.d.sync += where[0].eq(self._place(self._write))
        m.d.sync += [after.eq(before) for before, after in pairwise(where)]
        over, place = Signal(), Signal(range(self._depth))
        for cycles in range(1, MAX_VERDICT_CYCLES + 1):
            with m.If(wait == cycles):
                m.d.comb += [over.eq(came[cycles - 1]), place.eq(where[cycles - 1])]
        with m.If(wait == 0):
            m.d.comb += [over.eq(came[0]), place.eq(where[0])]
        expires = Signal()
        m.d.comb += expires.eq(over & self._needs[place])

        m.submodules.verdicts = verdicts = Memory(shape=Decision, depth=self._depth, init=[])
        self._verdicts = verdicts
        sequence = self.verdict_sequence
        inside, taken = Signal(), Signal()
        age = (sequence - self._read)[:SEQUENCE_BITS]
        level = (self._write - self._read)[:SEQUENCE_BITS]
        mine = self._place(sequence)
        write = verdicts.write_port()
        m.d.comb += [
            inside.eq((age < level) & self._needs[mine]),
            taken.eq(self.verdict_valid & inside),
            write.addr.eq(mine),
            write.data.eq(self.verdict),
            write.en.eq(taken),
            self.pulses.late.eq(self.verdict_valid & ~inside),
            self.pulses.defaulted.eq(
                (expires & ~(taken & (mine == place))) | (taken & ~self.verdict_legal)
            ),
        ]
        with m.If(expires):
            m.d.sync += self._needs[place].eq(0)
        with m.If(taken):
            m.d.sync += [self._needs[mine].eq(0), self._got[mine].eq(self.verdict_legal)]

    def _leave(self, m: Module) -> None:
        """The head, with what its verdict makes of it."""
        config = self.config
        read = self._ring.read_port(domain="comb")
        verdict_read = self._verdicts.read_port(domain="comb")
        place = self._place(self._read)
        m.d.comb += [read.addr.eq(place), verdict_read.addr.eq(place)]
        head, decision = read.data, verdict_read.data
        action = Signal(8)
        m.d.comb += action.eq(VerdictAction.PASS)
        with m.If(self._got[place]):
            m.d.comb += action.eq(decision.action)
        with m.Elif(head.deny):
            m.d.comb += action.eq(VerdictAction.DENY)
        other = own_device(m, self.bindings, decision.island, name="other")
        home = self._locate(m, "home", head.message.address, head.target)
        held = (
            self.hold.valid
            & (self.hold.host == self.host)
            & (self.hold.page == page_of(head.message.address))
            & (self.hold.group == group_of(config, head.message.address))
        )
        moved = (action == VerdictAction.REDIRECT) | (action == VerdictAction.MIRROR)
        refused, goes, copied = Signal(), Signal(Binding), Signal()
        failure, copies = Signal(Failure), Signal()
        m.d.comb += [
            refused.eq(moved & ~other.bound),
            copies.eq((action == VerdictAction.MIRROR) & other.bound & home.bound),
            goes.eq(home),
        ]
        with m.If(((action == VerdictAction.REDIRECT) & other.bound) | copied):
            m.d.comb += goes.eq(other)
        dead = self.dead.bit_select((goes.port - config.upstream)[:3], 1)
        with m.If((action == VerdictAction.DENY) | (refused & head.deny)):
            m.d.comb += failure.eq(Failure.DENIED)
        with m.Elif(~goes.bound):
            m.d.comb += failure.eq(Failure.UNMAPPED)
        with m.Elif(dead):
            m.d.comb += failure.eq(Failure.LOST)
        here, ready, paid = Signal(), Signal(), Signal()
        waits = self._needs[place]
        failed = failure != Failure.NONE
        moves = Signal()
        out = self.o.payload
        m.d.comb += [
            here.eq((self._read != self._write) & ~waits),
            # A copy follows its request, also when that was the last one before a hold.
            ready.eq(here & (~held | copied)),
            self.pulses.held.eq(here & ~ready),
            self.tokens.eq(decision.tokens),
            self.wants_tokens.eq(
                ready & (action == VerdictAction.DELAY) & ~failed & ~head.bad_opcode & ~paid
            ),
            self.o.valid.eq(ready & ~self.wants_tokens),
            out.payload.message.eq(head.message),
            out.payload.ld_id.eq(goes.ld_id),
            out.payload.failure.eq(failure),
            out.payload.copy.eq(copied),
            out.target.eq(
                Mux(failed | head.bad_opcode, config.downstream, (goes.port - config.upstream)[:3])
            ),
            moves.eq(self.o.valid & self.o.ready),
            self._leaves.eq(moves & (~copies | copied)),
            self.decided.valid.eq(moves & ~copied),
            self.decided.judged.eq(self._got[place]),
        ]
        with m.If(self.wants_tokens & self.granted):
            m.d.sync += paid.eq(1)
        with m.If(self._leaves):
            m.d.sync += [self._read.eq(self._read + 1), paid.eq(0), copied.eq(0)]
        with m.Elif(moves):
            m.d.sync += copied.eq(1)
        real = moves & ~copied & ~head.bad_opcode
        m.d.comb += [
            self.pulses.refused.eq(real & refused),
            self.pulses.redirected.eq(real & (action == VerdictAction.REDIRECT) & other.bound),
            self.pulses.mirrored.eq(real & copies),
            self.pulses.denied.eq(real & (failure == Failure.DENIED)),
            self.pulses.unmapped.eq(real & (failure == Failure.UNMAPPED)),
            self.pulses.dead.eq(real & (failure == Failure.LOST)),
            self.pulses.bad_opcode.eq(moves & head.bad_opcode),
        ]

    def _locate(self, m: Module, name: str, address: Value, decoded: data.View) -> data.View:
        m.submodules[f"locate_{name}"] = locator = LineLocator(config=self.config)
        m.d.comb += [
            locator.address.eq(address),
            locator.decoded.eq(decoded),
            locator.bindings.eq(self.bindings),
            locator.pages.eq(self.pages),
        ]
        return locator.target
