"""Back-invalidations of a device: they find the host that has it, and answers find the device."""

from amaranth import Array, Module, Mux, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import BirspOpcode, BisnpOpcode, Channel, Direction
from fanweave.golden.isa.cxl_messages import ADDRESS_BITS, BI_LINES
from fanweave.hw.cxl.credits import CreditReceiver, CreditSender
from fanweave.hw.cxl.event_source import EventSource, fill_event
from fanweave.hw.cxl.payloads import (
    HOST_BITS,
    TIME_BITS,
    Binding,
    Rule,
    event_layout,
    message_layout,
)
from fanweave.hw.cxl.tag_table import TagTable
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["BackInvalidation", "Snooped"]

_TAG_BITS = 12
_BLOCKS = (BisnpOpcode.CUR_BLK, BisnpOpcode.DATA_BLK, BisnpOpcode.INV_BLK)
_BLOCK_ANSWERS = (BirspOpcode.I_BLK, BirspOpcode.S_BLK, BirspOpcode.E_BLK)


class Snooped(data.Struct):
    """What the table keeps of a back-invalidation."""

    host: HOST_BITS
    bi_id: 12
    bi_tag: 12
    address: ADDRESS_BITS
    born: TIME_BITS


class BackInvalidation(wiring.Component):
    """Both directions at one device. What nobody has bound, or answers in time, is answered here:
    no copy is left (`BirspOpcode.I`), one answer for each line.

    A device names its logical device in ``bi_id``; hosts see the port's number there.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.
    device : int
        Number of the device's port, from 0.

    Members
    -------
    i : stream in of BISnp; credit : Out(1)
    snoops : stream out of a struct of ``target`` and ``payload``
        To the crossbar.
    answers : stream in of a struct of ``source`` and ``payload``
        From the crossbar.
    o : stream out of BIRsp; o_credit : In(1)
    bindings : In
        Of each host.
    rules, dead, now, timeout : In
    events : stream out of `event_layout`
    unknown, dropped, stuck, overflow : Out(1)
        An answer was for nothing; an event found no place; see `CreditSender`.
    """

    def __init__(self, *, config: SwitchConfig, device: int) -> None:
        self.config = config
        self.device = device
        snoop, answer = message_layout(Channel.S2M_BISNP), message_layout(Channel.M2S_BIRSP)
        hosts = range(max(config.upstream, 2))
        bindings = data.ArrayLayout(data.ArrayLayout(Binding, config.bindings), config.upstream)
        super().__init__(
            {
                "i": In(stream.Signature(snoop)),
                "credit": Out(1),
                "snoops": Out(
                    stream.Signature(data.StructLayout({"target": hosts, "payload": snoop}))
                ),
                "answers": In(
                    stream.Signature(data.StructLayout({"source": hosts, "payload": answer}))
                ),
                "o": Out(stream.Signature(answer)),
                "o_credit": In(1),
                "bindings": In(bindings),
                "rules": In(data.ArrayLayout(Rule, config.rules)),
                "dead": In(1),
                "now": In(TIME_BITS),
                "timeout": In(24),
                "events": Out(stream.Signature(event_layout())),
                "unknown": Out(1),
                "dropped": Out(1),
                "stuck": Out(1),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = TagTable(
            shape=Snooped, slots=self.config.bi_slots, tag_bits=_TAG_BITS, waits=4, finders=1
        )
        answer = message_layout(Channel.M2S_BIRSP)
        m.submodules.sender = sender = CreditSender(shape=answer, credits=self.config.credits)
        m.submodules.arbiter = arbiter = Arbiter(shape=answer, sources=3)
        wiring.connect(m, sender.o, wiring.flipped(self.o))
        m.d.comb += [
            table.now.eq(self.now),
            table.timeout.eq(self.timeout),
            table.dead.eq(self.dead),
            sender.i.valid.eq(arbiter.o.valid),
            sender.i.payload.as_value().eq(arbiter.o.payload.payload),
            arbiter.o.ready.eq(sender.i.ready),
            sender.credit.eq(self.o_credit),
            sender.down.eq(self.dead),
            sender.timeout.eq(self.timeout),
            self.stuck.eq(sender.stuck),
            self.overflow.eq(sender.overflow),
        ]
        self._snoop(m, table, arbiter.sources[0])
        self._answer(m, table, arbiter.sources[1])
        self._give_up(m, table, arbiter.sources[2])
        return m

    def _owner(self, m: Module, ld_id: Value) -> tuple[Value, Value]:
        host, found = Signal(HOST_BITS), Signal()
        for number in range(self.config.upstream):
            for place in range(self.config.bindings):
                binding = self.bindings[number][place]
                with m.If(
                    binding.bound
                    & (binding.port == self.config.upstream + self.device)
                    & (binding.ld_id == ld_id)
                ):
                    m.d.comb += [host.eq(number), found.eq(1)]
        return host, found

    def _snoop(self, m: Module, table: TagTable, straight: stream.Interface) -> None:
        """A snoop goes to its host, or is answered straight away, line by line."""
        config = self.config
        layout = message_layout(Channel.S2M_BISNP)
        m.submodules.receiver = receiver = CreditReceiver(shape=layout, credits=config.credits)
        wiring.connect(m, wiring.flipped(self.i), receiver.i)
        came, message = receiver.o, receiver.o.payload
        host, owned = self._owner(m, message.bi_id[:4])
        lines, given, left = Signal(4), Signal(4), Signal(4)
        low = message.address[:2]
        m.d.comb += [
            lines.eq(Mux(message.opcode.matches(*_BLOCKS), Array(BI_LINES)[low], 1 << low)),
            left.eq(lines & ~given),
        ]
        goes = owned & table.free & ~self.dead
        last = Signal()
        m.d.comb += [
            last.eq((left & (left - 1)) == 0),
            self.credit.eq(receiver.credit),
            self.snoops.valid.eq(came.valid & goes),
            self.snoops.payload.target.eq(host),
            self.snoops.payload.payload.eq(message),
            self.snoops.payload.payload.bi_id.eq(config.upstream + self.device),
            self.snoops.payload.payload.bi_tag.eq(table.tag),
            table.take.eq(self.snoops.valid & self.snoops.ready),
            table.wanted.eq(lines),
            table.entry.host.eq(host),
            table.entry.bi_id.eq(message.bi_id),
            table.entry.bi_tag.eq(message.bi_tag),
            table.entry.address.eq(message.address),
            table.entry.born.eq(self.now),
            straight.valid.eq(came.valid & ~owned & ~self.dead),
            came.ready.eq(table.take | self.dead | (straight.valid & straight.ready & last)),
        ]
        self._answer_for(m, straight.payload, left, message.bi_id, message.bi_tag)
        with m.If(straight.valid & straight.ready):
            m.d.sync += given.eq(Mux(last, 0, given | (left & (~left + 1))))
        with m.Elif(came.valid & came.ready):
            m.d.sync += given.eq(0)

        m.submodules.source = source = EventSource(
            channel=Channel.S2M_BISNP, port=config.upstream + self.device, rules=config.rules
        )
        fill_event(
            m,
            source.event,
            message,
            port=config.upstream + self.device,
            island=host,
            direction=Direction.S2M,
            channel=Channel.S2M_BISNP,
        )
        m.d.comb += [
            source.rules.eq(self.rules),
            source.fire.eq(table.take),
            source.host.eq(host),
            self.dropped.eq(source.dropped),
        ]
        wiring.connect(m, source.o, wiring.flipped(self.events))

    @staticmethod
    def _answer_for(m: Module, out: data.View, left: Value, bi_id: Value, bi_tag: Value) -> None:
        """That no copy of the first of the lines is left."""
        m.d.comb += [out.opcode.eq(BirspOpcode.I), out.bi_id.eq(bi_id), out.bi_tag.eq(bi_tag)]
        for line in reversed(range(4)):
            with m.If(left[line]):
                m.d.comb += out.low_address.eq(line)

    def _answer(self, m: Module, table: TagTable, into: stream.Interface) -> None:
        """A host's answer, if it is the host that was asked, for a line that is still open."""
        came = self.answers
        message, entry = came.payload.payload, table.find_0_entry
        block = message.opcode.matches(*_BLOCK_ANSWERS)
        asked = Signal(4)
        found = Signal()
        m.d.comb += [
            table.find_0_tag.eq(message.bi_tag),
            asked.eq(
                Mux(block, table.find_0_waits, table.find_0_waits & (1 << message.low_address))
            ),
            found.eq(asked.any() & (entry.host == came.payload.source)),
            into.valid.eq(came.valid & found),
            came.ready.eq(~found | into.ready),
            self.unknown.eq(came.valid & ~found),
            into.payload.eq(message),
            into.payload.bi_id.eq(entry.bi_id),
            into.payload.bi_tag.eq(entry.bi_tag),
            table.find_0_done.eq(Mux(into.valid & into.ready, asked, 0)),
        ]

    def _give_up(self, m: Module, table: TagTable, into: stream.Interface) -> None:
        late = table.expired
        given, left, last = Signal(4), Signal(4), Signal()
        m.d.comb += [
            left.eq(late.payload.waits & ~given),
            last.eq((left & (left - 1)) == 0),
            into.valid.eq(late.valid),
            late.ready.eq(into.ready & last),
        ]
        entry = late.payload.entry
        self._answer_for(m, into.payload, left, entry.bi_id, entry.bi_tag)
        with m.If(into.valid & into.ready):
            m.d.sync += given.eq(Mux(last, 0, given | (left & (~left + 1))))
