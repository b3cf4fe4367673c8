"""Ends of a channel with credits: a receiver gives one back for each message that left it."""

from amaranth import Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.stream import Queue, SkidBuffer

__all__ = ["CreditReceiver", "CreditSender"]


class CreditReceiver(wiring.Component):
    """A queue with a place for each credit.

    Parameters
    ----------
    shape
        Shape of a message.
    credits : int
        Places.

    Members
    -------
    i, o : streams of `shape`
        A sender that keeps to its credits finds ``i.ready`` high.
    credit : Out(1)
        One is given back.
    """

    def __init__(self, *, shape: ShapeLike, credits: int) -> None:
        self.shape = shape
        self.credits = credits
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "credit": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = Queue(shape=self.shape, depth=self.credits)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        m.d.sync += self.credit.eq(queue.o.valid & queue.o.ready)
        return m


class CreditSender(wiring.Component):
    """Sends only what the receiver has place for, and notices a link that does not move.

    Parameters
    ----------
    shape
        Shape of a message.
    credits : int
        Places of the receiver.

    Members
    -------
    i, o : streams of `shape`
    credit : In(1)
        The receiver has one more place.
    down : In(1)
        The link is off: what comes is dropped, nothing is offered, and all credits are back. This
        is the one case in which an offered message goes away.
    timeout : In(24)
        Cycles without a step after which a waiting message makes ``stuck`` high.
    stuck, overflow : Out(1)
        Nothing moves; more credits came back than were taken.
    """

    def __init__(self, *, shape: ShapeLike, credits: int) -> None:
        self.shape = shape
        self.credits = credits
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "credit": In(1),
                "down": In(1),
                "timeout": In(24),
                "stuck": Out(1),
                "overflow": Out(1),
            }
        )
        #: Credits at hand; for proofs.
        self.count = Signal(range(credits + 1), init=credits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = SkidBuffer(shape=self.shape)
        wiring.connect(m, wiring.flipped(self.i), buffer.i)
        waited = Signal(24)
        moves = Signal()
        any_left = self.count != 0
        m.d.comb += [
            self.o.payload.eq(buffer.o.payload),
            self.o.valid.eq(buffer.o.valid & any_left & ~self.down),
            buffer.o.ready.eq((self.o.ready & any_left) | self.down),
            moves.eq(self.o.valid & self.o.ready),
            self.overflow.eq(self.credit & ~moves & ~self.down & (self.count == self.credits)),
            self.stuck.eq(waited >= self.timeout),
        ]
        with m.If(self.down):
            m.d.sync += self.count.eq(self.credits)
        with m.Elif(~self.overflow):
            m.d.sync += self.count.eq(self.count + self.credit - moves)
        waits = buffer.o.valid & ~moves & ~self.down
        m.d.sync += waited.eq(Mux(waits, Mux(self.stuck, waited, waited + 1), 0))
        return m
