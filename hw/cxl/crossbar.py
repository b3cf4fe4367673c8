"""A crossbar with a queue between each entry and each exit, and a fair arbiter at each exit."""

from amaranth import Module
from amaranth.hdl import Shape, ShapeLike, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream import Queue
from fanweave.hw.stream.arbiter import Arbiter

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Keeps the order of each pair of entry and exit; a full exit holds up only its own queues.

    Parameters
    ----------
    shape
        Shape of a payload.
    sources, targets : int
        Entries and exits.
    depth : int
        Places of each queue.

    Members
    -------
    i{n} : stream in of a struct of ``target`` and ``payload``
    o{n} : stream out of a struct of ``source`` and ``payload``
        The payload's bits.
    """

    def __init__(self, *, shape: ShapeLike, sources: int, targets: int, depth: int) -> None:
        self.shape = shape
        self.sources = sources
        self.targets = targets
        self.depth = depth
        inward = data.StructLayout({"target": range(max(targets, 2)), "payload": shape})
        outward = data.StructLayout({"source": range(max(sources, 2)), "payload": shape})
        super().__init__(
            {f"i{n}": In(stream.Signature(inward)) for n in range(sources)}
            | {f"o{n}": Out(stream.Signature(outward)) for n in range(targets)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = Shape.cast(self.shape).width
        arbiters = []
        for target in range(self.targets):
            arbiter = Arbiter(shape=width, sources=self.sources)
            m.submodules[f"arbiter_{target}"] = arbiter
            arbiters.append(arbiter)
            out = getattr(self, f"o{target}")
            m.d.comb += [
                Value.cast(out.payload.payload).eq(arbiter.o.payload.payload),
                out.payload.source.eq(arbiter.o.payload.source),
                out.valid.eq(arbiter.o.valid),
                arbiter.o.ready.eq(out.ready),
            ]
        for source in range(self.sources):
            into = getattr(self, f"i{source}")
            for target, arbiter in enumerate(arbiters):
                queue = Queue(shape=width, depth=self.depth)
                m.submodules[f"queue_{source}_{target}"] = queue
                chosen = into.payload.target == target
                m.d.comb += [
                    queue.i.payload.eq(Value.cast(into.payload.payload)),
                    queue.i.valid.eq(into.valid & chosen),
                ]
                with m.If(chosen):
                    m.d.comb += into.ready.eq(queue.i.ready)
                wiring.connect(m, queue.o, arbiter.sources[source])
        return m
