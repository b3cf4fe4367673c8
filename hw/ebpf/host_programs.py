"""A host's side of the program store: words, commits, releases and bindings."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.ebpf.program_payloads import (
    SLOT_BITS,
    Bind,
    Commit,
    CommitResult,
    LoadCause,
    ProgramWrite,
    Release,
)

__all__ = ["HostPrograms"]


class HostPrograms(wiring.Component):
    """Holds each request until the store takes it, and what became of it after that.

    Members
    -------
    word_start, commit_start, release_start, bind_start : In(1)
        Make a request; not while one of the same kind is busy. Only a word may follow another one
        if the store takes that in this cycle, which `word_waits` denies.
    word, commit_request, release_request, bind_request : In
        Sampled in that cycle.
    clear_refused : In(1)
        Forget that words were refused.
    word_waits : Out(1)
    word_busy, commit_busy, release_busy, bind_busy : Out(1)
    words_refused : Out(1)
        A word was refused since the last `clear_refused`.
    fault, fault_slot : Out
        Of the last commit, once it is not busy.
    release_failed, bind_failed : Out(1)
        The last one was refused, once it is not busy.
    program_write ... bind_refused
        The store's ports; see `ProgramStore`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "word_start": In(1),
                "word": In(ProgramWrite),
                "clear_refused": In(1),
                "word_waits": Out(1),
                "word_busy": Out(1),
                "words_refused": Out(1),
                "commit_start": In(1),
                "commit_request": In(Commit),
                "commit_busy": Out(1),
                "fault": Out(LoadCause),
                "fault_slot": Out(SLOT_BITS),
                "release_start": In(1),
                "release_request": In(Release),
                "release_busy": Out(1),
                "release_failed": Out(1),
                "bind_start": In(1),
                "bind_request": In(Bind),
                "bind_busy": Out(1),
                "bind_failed": Out(1),
                "program_write": Out(stream.Signature(ProgramWrite)),
                "refused": In(1),
                "commit": Out(stream.Signature(Commit)),
                "committed": In(stream.Signature(CommitResult)),
                "release": Out(stream.Signature(Release)),
                "released": In(1),
                "release_refused": In(1),
                "bind": Out(stream.Signature(Bind)),
                "bound": In(1),
                "bind_refused": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._offer(m, self.program_write, self.word_start, self.word)
        # The store says in the cycle after the transfer whether it dropped the word.
        answers = Signal()
        m.d.sync += answers.eq(self.program_write.valid & self.program_write.ready)
        m.d.comb += [
            self.word_waits.eq(self.program_write.valid & ~self.program_write.ready),
            self.word_busy.eq(self.program_write.valid | answers),
        ]
        with m.If(self.clear_refused):
            m.d.sync += self.words_refused.eq(0)
        with m.If(self.refused):
            m.d.sync += self.words_refused.eq(1)

        self._offer(m, self.commit, self.commit_start, self.commit_request)
        m.d.comb += self.committed.ready.eq(1)
        with m.If(self.commit_start):
            m.d.sync += self.commit_busy.eq(1)
        with m.Elif(self.committed.valid):
            m.d.sync += [
                self.commit_busy.eq(0),
                self.fault.eq(self.committed.payload.fault),
                self.fault_slot.eq(self.committed.payload.slot),
            ]

        for name, done, refused in (
            ("release", self.released, self.release_refused),
            ("bind", self.bound, self.bind_refused),
        ):
            start = getattr(self, f"{name}_start")
            busy, failed = getattr(self, f"{name}_busy"), getattr(self, f"{name}_failed")
            self._offer(m, getattr(self, name), start, getattr(self, f"{name}_request"))
            with m.If(start):
                m.d.sync += busy.eq(1)
            with m.Elif(done | refused):
                m.d.sync += [busy.eq(0), failed.eq(refused)]
        return m

    @staticmethod
    def _offer(m: Module, port: stream.Interface, start: Signal, request: Signal) -> None:
        """Keep a request on a stream until it is taken."""
        with m.If(start):
            m.d.sync += [port.valid.eq(1), port.payload.eq(request)]
        with m.Elif(port.ready):
            m.d.sync += port.valid.eq(0)
