"""Watches a stream and records, stickily, the first breach of the stream protocol."""

from amaranth.hdl import Cat, Module, ShapeLike, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamChecker", "Violation"]


class Violation(enum.Enum, shape=2):
    """Which rule of the stream protocol was broken first."""

    NONE = 0
    #: Valid fell before the transfer took place.
    VALID_DROPPED = 1
    #: The payload changed while valid was waiting for ready.
    PAYLOAD_CHANGED = 2


class StreamChecker(wiring.Component):
    """Passive checker of one stream: once valid, valid and payload hold until the transfer.

    Parameters
    ----------
    shape
        Shape of the payload.
    bound
        Number of cycles that a payload may wait for ready before `waiting` is raised; 0 turns
        this check off.
    count_width
        Width of `transfers`, which wraps.

    Members
    -------
    valid, ready, payload : In
        The stream as seen from outside; `watch` connects them.
    violation : Out(1)
        Sticky; raised in the cycle after the breach.
    cause : Out(Violation)
        Cause of the first breach; holds.
    transfers : Out(count_width)
        Number of transfers since reset.
    waiting : Out(1)
        Sticky; a payload waited for more than `bound` cycles.

    Raises
    ------
    TypeError
        If `bound` or `count_width` is not an integer.
    ValueError
        If `bound` is negative or `count_width` is not positive.
    """

    def __init__(self, *, shape: ShapeLike, bound: int = 0, count_width: int = 32) -> None:
        if not isinstance(bound, int):
            raise TypeError(f"Bound of a stream checker must be an integer, not {bound!r}")
        if bound < 0:
            raise ValueError(f"Bound of a stream checker must not be negative, not {bound!r}")
        if not isinstance(count_width, int):
            raise TypeError(
                f"Counter width of a stream checker must be an integer, not {count_width!r}"
            )
        if count_width < 1:
            raise ValueError(
                f"Counter width of a stream checker must be positive, not {count_width!r}"
            )
        self.bound = bound
        super().__init__(
            {
                "valid": In(1),
                "ready": In(1),
                "payload": In(shape),
                "violation": Out(1),
                "cause": Out(Violation),
                "transfers": Out(count_width),
                "waiting": Out(1),
            }
        )

    def watch(self, m: Module, watched: stream.Interface) -> None:
        """Connect the checker, in module `m`, to a stream without disturbing it."""
        m.d.comb += [
            self.valid.eq(watched.valid),
            self.ready.eq(watched.ready),
            Value.cast(self.payload).eq(Value.cast(watched.payload)),
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        payload = Value.cast(self.payload)
        pending = Signal()
        shown = Signal.like(payload, name="shown")
        dropped = Signal()
        changed = Signal()

        m.d.sync += pending.eq(self.valid & ~self.ready)
        with m.If(self.valid):
            m.d.sync += shown.eq(payload)
        m.d.comb += [
            dropped.eq(pending & ~self.valid),
            changed.eq(pending & self.valid & (payload != shown)),
        ]
        with m.If(Cat(dropped, changed).any() & ~self.violation):
            m.d.sync += self.violation.eq(1)
            with m.If(dropped):
                m.d.sync += self.cause.eq(Violation.VALID_DROPPED)
            with m.Else():
                m.d.sync += self.cause.eq(Violation.PAYLOAD_CHANGED)
        with m.If(self.valid & self.ready):
            m.d.sync += self.transfers.eq(self.transfers + 1)

        if self.bound:
            waited = Signal(range(self.bound + 1))
            with m.If(~self.valid | self.ready):
                m.d.sync += waited.eq(0)
            with m.Elif(waited == self.bound):
                m.d.sync += self.waiting.eq(1)
            with m.Else():
                m.d.sync += waited.eq(waited + 1)
        return m
