"""Chooses one of several streams, in turn."""

from amaranth import Array, Cat, Module, Signal
from amaranth.hdl import Shape, ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Arbiter"]


class Arbiter(wiring.Component):
    """Round robin: who was served last comes last, so a source waits for each other once.

    A choice that was offered stays until it is taken, as a stream's payload must.

    Parameters
    ----------
    shape
        Shape of the payload.
    sources : int
        Streams to choose from, 1 or more.

    Members
    -------
    sources : array of streams in
    o : stream out of a struct of ``source`` and ``payload``
    """

    def __init__(self, *, shape: ShapeLike, sources: int) -> None:
        if sources < 1:
            raise ValueError(f"sources = {sources} must be at least 1")
        self.count = sources
        chosen = data.StructLayout(
            {"source": range(max(sources, 2)), "payload": Shape.cast(shape).width}
        )
        super().__init__(
            {
                "sources": In(stream.Signature(shape)).array(sources),
                "o": Out(stream.Signature(chosen)),
            }
        )

        # Who was served last; that a choice was offered and not taken, and which.
        self.last = Signal(range(max(sources, 2)), init=sources - 1)
        self.kept = Signal()
        self.held = Signal(range(max(sources, 2)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, kept, held = self.last, self.kept, self.held
        chosen = Signal.like(held)
        for distance in reversed(range(self.count)):
            for after in range(self.count):
                number = (after + 1 + distance) % self.count
                with m.If((last == after) & self.sources[number].valid):
                    m.d.comb += chosen.eq(number)
        with m.If(kept):
            m.d.comb += chosen.eq(held)
        payloads = Array(Cat(source.payload) for source in self.sources)
        m.d.comb += [
            self.o.valid.eq(Cat(source.valid for source in self.sources).any()),
            self.o.payload.source.eq(chosen),
            self.o.payload.payload.eq(payloads[chosen]),
        ]
        m.d.sync += [kept.eq(self.o.valid & ~self.o.ready), held.eq(chosen)]
        for number, source in enumerate(self.sources):
            m.d.comb += source.ready.eq(self.o.ready & (chosen == number))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += last.eq(chosen)
        return m
