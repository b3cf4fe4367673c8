"""The policy engine: engines that share their maps, and a host's port to all of it."""

import functools
import operator

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.hw.ebpf.engine import ACCESSORS, Engine
from fanweave.hw.ebpf.host_port import ADDRESS_BITS, BUS_PREFIX, HostPort
from fanweave.hw.ebpf.maps.map_unit import MapUnit
from fanweave.hw.ebpf.payloads import Cause, Event, Verdict
from fanweave.hw.stream.axi_lite import axi_lite_members

__all__ = ["PolicyEngine"]


class PolicyEngine(wiring.Component):
    """Events in, verdicts out, for each engine; programs and maps over AXI4-Lite.

    An event that ends before its time has the default verdict as its result.

    All engines hold the same programs: what the host writes goes to all of them in the same cycle,
    and an image is in use if any of them uses it. So they answer alike, and the host hears the
    first.

    Parameters
    ----------
    config : EbpfConfig
        Parameters of the engine.

    Members
    -------
    events, contexts, verdicts, contexts_after : arrays of streams
        One of each for each engine; see `Core`.
    busy : Out(1)
        An event is handled somewhere.
    s_axil_*
        AXI4-Lite; see `HostPort`.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        engines = config.engines
        contexts_after = Out(stream.Signature(64)).array(engines)
        super().__init__(
            {
                "events": In(stream.Signature(Event)).array(engines),
                "contexts": In(stream.Signature(64)).array(engines),
                "verdicts": Out(stream.Signature(Verdict)).array(engines),
                "busy": Out(1),
                **({"contexts_after": contexts_after} if config.returns_context else {}),
                **axi_lite_members(ADDRESS_BITS, prefix=BUS_PREFIX),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.host = self._host = HostPort(config=config)
        m.submodules.maps = self._maps = MapUnit(
            config=config,
            sources=config.engines + 1,
            accessors=ACCESSORS * config.engines + 1,
            hosts=1,
        )
        self._engines = [Engine(config=config, number=number) for number in range(config.engines)]
        for number, engine in enumerate(self._engines):
            m.submodules[f"engine_{number}"] = engine
        self._bus(m)
        self._events(m)
        self._programs(m)
        self._map_unit(m)
        return m

    def _bus(self, m: Module) -> None:
        for name, member in axi_lite_members(ADDRESS_BITS, prefix=BUS_PREFIX).items():
            ours, theirs = getattr(self, name), getattr(self._host, name)
            m.d.comb += theirs.eq(ours) if member.flow is In else ours.eq(theirs)

    def _events(self, m: Module) -> None:
        """Streams of each engine, and what the host counts of them."""
        host = self._host
        m.d.comb += self.busy.eq(Cat(engine.busy for engine in self._engines).any())
        for number, engine in enumerate(self._engines):
            events, verdicts = self.events[number], self.verdicts[number]
            wiring.connect(m, wiring.flipped(events), engine.events)
            wiring.connect(m, wiring.flipped(self.contexts[number]), engine.contexts)
            if self.config.returns_context:
                after = self.contexts_after[number]
                wiring.connect(m, engine.contexts_after, wiring.flipped(after))
            cause = engine.verdicts.payload.cause
            m.d.comb += [
                engine.budget.eq(host.budget),
                verdicts.valid.eq(engine.verdicts.valid),
                verdicts.payload.eq(engine.verdicts.payload),
                engine.verdicts.ready.eq(verdicts.ready),
                host.event_taken[number].eq(events.valid & events.ready),
                host.verdict_valid[number].eq(verdicts.valid & verdicts.ready),
                host.verdict_cause[number].eq(cause),
                host.instructions[number].eq(engine.instructions),
            ]
            with m.If(cause != Cause.NONE):
                m.d.comb += verdicts.payload.r0.eq(host.default_verdict)

    def _programs(self, m: Module) -> None:
        """What the host says of programs goes to all engines; the first one's answers go back."""
        host, first = self._host, self._engines[0]
        in_use = Signal(self.config.images)
        for engine in self._engines:
            for name, source in (
                ("write", host.program_write),
                ("commit", host.commit),
                ("release", host.release),
                ("bind", host.bind),
            ):
                sink = getattr(engine, name)
                m.d.comb += [sink.valid.eq(source.valid), sink.payload.eq(source.payload)]
            m.d.comb += [
                engine.committed.ready.eq(host.committed.ready),
                engine.program_in_use.eq(in_use),
            ]
        used = [engine.in_use for engine in self._engines]
        m.d.comb += [
            in_use.eq(functools.reduce(operator.or_, used)),
            host.program_write.ready.eq(first.write.ready),
            host.commit.ready.eq(first.commit.ready),
            host.release.ready.eq(first.release.ready),
            host.bind.ready.eq(first.bind.ready),
            host.committed.valid.eq(first.committed.valid),
            host.committed.payload.eq(first.committed.payload),
        ]
        for name in ("refused", "released", "release_refused", "bound", "bind_refused"):
            m.d.comb += getattr(host, name).eq(getattr(first, name))

    def _map_unit(self, m: Module) -> None:
        """Engines come first, the host last, in operations and accesses alike."""
        maps, host = self._maps, self._host
        users: list[Engine | HostPort] = [*self._engines, host]
        m.d.comb += [
            maps.descriptors.valid.eq(host.descriptors.valid),
            maps.descriptors.payload.eq(host.descriptors.payload),
            host.descriptors.ready.eq(1),
        ]
        for number, user in enumerate(users):
            wiring.connect(m, user.operations, maps.operations[number])
            wiring.connect(m, maps.results[number], user.results)
            m.d.comb += [
                user.operand_row.eq(maps.operand_row),
                maps.operands[number].eq(user.operand),
                user.result_write.eq(maps.result_rows[number]),
                user.result_row.eq(maps.result_row),
                user.result_data.eq(maps.result_data),
            ]
        accesses = [stream for engine in self._engines for stream in engine.accesses]
        results = [stream for engine in self._engines for stream in engine.access_results]
        for number, asked in enumerate([*accesses, host.accesses]):
            wiring.connect(m, asked, maps.accesses[number])
        for number, told in enumerate([*results, host.access_results]):
            wiring.connect(m, maps.access_results[number], told)
        for engine in self._engines:
            m.d.comb += [
                engine.descriptors.valid.eq(host.descriptors.valid),
                engine.descriptors.payload.eq(host.descriptors.payload),
            ]
