"""A core and its vector unit."""

from amaranth import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.core import Core
from fanweave.hw.core.payloads import DataRequest, DataResponse, Halt, Stalls, Trace
from fanweave.hw.vector.activity import VectorActivity
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.memory_payloads import VectorRequest
from fanweave.hw.vector.unit import VectorUnit

__all__ = ["CoreComplex"]


class CoreComplex(wiring.Component):
    """What executes programs; memories stand outside.

    The core keeps the order of its accesses and the vector unit's, so any memory that carries out
    requests in the order in which they are transferred will do.

    Parameters
    ----------
    core : ScalarConfig
    vector : VectorConfig

    Members
    -------
    run, boot, fetches, fetched, requests, responses, halt, observed, stalls
        As of `Core`.
    vector_requests, vector_responses : arrays of streams
        As of `VectorUnit`; ``activity`` as well.
    """

    def __init__(self, *, core: ScalarConfig, vector: VectorConfig) -> None:
        self._core = Core(config=core)
        self._vector = VectorUnit(config=vector)
        #: What CSRs hold, for observers.
        self.stored, self.status = self._core.stored, self._core.status
        lanes = vector.lanes
        super().__init__(
            {
                "run": In(1),
                "boot": In(32),
                "fetches": Out(stream.Signature(32)),
                "fetched": In(stream.Signature(32)),
                "requests": Out(stream.Signature(DataRequest)),
                "responses": In(stream.Signature(DataResponse)),
                "vector_requests": Out(stream.Signature(VectorRequest)).array(lanes),
                "vector_responses": In(stream.Signature(unsigned(64))).array(lanes),
                "halt": Out(Halt),
                "observed": Out(Trace),
                "stalls": Out(Stalls),
                "activity": Out(VectorActivity),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        m.submodules.vector = vector = self._vector
        for source, sink in (
            (core.offloads, vector.offloads),
            (vector.verdicts, core.verdicts),
            (vector.results, core.results),
            (core.fetches, wiring.flipped(self.fetches)),
            (wiring.flipped(self.fetched), core.fetched),
            (core.requests, wiring.flipped(self.requests)),
            (wiring.flipped(self.responses), core.responses),
        ):
            wiring.connect(m, source, sink)
        for lane in range(vector.config.lanes):
            wiring.connect(m, vector.requests[lane], wiring.flipped(self.vector_requests[lane]))
            wiring.connect(m, wiring.flipped(self.vector_responses[lane]), vector.responses[lane])
        m.d.comb += [
            core.run.eq(self.run),
            core.boot.eq(self.boot),
            core.vector.eq(vector.vector),
            core.vector_flags.eq(vector.vector_flags),
            vector.rounding.eq(core.rounding),
            self.halt.eq(core.halt),
            self.observed.eq(core.observed),
            self.stalls.eq(core.stalls),
            self.activity.eq(vector.activity),
        ]
        return m
