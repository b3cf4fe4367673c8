"""Gives verdicts, and with them what became of the context."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.ebpf.payloads import Verdict

__all__ = ["Egress", "ended_layout"]

_WORD_BYTES = 8


def ended_layout(threads: int) -> data.StructLayout:
    """A verdict, its thread, and the bytes of that thread's context."""
    return data.StructLayout({"verdict": Verdict, "thread": range(threads), "length": 16})


class Egress(wiring.Component):
    """One verdict after the other; its thread is free when the last word of the context has left.

    Parameters
    ----------
    threads : int
        A power of two, 2 or more.
    context_bytes : int
        Most bytes of a context.

    Members
    -------
    ended : stream in of `ended_layout`
    verdicts : stream out of `Verdict`; contexts : stream out of 64-bit words
        A verdict's context follows it, 8 bytes a word.
    thread : Out; freed : Out(1)
        Whose verdict it is, and that it is free from the next cycle on.
    read_offset : Out; read_data : In(64)
        A word of its context, a cycle later.
    """

    def __init__(self, *, threads: int, context_bytes: int) -> None:
        super().__init__(
            {
                "ended": In(stream.Signature(ended_layout(threads))),
                "verdicts": Out(stream.Signature(Verdict)),
                "contexts": Out(stream.Signature(64)),
                "thread": Out(range(threads)),
                "freed": Out(1),
                "read_offset": Out(range(context_bytes)),
                "read_data": In(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entry = self.ended.payload
        place = Signal(16)
        m.d.comb += [
            self.thread.eq(entry.thread),
            self.read_offset.eq(place[: len(self.read_offset)]),
            self.verdicts.payload.eq(entry.verdict),
            self.contexts.payload.eq(self.read_data),
            self.ended.ready.eq(self.freed),
        ]
        with m.FSM(name="egress"):
            with m.State("VERDICT"):
                m.d.comb += self.verdicts.valid.eq(self.ended.valid)
                m.d.sync += place.eq(0)
                with m.If(self.verdicts.valid & self.verdicts.ready):
                    with m.If(entry.length == 0):
                        m.d.comb += self.freed.eq(1)
                    with m.Else():
                        m.next = "READ"
            with m.State("READ"):
                m.next = "WORD"
            with m.State("WORD"):
                m.d.comb += self.contexts.valid.eq(1)
                with m.If(self.contexts.ready):
                    m.d.sync += place.eq(place + _WORD_BYTES)
                    m.next = "READ"
                    with m.If(place + _WORD_BYTES >= entry.length):
                        m.d.comb += self.freed.eq(1)
                        m.next = "VERDICT"
        return m
