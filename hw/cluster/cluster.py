"""The cluster: core complexes, L1, instruction memory, DMA and peripherals."""

from dataclasses import replace

from amaranth import Cat, Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.hw.cluster.banked_memory import BankedMemory
from fanweave.hw.cluster.complex import CoreComplex
from fanweave.hw.cluster.config import ClusterConfig
from fanweave.hw.cluster.dma import Dma
from fanweave.hw.cluster.dma_local import LANES
from fanweave.hw.cluster.instruction_memory import InstructionMemory
from fanweave.hw.cluster.mailbox import Mailbox
from fanweave.hw.cluster.payloads import HostResponse, OuterRequest, OuterResponse, RunStatus
from fanweave.hw.cluster.peripherals import Peripherals
from fanweave.hw.cluster.routes import ScalarRoute, WordRoute
from fanweave.hw.core.payloads import DataRequest, Halt, Stalls, Trace
from fanweave.hw.reduction import count_ones
from fanweave.hw.vector.activity import VectorActivity
from fanweave.hw.vector.memory_payloads import VectorRequest

__all__ = ["Activity", "Cluster"]


class Activity(data.Struct):
    """What goes on in a cycle, for counters: ports of the L1 that ask, and that are refused;
    whether the DMA has something to do, and writes a beat."""

    l1_requests: unsigned(6)
    l1_conflicts: unsigned(6)
    dma_busy: unsigned(1)
    dma_writes: unsigned(1)


class Cluster(wiring.Component):
    """Everything but outer memory and the host.

    Memories keep their contents over a reset; all else begins anew.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    run : In(1); boot : In(32)
        The first cycle with ``run`` starts the program at ``boot`` on all cores.
    host : stream in of `VectorRequest`; host_answers : stream out of `HostResponse`
        The host's loads and stores in the cluster's memories, also while a program runs. An
        answer comes in the cycle after its request was taken, and must be taken.
    outer : stream out of `OuterRequest`; outer_answers : stream in of `OuterResponse`
        Outer memory: answers in order, at the earliest a cycle later.
    printed : stream out of 8 bits; status : Out of `RunStatus`
        What the program says to the host; see `Mailbox`.
    halts : array of `Halt`; observed : array of `Trace`; stalls : array of `Stalls`
        Of each core.
    stored : array of `DataRequest`; stores : Out(cores)
        What each core's scalar accesses do, where the bit is set.
    activity : Out of `Activity`; vectors : array of `VectorActivity`
        For counters; the latter of each core's vector unit.
    """

    def __init__(self, *, config: ClusterConfig) -> None:
        self.config = config
        cores = config.cores
        super().__init__(
            {
                "run": In(1),
                "boot": In(32),
                "host": In(stream.Signature(VectorRequest)),
                "host_answers": Out(stream.Signature(HostResponse)),
                "outer": Out(stream.Signature(OuterRequest)),
                "outer_answers": In(stream.Signature(OuterResponse)),
                "printed": Out(stream.Signature(8)),
                "status": Out(RunStatus),
                "halts": Out(Halt).array(cores),
                "observed": Out(Trace).array(cores),
                "stalls": Out(Stalls).array(cores),
                "stored": Out(DataRequest).array(cores),
                "stores": Out(cores),
                "activity": Out(Activity),
                "vectors": Out(VectorActivity).array(cores),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, cores, lanes = self.config, self.config.cores, self.config.vector.lanes
        sources = cores * (1 + lanes) + 1  # with the host
        size = next(region.size for region in REGIONS if region.name is RegionName.L1)
        m.submodules.l1 = self._l1 = BankedMemory(
            size=size, banks=config.l1_banks, ports=sources, lanes=LANES
        )
        m.submodules.instructions = self._instructions = InstructionMemory(
            size=config.instruction_bytes,
            banks=config.instruction_banks,
            cores=cores,
            sources=sources + 1,  # with the DMA
        )
        m.submodules.peripherals = self._peripherals = Peripherals(harts=cores)
        for hart in range(cores):
            self._complex(m, hart, hart * (1 + lanes))
        self._host(m, sources - 1)
        self._dma(m, sources)
        return m

    def _complex(self, m: Module, hart: int, first: int) -> None:
        """A core with its vector unit; its ports of the memories begin with number `first`."""
        config = self.config
        core = CoreComplex(core=replace(config.core, hart=hart), vector=config.vector)
        m.submodules[f"complex_{hart}"] = core
        m.d.comb += [
            core.run.eq(self.run),
            core.boot.eq(self.boot),
            self.halts[hart].eq(core.halt),
            self.observed[hart].eq(core.observed),
            self.stalls[hart].eq(core.stalls),
            self.vectors[hart].eq(core.activity),
            self.stored[hart].eq(core.requests.payload),
            self.stores[hart].eq(
                core.requests.valid & core.requests.ready & core.requests.payload.write
            ),
        ]
        wiring.connect(m, core.fetches, self._instructions.fetches[hart])
        wiring.connect(m, self._instructions.fetched[hart], core.fetched)
        m.submodules[f"scalar_{hart}"] = scalar = ScalarRoute()
        wiring.connect(m, core.requests, scalar.requests)
        wiring.connect(m, scalar.responses, core.responses)
        wiring.connect(m, scalar.peripherals, self._peripherals.requests[hart])
        wiring.connect(m, self._peripherals.answers[hart], scalar.peripherals_answers)
        self._memories(m, scalar, first)
        for lane in range(config.vector.lanes):
            m.submodules[f"vector_{hart}_{lane}"] = route = WordRoute()
            wiring.connect(m, core.vector_requests[lane], route.requests)
            response = core.vector_responses[lane]
            m.d.comb += [
                response.valid.eq(route.responses.valid),
                response.payload.eq(route.responses.payload.data),
                route.responses.ready.eq(response.ready),
            ]
            self._memories(m, route, first + 1 + lane)

    def _memories(self, m: Module, route: ScalarRoute | WordRoute, number: int) -> None:
        """Connect a route with a port of each memory."""
        wiring.connect(m, route.l1, self._l1.requests[number])
        _answer(m, self._l1.responses[number], route.l1_answers)
        wiring.connect(m, route.instructions, self._instructions.requests[number])
        wiring.connect(m, self._instructions.answers[number], route.instructions_answers)

    def _host(self, m: Module, number: int) -> None:
        m.submodules.host_route = route = WordRoute()
        m.submodules.mailbox = mailbox = Mailbox(harts=self.config.cores)
        wiring.connect(m, wiring.flipped(self.host), route.requests)
        wiring.connect(m, route.responses, wiring.flipped(self.host_answers))
        self._memories(m, route, number)
        wiring.connect(m, self._peripherals.mailbox, mailbox.bus)
        wiring.connect(m, mailbox.printed, wiring.flipped(self.printed))
        m.d.comb += self.status.eq(mailbox.status)

    def _dma(self, m: Module, first: int) -> None:
        m.submodules.dma = dma = Dma(config=self.config)
        wiring.connect(m, self._peripherals.dma, dma.bus)
        wiring.connect(m, dma.outer, wiring.flipped(self.outer))
        wiring.connect(m, wiring.flipped(self.outer_answers), dma.outer_answers)
        wiring.connect(m, dma.code, self._instructions.requests[first])
        wiring.connect(m, self._instructions.answers[first], dma.code_answers)
        for lane in range(LANES):
            wiring.connect(m, dma.l1[lane], self._l1.requests[first + lane])
            _answer(m, self._l1.responses[first + lane], dma.l1_answers[lane])
        m.d.comb += [
            self.activity.l1_requests.eq(count_ones(Cat(r.valid for r in self._l1.requests))),
            self.activity.l1_conflicts.eq(count_ones(self._l1.conflicts)),
            self.activity.dma_busy.eq(dma.busy),
            self.activity.dma_writes.eq(dma.writes),
        ]


def _answer(m: Module, source: stream.Interface, sink: stream.Interface) -> None:
    """Connect answers that are always taken."""
    m.d.comb += [sink.valid.eq(source.valid), sink.payload.eq(source.payload)]
