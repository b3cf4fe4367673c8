"""Answers requests that no device answers."""

from amaranth import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, NdrOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import NO_DATA
from fanweave.hw.cxl.device_requests import wanted_answers
from fanweave.hw.cxl.payloads import Failure, Unanswered, message_layout, route_layout
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["ErrorPort"]


class ErrorPort(wiring.Component):
    """One request a cycle, from the crossbars' last exits and from the tag tables, in turn.

    Parameters
    ----------
    config : SwitchConfig
        Parameters of the switch.

    Members
    -------
    req, rwd : streams in of a struct of ``source`` and ``payload``
    unanswered_{n} : stream in of `Unanswered`, two for each device
    ndr, drs : streams out of a struct of ``target`` and ``payload``
    answered : Out(1)
        A request was answered.
    """

    def __init__(self, *, config: SwitchConfig) -> None:
        self.config = config
        self.tables = 2 * config.downstream
        hosts = range(config.upstream + 1)
        members: dict[str, object] = {
            f"unanswered_{n}": In(stream.Signature(Unanswered)) for n in range(self.tables)
        }
        for name, channel in (("req", Channel.M2S_REQ), ("rwd", Channel.M2S_RWD)):
            inward = data.StructLayout({"source": hosts, "payload": route_layout(channel)})
            members[name] = In(stream.Signature(inward))
        for name, channel in (("ndr", Channel.S2M_NDR), ("drs", Channel.S2M_DRS)):
            outward = data.StructLayout({"target": hosts, "payload": message_layout(channel)})
            members[name] = Out(stream.Signature(outward))
        super().__init__({**members, "answered": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = Arbiter(shape=Unanswered, sources=self.tables + 2)
        for number in range(self.tables):
            late = getattr(self, f"unanswered_{number}")
            wiring.connect(m, wiring.flipped(late), arbiter.sources[number])
        self._from_route(m, "req", Channel.M2S_REQ, arbiter.sources[self.tables])
        self._from_route(m, "rwd", Channel.M2S_RWD, arbiter.sources[self.tables + 1])
        unanswered = data.View(Unanswered, arbiter.o.payload.payload)
        ndr, drs = self.ndr, self.drs
        goes = (ndr.ready | ~unanswered.ndr) & (drs.ready | ~unanswered.drs)
        m.d.comb += [
            arbiter.o.ready.eq(goes),
            self.answered.eq(arbiter.o.valid & goes & (unanswered.ndr | unanswered.drs)),
            ndr.valid.eq(arbiter.o.valid & goes & unanswered.ndr),
            drs.valid.eq(arbiter.o.valid & goes & unanswered.drs),
            ndr.payload.payload.opcode.eq(NdrOpcode.CMP),
            drs.payload.payload.opcode.eq(DrsOpcode.MEM_DATA_NXM),
            drs.payload.payload.data.eq(NO_DATA),
        ]
        with m.If(unanswered.conflict):
            m.d.comb += ndr.payload.payload.opcode.eq(NdrOpcode.BI_CONFLICT_ACK)
        with m.If(unanswered.lost):
            m.d.comb += [
                drs.payload.payload.opcode.eq(DrsOpcode.MEM_DATA),
                drs.payload.payload.poison.eq(1),
                drs.payload.payload.data.eq(0),
            ]
        for out in (ndr, drs):
            m.d.comb += [
                out.payload.target.eq(unanswered.host),
                out.payload.payload.tag.eq(unanswered.tag),
                out.payload.payload.ld_id.eq(unanswered.ld_id),
            ]
        return m

    def _from_route(self, m: Module, name: str, channel: Channel, into: stream.Interface) -> None:
        """A copy, or a request that has no answer, only goes away."""
        came = getattr(self, name)
        route = came.payload.payload
        wanted = wanted_answers(m, channel, route.message)
        out = into.payload
        m.d.comb += [
            into.valid.eq(came.valid),
            came.ready.eq(into.ready),
            out.host.eq(came.payload.source),
            out.tag.eq(route.message.tag),
            out.ld_id.eq(route.message.ld_id),
            out.lost.eq(route.failure == Failure.LOST),
        ]
        with m.If(~route.copy):
            m.d.comb += Cat(out.ndr, out.drs).eq(wanted)
        if channel is Channel.M2S_RWD:
            m.d.comb += out.conflict.eq(route.message.opcode == RwdOpcode.BI_CONFLICT)
