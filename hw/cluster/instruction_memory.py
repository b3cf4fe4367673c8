"""The memory of instructions and constants: cores fetch from it, and all others reach it slowly."""

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.cluster.banked_memory import BankedMemory
from fanweave.hw.cluster.grants import Grants
from fanweave.hw.cluster.payloads import WordRequest
from fanweave.hw.reduction import choose

__all__ = ["FetchPort", "InstructionMemory"]


class FetchPort(wiring.Component):
    """Two instructions come at once: the second one is kept, so that another core can fetch.

    Members
    -------
    fetches : stream in of 32 bits; fetched : stream out of 32 bits
        As of `Core`: the instruction comes in the cycle after its address.
    requests : stream out of `WordRequest`; answers : stream in of 64 bits
        An answer comes in the cycle after its request.
    forget : In(1)
        Something is stored: what is kept may be old in the next cycle.
    """

    fetches: In(stream.Signature(32))
    fetched: Out(stream.Signature(32))
    requests: Out(stream.Signature(WordRequest))
    answers: In(stream.Signature(unsigned(64)))
    forget: In(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = self.fetches.payload
        known, place = Signal(), Signal(29)  # which word is kept, or on its way
        kept, word, high = Signal(64), Signal(64), Signal()
        hit = known & (place == address[3:])
        m.d.comb += [
            self.requests.valid.eq(self.fetches.valid & ~hit),
            self.requests.payload.address.eq(Cat(Const(0, 3), address[3:])),
            self.fetches.ready.eq(hit | self.requests.ready),
            self.answers.ready.eq(1),
            word.eq(Mux(self.answers.valid, self.answers.payload, kept)),
            self.fetched.payload.eq(Mux(high, word[32:], word[:32])),
        ]
        m.d.sync += self.fetched.valid.eq(self.fetches.valid & self.fetches.ready)
        with m.If(self.answers.valid):
            m.d.sync += kept.eq(self.answers.payload)
        with m.If(self.fetches.valid & self.fetches.ready):
            m.d.sync += [high.eq(address[2]), place.eq(address[3:]), known.eq(1)]
        with m.If(self.forget):
            m.d.sync += known.eq(0)
        return m


class InstructionMemory(wiring.Component):
    """Banks for fetches, and one access a cycle of anybody else.

    Parameters
    ----------
    size, banks : int
        See `BankedMemory`.
    cores : int
        Who fetches.
    sources : int
        Who loads and stores.

    Members
    -------
    fetches, fetched : arrays of streams
        See `FetchPort`.
    requests : array of streams in of `WordRequest`; answers : array of streams out of 64 bits
        Of the sources; an answer comes in the cycle after its request was taken.
    """

    def __init__(self, *, size: int, banks: int, cores: int, sources: int) -> None:
        self.size, self.banks, self.cores, self.sources = size, banks, cores, sources
        super().__init__(
            {
                "fetches": In(stream.Signature(32)).array(cores),
                "fetched": Out(stream.Signature(32)).array(cores),
                "requests": In(stream.Signature(WordRequest)).array(sources),
                "answers": Out(stream.Signature(unsigned(64))).array(sources),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = BankedMemory(
            size=self.size, banks=self.banks, ports=self.cores + 1
        )
        stores = self._sources(m, memory)
        for core in range(self.cores):
            m.submodules[f"fetch_{core}"] = fetch = FetchPort()
            wiring.connect(m, wiring.flipped(self.fetches[core]), fetch.fetches)
            wiring.connect(m, fetch.fetched, wiring.flipped(self.fetched[core]))
            wiring.connect(m, fetch.requests, memory.requests[core])
            m.d.comb += [
                fetch.answers.valid.eq(memory.responses[core].valid),
                fetch.answers.payload.eq(memory.responses[core].payload),
                fetch.forget.eq(stores),
            ]
        return m

    def _sources(self, m: Module, memory: BankedMemory) -> Signal:
        """One of the sources has the last port; returns whether it stores."""
        port, response = memory.requests[self.cores], memory.responses[self.cores]
        m.submodules.grants = grants = Grants(count=self.sources)
        stores, answering = Signal(), Signal(self.sources)
        offered = [request.payload for request in self.requests]
        m.d.comb += [
            grants.requests.eq(Cat(request.valid for request in self.requests)),
            grants.locks.eq(Cat(request.lock for request in offered)),
            grants.accept.eq(port.ready),
            port.valid.eq(grants.grants.any()),
            # The lock is kept here: behind this port nobody else stores.
            port.payload.eq(choose(grants.grants, [request.as_value() for request in offered])),
            stores.eq(port.valid & port.payload.write),
        ]
        m.d.comb += port.payload.lock.eq(0)
        m.d.sync += answering.eq(Mux(port.ready, grants.grants, 0))
        for number, (request, answer) in enumerate(zip(self.requests, self.answers, strict=True)):
            m.d.comb += [
                request.ready.eq(grants.grants[number] & port.ready),
                answer.valid.eq(response.valid & answering[number]),
                answer.payload.eq(response.payload),
            ]
        return stores
