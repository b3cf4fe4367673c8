"""Short queue whose two oldest entries are visible."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RowBuffer"]


class RowBuffer(wiring.Component):
    """Shift queue: one entry in, up to two out in a cycle.

    Parameters
    ----------
    shape
        Shape of an entry.
    depth : int
        Entries, at least 3, so that two can stay visible while one enters.

    Members
    -------
    i : stream in
    first, second : Out(shape); first_valid, second_valid : Out(1)
    pop : In(2)
        Entries to drop, at most as many as are valid.
    """

    def __init__(self, *, shape, depth: int) -> None:
        if depth < 3:
            raise ValueError(f"depth = {depth} is illegal; it must be 3 or more")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "first": Out(shape),
                "second": Out(shape),
                "first_valid": Out(1),
                "second_valid": Out(1),
                "pop": In(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._entries = entries = [Signal(self.shape, name=f"entry_{i}") for i in range(self.depth)]
        self._level = level = Signal(range(self.depth + 1))
        left = Signal.like(level)
        enters = Signal()
        m.d.comb += [
            self.first.eq(entries[0]),
            self.second.eq(entries[1]),
            self.first_valid.eq(level >= 1),
            self.second_valid.eq(level >= 2),
            left.eq(level - self.pop),
            self.i.ready.eq(level != self.depth),
            enters.eq(self.i.valid & self.i.ready),
        ]
        m.d.sync += level.eq(left + enters)
        for i, entry in enumerate(entries):
            # An entry holds what stands pop places behind it, or the new one at the end.
            with m.If(enters & (left == i)):
                m.d.sync += entry.eq(self.i.payload)
            with m.Else():
                for pops in (1, 2):
                    if i + pops < self.depth:
                        with m.If(self.pop == pops):
                            m.d.sync += entry.eq(entries[i + pops])
        return m
