"""The core alone, for benches: no vector unit behind it."""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.core import Core
from fanweave.hw.core.offload_port import NoVectorUnit
from fanweave.hw.core.payloads import DataRequest, DataResponse, Halt, Stalls, Trace

__all__ = ["BareCore"]


class BareCore(wiring.Component):
    """A core for which every vector instruction is illegal.

    Parameters
    ----------
    config : ScalarConfig

    Members
    -------
    run, boot, fetches, fetched, requests, responses, halt, observed, stalls
        As of `Core`.
    """

    def __init__(self, *, config: ScalarConfig) -> None:
        self.config = config
        super().__init__(
            {
                "run": In(1),
                "boot": In(32),
                "fetches": Out(stream.Signature(32)),
                "fetched": In(stream.Signature(32)),
                "requests": Out(stream.Signature(DataRequest)),
                "responses": In(stream.Signature(DataResponse)),
                "halt": Out(Halt),
                "observed": Out(Trace),
                "stalls": Out(Stalls),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = Core(config=self.config)
        m.submodules.vector = vector = NoVectorUnit()
        wiring.connect(m, core.offloads, vector.offloads)
        wiring.connect(m, vector.verdicts, core.verdicts)
        wiring.connect(m, vector.results, core.results)
        wiring.connect(m, core.fetches, wiring.flipped(self.fetches))
        wiring.connect(m, wiring.flipped(self.fetched), core.fetched)
        wiring.connect(m, core.requests, wiring.flipped(self.requests))
        wiring.connect(m, wiring.flipped(self.responses), core.responses)
        m.d.comb += [
            core.run.eq(self.run),
            core.boot.eq(self.boot),
            self.halt.eq(core.halt),
            self.observed.eq(core.observed),
            self.stalls.eq(core.stalls),
        ]
        return m
