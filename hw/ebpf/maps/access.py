"""Loads, stores and atomic operations on values of maps, for all engines."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.hw.ebpf.maps.arbiter import Arbiter
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, Access, AccessResult, Descriptor, is_kind
from fanweave.hw.ebpf.maps.value_store import StoreCommand
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.stream.queue import Queue

__all__ = ["AccessUnit", "DescriptorWrite"]

_WORD_BITS = PLACE_BITS - 3


class DescriptorWrite(data.Struct):
    """Makes a map's descriptor."""

    map: 8
    descriptor: Descriptor


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

    def __init__(self, *, maps: int, sources: int, outstanding: int) -> None:
        self.maps = maps
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
        with m.If(goes):
            m.d.sync += [
                remaining.eq(divided),
                remain_descriptor.eq(divider_descriptor),
                first.eq(quotient * divider_descriptor.pitch_words),
                beyond.eq(quotient >= divider_descriptor.values),
            ]
        self._visit(m, remaining, remain_descriptor, first, beyond, goes)
        return m

    def _describe(
        self, m: Module, arbiter: Arbiter, described: data.View, goes: Value
    ) -> data.View:
        m.submodules.descriptor_memory = memory = Memory(shape=Descriptor, depth=self.maps, init=[])
        read, write = memory.read_port(), memory.write_port()
        known = Signal(self.maps)
        chosen = Signal(Access)
        exists = Signal()
        m.d.comb += [
            chosen.as_value().eq(arbiter.o.payload.payload),
            arbiter.o.ready.eq(goes),
            read.addr.eq(chosen.map),
            read.en.eq(goes),
            self.descriptors.ready.eq(1),
            write.addr.eq(self.descriptors.payload.map),
            write.data.eq(self.descriptors.payload.descriptor),
            write.en.eq(self.descriptors.valid),
        ]
        with m.If(self.descriptors.valid):
            m.d.sync += known.bit_select(
                self.descriptors.payload.map[: ceil_log2(self.maps)], 1
            ).eq(1)
        with m.If(goes):
            m.d.sync += [
                described.valid.eq(arbiter.o.valid),
                described.source.eq(arbiter.o.payload.source),
                described.it.eq(chosen),
                exists.eq(
                    known.bit_select(chosen.map[: ceil_log2(self.maps)], 1)
                    & (chosen.map < self.maps)
                ),
            ]
        descriptor = Signal(Descriptor, name="descriptor_read")
        m.d.comb += descriptor.eq(read.data)
        with m.If(~exists):
            m.d.comb += descriptor.as_value().eq(0)
        return descriptor

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
        with m.Elif((access.loads & ~descriptor.readable) | (access.stores & ~descriptor.writable)):
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
