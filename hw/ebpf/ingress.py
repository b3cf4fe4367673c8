"""Gives events to free threads."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.ebpf.payloads import Event

__all__ = ["Ingress"]


class Ingress(wiring.Component):
    """One event after the other: a free thread is claimed, and while it runs its context is filled.

    Parameters
    ----------
    threads : int
        A power of two, 2 or more.
    context_bytes : int
        Most bytes of a context; what comes behind is taken and dropped.

    Members
    -------
    events : stream in of `Event`; contexts : stream in of 64-bit words
        An event's context follows it, 8 bytes a word.
    free : In(threads)
        Threads that have no event.
    claim : Out(1); claimed : Out; length : Out(16)
        The event is taken by that thread in this cycle, and the bytes of its context.
    fill, fill_word, fill_data : Out; fill_ready : In(1)
        A word of the context of the thread that was claimed last, and whether it is stored.
    thread : Out; filling : Out(1)
        That thread, and that words of its context are still to come.
    there : Out(13)
        Words of it that came before this cycle; those that were dropped count.
    """

    def __init__(self, *, threads: int, context_bytes: int) -> None:
        self.threads = threads
        self.context_bytes = context_bytes
        super().__init__(
            {
                "events": In(stream.Signature(Event)),
                "contexts": In(stream.Signature(64)),
                "free": In(threads),
                "claim": Out(1),
                "claimed": Out(range(threads)),
                "length": Out(16),
                "fill": Out(1),
                "fill_word": Out(range(context_bytes // 8)),
                "fill_data": Out(64),
                "fill_ready": In(1),
                "thread": Out(range(threads)),
                "filling": Out(1),
                "there": Out(13),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = Signal(13)
        event, word = self.events.payload, self.there
        for number in reversed(range(self.threads)):
            with m.If(self.free[number]):
                m.d.comb += self.claimed.eq(number)
        m.d.comb += [
            self.length.eq(
                Mux(event.length > self.context_bytes, self.context_bytes, event.length)
            ),
            self.fill_word.eq(word),
            self.fill_data.eq(self.contexts.payload),
        ]
        with m.FSM(name="ingress"):
            with m.State("CLAIM"):
                m.d.comb += [
                    self.events.ready.eq(self.free.any()),
                    self.claim.eq(self.events.valid & self.events.ready),
                ]
                with m.If(self.claim):
                    m.d.sync += [
                        self.thread.eq(self.claimed),
                        word.eq(0),
                        words.eq((event.length + 7) >> 3),
                    ]
                    with m.If(event.length != 0):
                        m.next = "FILL"
            with m.State("FILL"):
                kept = word < self.context_bytes // 8
                m.d.comb += [
                    self.filling.eq(1),
                    self.contexts.ready.eq(self.fill_ready | ~kept),
                    self.fill.eq(self.contexts.valid & kept),
                ]
                with m.If(self.contexts.valid & self.contexts.ready):
                    m.d.sync += word.eq(word + 1)
                    with m.If(word + 1 == words):
                        m.next = "CLAIM"
        return m
