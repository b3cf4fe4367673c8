"""Loads, stores and atomic operations on values of maps, for all engines."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorMemory, DescriptorWrite
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Access, AccessResult, Descriptor, is_kind
from fanweave.hw.ebpf.maps.value_store import StoreCommand
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.stream.arbiter import Arbiter
from fanweave.hw.stream.queue import Queue

__all__ = ["AccessUnit"]

_WORD_BITS = PLACE_BITS - 3


class AccessUnit(wiring.Component):
    """Checks each access and visits the memory of values with it; one a cycle.

    *describe* reads the map's descriptor, *divide* and *remain* find the place in the value
    (a multiplication each, by the reciprocal of the pitch and by the pitch), *visit* goes to the
    memory. An access that may not be is answered in its turn, so answers of one source keep their
    order.

    Parameters
    ----------
    maps : int
        Maps at most.
    sources : int
        Streams of accesses.
    outstanding : int
        Accesses that one source may have at a time.
    hosts : int
        How many of the last sources are hosts: the flags of a map, which are about programs, do
        not bind them, and they reach the values of queues, stacks and tables as well.

    Members
    -------
    descriptors : stream in of `DescriptorWrite`
        Always ready.
    sources : array of streams in of `Access`
    results : array of streams out of `AccessResult`
        A source takes its result at once or, if it has more than `outstanding`, holds up all.
    visits : stream out of `StoreCommand`
    visited, value_read : In
        A visit ends, and the bytes that were there.
    """

    def __init__(self, *, maps: int, sources: int, outstanding: int, hosts: int = 0) -> None:
        if not 0 <= hosts <= sources:
            raise ValueError(f"hosts = {hosts} must be from 0 to sources = {sources}")
        self.maps = maps
        self.hosts = hosts
        self.count = sources
        self.outstanding = outstanding
        super().__init__(
            {
                "descriptors": In(stream.Signature(DescriptorWrite)),
                "sources": In(stream.Signature(Access)).array(sources),
                "results": Out(stream.Signature(AccessResult)).array(sources),
                "visits": Out(stream.Signature(StoreCommand)),
                "visited": In(1),
                "value_read": In(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = Arbiter(shape=Access, sources=self.count)
        for outer, inner in zip(self.sources, arbiter.sources, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        goes = Signal()  # the stages move on
        stage = data.StructLayout({"valid": 1, "source": range(max(self.count, 2)), "it": Access})
        described = Signal(stage)
        divided = Signal(stage)
        remaining = Signal(stage)
        descriptor = self._describe(m, arbiter, described, goes)

        word = described.it.place[3:]
        product = Signal(_WORD_BITS + 32)
        quotient = Signal(_WORD_BITS)
        m.d.comb += product.eq(word * descriptor.reciprocal)
        divider_descriptor = Signal(Descriptor)
        with m.If(goes):
            m.d.sync += [
                divided.eq(described),
                divider_descriptor.eq(descriptor),
                quotient.eq(Mux(descriptor.reciprocal == 0, word, product[32:])),
            ]
        first = Signal(_WORD_BITS)  # first word of the value
        remain_descriptor = Signal(Descriptor)
        beyond = Signal()
        reach = Signal.like(divider_descriptor.values)
        unreachable = divider_descriptor.values == 0
        m.d.comb += reach.eq(
            Mux(
                self._is_host(divided) & unreachable,
                divider_descriptor.entries,
                divider_descriptor.values,
            )
        )
        with m.If(goes):
            m.d.sync += [
                remaining.eq(divided),
                remain_descriptor.eq(divider_descriptor),
                first.eq(quotient * divider_descriptor.pitch_words),
                beyond.eq(quotient >= reach),
            ]
        self._visit(m, remaining, remain_descriptor, first, beyond, goes)
        return m

    def _describe(
        self, m: Module, arbiter: Arbiter, described: data.View, goes: Value
    ) -> data.View:
        m.submodules.descriptors_by_map = memory = DescriptorMemory(maps=self.maps)
        wiring.connect(m, wiring.flipped(self.descriptors), memory.writes)
        chosen = Signal(Access)
        m.d.comb += [
            chosen.as_value().eq(arbiter.o.payload.payload),
            arbiter.o.ready.eq(goes),
            memory.map.eq(chosen.map),
            memory.enable.eq(goes),
        ]
        with m.If(goes):
            m.d.sync += [
                described.valid.eq(arbiter.o.valid),
                described.source.eq(arbiter.o.payload.source),
                described.it.eq(chosen),
            ]
        return memory.descriptor

    def _is_host(self, stage: data.View) -> Value:
        return stage.source >= self.count - self.hosts

    def _visit(
        self,
        m: Module,
        remaining: data.View,
        descriptor: data.View,
        first: Value,
        beyond: Value,
        goes: Value,
    ) -> None:
        access = remaining.it
        word = access.place[3:]
        within = Signal(PLACE_BITS)  # place in the value
        fits = Signal()
        is_ring = Signal()
        cause = Signal(Cause)
        m.d.comb += [
            within.eq(access.place - (first << 3)),
            is_ring.eq(is_kind(descriptor, MapType.RINGBUF)),
            fits.eq(~beyond & (within + access.span <= descriptor.value_bytes)),
        ]
        with m.If(~descriptor.valid | ~Mux(is_ring, access.in_record, fits)):
            m.d.comb += cause.eq(Cause.OUT_OF_BOUNDS)
        with m.Elif(
            ~self._is_host(remaining)
            & (
                (access.loads & ~descriptor.readable)
                | ((access.stores | access.probes) & ~descriptor.writable)
            )
        ):
            m.d.comb += cause.eq(Cause.FORBIDDEN)

        waits = data.StructLayout(
            {"source": range(max(self.count, 2)), "thread": 4, "cause": Cause}
        )
        # One more than can be in the memory at a time.
        m.submodules.visiting = visiting = Queue(shape=waits, depth=3)
        visit = self.visits.payload
        refused = cause != Cause.NONE
        m.d.comb += [
            self.visits.valid.eq(remaining.valid & visiting.i.ready),
            visit.base.eq(descriptor.value_base),
            visit.offset.eq(word),
            visit.mask.eq(Mux(is_ring, (descriptor.entries >> 3) - 1, ~0)),
            visit.data.eq(access.source),
            visit.access.eq(1),
            visit.byte.eq(access.place[:3]),
            visit.size.eq(access.size),
            visit.stores.eq(access.stores & ~refused),
            visit.atomic.eq(access.atomic),
            visit.atomic_operation.eq(access.atomic_operation),
            visit.r0.eq(access.r0),
            visiting.i.payload.source.eq(remaining.source),
            visiting.i.payload.thread.eq(access.thread),
            visiting.i.payload.cause.eq(cause),
            visiting.i.valid.eq(self.visits.valid & self.visits.ready),
            goes.eq(~remaining.valid | (self.visits.valid & self.visits.ready)),
            visiting.o.ready.eq(self.visited),
        ]
        for number, out in enumerate(self.results):
            m.submodules[f"results_{number}"] = queue = Queue(
                shape=AccessResult, depth=self.outstanding
            )
            m.d.comb += [
                queue.i.valid.eq(self.visited & (visiting.o.payload.source == number)),
                queue.i.payload.thread.eq(visiting.o.payload.thread),
                queue.i.payload.value.eq(self.value_read),
                queue.i.payload.cause.eq(visiting.o.payload.cause),
            ]
            wiring.connect(m, queue.o, wiring.flipped(out))
