"""Queues between streams: a first-in first-out queue and a skid buffer."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Queue", "SkidBuffer"]


class Queue(wiring.Component):
    """First-in first-out queue with stream interfaces, over the queues of `amaranth.lib.fifo`.

    Neither side depends on the other combinationally. Depth 1 transfers at most every second
    cycle; from depth 2 on (3 with `block_ram`) a payload can enter and one can leave in every
    cycle. A payload is visible at the output one cycle after it entered (two with `block_ram`).

    Parameters
    ----------
    shape
        Shape of the payload.
    depth
        Number of payloads that fit, at least 1.
    block_ram
        Use synchronous reads, so that FPGA tools place the storage in block RAM.

    Members
    -------
    i, o : stream of `shape`
    level : Out(range(depth + 1))
        Number of payloads held.

    Raises
    ------
    TypeError
        If `depth` is not an integer.
    ValueError
        If `depth` is less than 1.
    """

    def __init__(self, *, shape: ShapeLike, depth: int, block_ram: bool = False) -> None:
        if not isinstance(depth, int):
            raise TypeError(f"Depth of a queue must be an integer, not {depth!r}")
        if depth < 1:
            raise ValueError(f"Depth of a queue must be at least 1, not {depth!r}")
        self.depth = depth
        self.block_ram = bool(block_ram)
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        payload_in = Value.cast(self.i.payload)
        # At depth 1 the buffered queue is a plain register; the other would have a memory
        # with an address of no bits.
        buffered = self.block_ram or self.depth == 1
        kind = fifo.SyncFIFOBuffered if buffered else fifo.SyncFIFO
        m.submodules.fifo = inner = kind(width=len(payload_in), depth=self.depth)
        m.d.comb += [
            inner.w_data.eq(payload_in),
            inner.w_en.eq(self.i.valid),
            self.i.ready.eq(inner.w_rdy),
            Value.cast(self.o.payload).eq(inner.r_data),
            self.o.valid.eq(inner.r_rdy),
            inner.r_en.eq(self.o.ready),
            self.level.eq(inner.level),
        ]
        return m


class SkidBuffer(wiring.Component):
    """Two-payload buffer that registers a stream in both directions at full throughput.

    Valid and payload of the output and ready of the input all come from registers, so it cuts
    every combinational path through a stream. Latency one cycle.

    Parameters
    ----------
    shape
        Shape of the payload.

    Members
    -------
    i, o : stream of `shape`

    Attributes
    ----------
    skid : Signal
        The second payload, while the first waits; for proofs.
    """

    def __init__(self, *, shape: ShapeLike) -> None:
        self.skid = Signal(Shape.cast(shape))
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        payload_in = Value.cast(self.i.payload)
        shown = Signal.like(payload_in, name="shown")
        shown_valid = Signal()
        skid_valid = Signal()

        m.d.comb += [
            self.i.ready.eq(~skid_valid),
            self.o.valid.eq(shown_valid),
            Value.cast(self.o.payload).eq(shown),
        ]
        with m.If(self.o.ready | ~shown_valid):
            m.d.sync += skid_valid.eq(0)
            with m.If(skid_valid):
                m.d.sync += shown.eq(self.skid)
            with m.Else():
                m.d.sync += [shown.eq(payload_in), shown_valid.eq(self.i.valid)]
        with m.Elif(self.i.valid & ~skid_valid):
            m.d.sync += [self.skid.eq(payload_in), skid_valid.eq(1)]
        return m
