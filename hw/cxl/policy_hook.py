"""Where the policy engine takes hold: events go out, verdicts come in, nothing waits for it."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import VERDICT_FIELDS, VerdictAction
from fanweave.hw.cxl.payloads import (
    HOST_BITS,
    PAGE_BITS,
    SEQUENCE_BITS,
    Decision,
    PolicyEvent,
    PolicyVerdict,
    Promotion,
    event_layout,
)
from fanweave.hw.stream import Queue
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["PolicyHook"]

_TAG_BITS = 16
#: Promotions of a host that can wait.
_PROMOTIONS = 4


class PolicyHook(wiring.Component):
    """Numbers events, and gives verdicts back to whom they are for.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    sources : int
        Channels that events come from; the first two of each host are its Req and its RwD.

    Members
    -------
    sources : array of streams in of `event_layout`
    events : stream out of `PolicyEvent`; verdicts : stream in of `PolicyVerdict`
        In any order. A verdict is always taken.
    promotions : stream out of `Promotion`
        A host has places of its own for them, and its turn.
    allowed : In
        Ports that each host has a device at, a bit each.
    verdict_valid : Out, a bit for each host's Req and RwD
    verdict_sequence, verdict, verdict_legal : Out
        A verdict for a request that waits.
    sent, late, refused, promoted, dropped : Out(1)
        An event went out; a verdict was for none that is known; one said nothing, or asked to
        move a page to a port that its host does not have; a promotion was taken, or found no
        place.
    """

    def __init__(self, *, config: SwitchConfig, sources: int) -> None:
        self.config = config
        self.count = sources
        self.kept = data.StructLayout(
            {
                "tag": _TAG_BITS,
                "source": range(max(sources, 2)),
                "inline": 1,
                "sequence": SEQUENCE_BITS,
                "host": HOST_BITS,
                "page": PAGE_BITS,
            }
        )
        super().__init__(
            {
                "sources": In(stream.Signature(event_layout())).array(sources),
                "events": Out(stream.Signature(PolicyEvent)),
                "verdicts": In(stream.Signature(PolicyVerdict)),
                "promotions": Out(stream.Signature(Promotion)),
                "allowed": In(data.ArrayLayout(config.ports, config.upstream)),
                "verdict_valid": Out(2 * config.upstream),
                "verdict_sequence": Out(SEQUENCE_BITS),
                "verdict": Out(Decision),
                "verdict_legal": Out(1),
                "sent": Out(1),
                "late": Out(1),
                "refused": Out(1),
                "promoted": Out(1),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pending = self.config.pending
        m.submodules.kept = kept = Memory(shape=self.kept, depth=pending, init=[])
        known = Signal(pending)
        place_bits = (pending - 1).bit_length()
        self._send(m, kept, known, place_bits)
        verdict, found, entry = self.verdicts.payload, Signal(), Signal(self.kept)
        read = kept.read_port(domain="comb")
        place = verdict.tag[:place_bits]
        m.d.comb += [
            read.addr.eq(place),
            entry.eq(read.data),
            self.verdicts.ready.eq(1),
            found.eq(self.verdicts.valid & known.bit_select(place, 1) & (entry.tag == verdict.tag)),
            self.late.eq(self.verdicts.valid & ~found & ~verdict.again),
        ]
        with m.If(found):
            m.d.sync += known.bit_select(place, 1).eq(0)
        self._judge(m, verdict, entry, found)
        return m

    def _send(self, m: Module, kept: Memory, known: Signal, place_bits: int) -> None:
        m.submodules.arbiter = arbiter = Arbiter(shape=event_layout(), sources=self.count)
        for number, source in enumerate(self.sources):
            wiring.connect(m, wiring.flipped(source), arbiter.sources[number])
        m.submodules.queue = queue = Queue(shape=PolicyEvent, depth=4)
        tag = Signal(_TAG_BITS)
        came = data.View(event_layout(), arbiter.o.payload.payload)
        write = kept.write_port()
        m.d.comb += [
            queue.i.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(queue.i.ready),
            queue.i.payload.event.eq(came.event),
            queue.i.payload.program.eq(came.program),
            queue.i.payload.tag.eq(tag),
            self.sent.eq(queue.i.valid & queue.i.ready),
            write.addr.eq(tag[:place_bits]),
            write.en.eq(self.sent),
            write.data.tag.eq(tag),
            write.data.source.eq(arbiter.o.payload.source),
            write.data.inline.eq(came.inline),
            write.data.sequence.eq(came.sequence),
            write.data.host.eq(came.host),
            write.data.page.eq(came.event.address >> 12),
        ]
        with m.If(self.sent):
            m.d.sync += [tag.eq(tag + 1), known.bit_select(tag[:place_bits], 1).eq(1)]
        wiring.connect(m, queue.o, wiring.flipped(self.events))

    def _judge(self, m: Module, verdict: data.View, entry: data.View, found: Value) -> None:
        """Takes r0 apart; what `Verdict.decode` does not understand is refused."""
        legal, decision = Signal(), Signal(Decision)
        end = max(field.lsb + field.bits for field in VERDICT_FIELDS)
        for field in VERDICT_FIELDS:
            m.d.comb += decision[field.name].eq(verdict.r0[field.lsb : field.lsb + field.bits])
        with m.Switch(decision.action):
            for action in VerdictAction:
                unused = [f for f in VERDICT_FIELDS if action not in f.actions]
                with m.Case(action):
                    m.d.comb += legal.eq(
                        ~verdict.failed
                        & (verdict.r0[end:] == 0)
                        & (sum((decision[f.name] for f in unused), start=Value.cast(0)) == 0)
                    )
        allowed, asking, again = Signal(self.config.ports), Signal(HOST_BITS), Signal()
        m.d.comb += [
            again.eq(self.verdicts.valid & verdict.again & ~found),
            asking.eq(Mux(again, verdict.host, entry.host)),
        ]
        for host in range(self.config.upstream):
            with m.If(asking == host):
                m.d.comb += allowed.eq(self.allowed[host])
        wants, may = Signal(), Signal()
        m.d.comb += [
            wants.eq((found | again) & legal & (decision.action == VerdictAction.PROMOTE)),
            may.eq((allowed >> decision.island)[0]),
            self.refused.eq((found & ~legal) | (wants & ~may)),
            self.verdict.eq(decision),
            self.verdict_legal.eq(legal),
            self.verdict_sequence.eq(entry.sequence),
        ]
        for number in range(2 * self.config.upstream):
            m.d.comb += self.verdict_valid[number].eq(
                found & entry.inline & (entry.source == number)
            )
        asked = Signal(Promotion)
        m.d.comb += [
            asked.host.eq(asking),
            asked.page.eq(Mux(again, verdict.page, entry.page)),
            asked.target.eq(decision.island),
        ]
        self._promote(m, asked, wants & may)

    def _promote(self, m: Module, asked: data.View, wants: Value) -> None:
        """A host that asks for many moves leaves no fewer places to others."""
        hosts = self.config.upstream
        m.submodules.next_promotion = arbiter = Arbiter(shape=Promotion, sources=hosts)
        promoted, dropped = Signal(hosts), Signal(hosts)
        for host in range(hosts):
            queue = Queue(shape=Promotion, depth=_PROMOTIONS)
            m.submodules[f"promotions_{host}"] = queue
            m.d.comb += [
                queue.i.valid.eq(wants & (asked.host == host)),
                queue.i.payload.eq(asked),
                promoted[host].eq(queue.i.valid & queue.i.ready),
                dropped[host].eq(queue.i.valid & ~queue.i.ready),
            ]
            wiring.connect(m, queue.o, arbiter.sources[host])
        m.d.comb += [
            self.promoted.eq(promoted.any()),
            self.dropped.eq(dropped.any()),
            self.promotions.valid.eq(arbiter.o.valid),
            self.promotions.payload.as_value().eq(arbiter.o.payload.payload),
            arbiter.o.ready.eq(self.promotions.ready),
        ]
