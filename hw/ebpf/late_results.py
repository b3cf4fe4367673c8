"""Results that come when their instruction has long left the pipeline, one at a time."""

from amaranth import Module, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.ebpf.divider import Quotient
from fanweave.hw.ebpf.helper_payloads import Reply
from fanweave.hw.ebpf.maps.payloads import AccessResult
from fanweave.hw.ebpf.payloads import THREAD_BITS, Cause

__all__ = ["LateKind", "LateResult", "LateResults"]


class LateKind(enum.Enum, shape=unsigned(2)):
    """What a late result comes from."""

    DIVISION = 0
    ACCESS = 1
    HELPER = 2


class LateResult(data.Struct):
    """A result; ``goes_on_elsewhere`` as in `Reply`."""

    kind: LateKind
    thread: unsigned(THREAD_BITS)
    value: unsigned(64)
    cause: Cause
    goes_on_elsewhere: unsigned(1)


class LateResults(wiring.Component):
    """Divisions before accesses before helpers: each thread waits for one of them at most.

    So a result is overtaken by those of the other threads, once each, and no more as soon as
    selection is held.

    Members
    -------
    divisions : stream in of `Quotient`
    accesses : stream in of `AccessResult`
    replies : stream in of `Reply`
    o : stream out of `LateResult`
    """

    divisions: In(stream.Signature(Quotient))
    accesses: In(stream.Signature(AccessResult))
    replies: In(stream.Signature(Reply))
    o: Out(stream.Signature(LateResult))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        out = self.o.payload
        with m.If(self.divisions.valid):
            m.d.comb += [
                self.o.valid.eq(1),
                self.divisions.ready.eq(self.o.ready),
                out.kind.eq(LateKind.DIVISION),
                out.thread.eq(self.divisions.payload.thread),
                out.value.eq(self.divisions.payload.value),
            ]
        with m.Elif(self.accesses.valid):
            m.d.comb += [
                self.o.valid.eq(1),
                self.accesses.ready.eq(self.o.ready),
                out.kind.eq(LateKind.ACCESS),
                out.thread.eq(self.accesses.payload.thread),
                out.value.eq(self.accesses.payload.value),
                out.cause.eq(self.accesses.payload.cause),
            ]
        with m.Else():
            m.d.comb += [
                self.o.valid.eq(self.replies.valid),
                self.replies.ready.eq(self.o.ready),
                out.kind.eq(LateKind.HELPER),
                out.thread.eq(self.replies.payload.thread),
                out.value.eq(self.replies.payload.value),
                out.cause.eq(self.replies.payload.cause),
                out.goes_on_elsewhere.eq(self.replies.payload.goes_on_elsewhere),
            ]
        return m
