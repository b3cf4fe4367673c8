"""A crossbar with a queue between each entry and each exit, and a fair arbiter at each exit."""

from amaranth import Cat, Module, Signal
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
    drained : int
        Exits that ``drained`` speaks of, from the first on; 0 for a crossbar without that.

    Members
    -------
    i{n} : stream in of a struct of ``target`` and ``payload``
    o{n} : stream out of a struct of ``source`` and ``payload``
        The payload's bits.
    mark : In(1); marked : In; drained : Out(1)
        From the cycle after ``mark`` on, ``drained`` says whether what waited in that cycle from
        the entry ``marked`` has left.
    """

    def __init__(
        self, *, shape: ShapeLike, sources: int, targets: int, depth: int, drained: int = 0
    ) -> None:
        self.shape = shape
        self.sources = sources
        self.targets = targets
        self.depth = depth
        self.counted = drained
        inward = data.StructLayout({"target": range(max(targets, 2)), "payload": shape})
        outward = data.StructLayout({"source": range(max(sources, 2)), "payload": shape})
        members: dict[str, object] = {}
        if drained:
            members = {"mark": In(1), "marked": In(range(max(sources, 2))), "drained": Out(1)}
        super().__init__(
            {f"i{n}": In(stream.Signature(inward)) for n in range(sources)}
            | {f"o{n}": Out(stream.Signature(outward)) for n in range(targets)}
            | members
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
        queues: list[list[Queue]] = [[] for _ in range(self.targets)]
        for source in range(self.sources):
            into = getattr(self, f"i{source}")
            for target, arbiter in enumerate(arbiters):
                queue = Queue(shape=width, depth=self.depth)
                m.submodules[f"queue_{source}_{target}"] = queue
                queues[target].append(queue)
                chosen = into.payload.target == target
                m.d.comb += [
                    queue.i.payload.eq(Value.cast(into.payload.payload)),
                    queue.i.valid.eq(into.valid & chosen),
                ]
                with m.If(chosen):
                    m.d.comb += into.ready.eq(queue.i.ready)
                wiring.connect(m, queue.o, arbiter.sources[source])
        if self.counted:
            self._count(m, queues[: self.counted])
        return m

    def _count(self, m: Module, queues: list[list[Queue]]) -> None:
        """For each exit, how much of what waited is still there."""
        marked = Signal(range(max(self.sources, 2)))
        with m.If(self.mark):
            m.d.sync += marked.eq(self.marked)
        left = []
        for target, row in enumerate(queues):
            count = Signal(range(self.depth + 1), name=f"left_{target}")
            left.append(count)
            for source, queue in enumerate(row):
                leaves = queue.o.valid & queue.o.ready
                with m.If(self.mark & (self.marked == source)):
                    m.d.sync += count.eq(queue.level - leaves)
                with m.Elif(~self.mark & (marked == source) & leaves & (count != 0)):
                    m.d.sync += count.eq(count - 1)
        m.d.comb += self.drained.eq(~Cat(left).any())
