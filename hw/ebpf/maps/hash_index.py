"""Finds keys: buckets with chains of slots, one slot of a chain a cycle."""

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_maps import ARRAYS, MapType
from fanweave.hw.ebpf.maps.payloads import PLACE_BITS, is_kind, operation_layout

__all__ = ["HashIndex", "Link", "found_layout", "key_row_layout"]


class Link(data.Struct):
    """A slot, or the end of a chain."""

    valid: 1
    slot: 16


def key_row_layout(config: EbpfConfig) -> data.StructLayout:
    """What is kept of a slot: whether it is taken, its bucket and its key."""
    return data.StructLayout({"taken": 1, "bucket": 16, "key": 8 * config.key_bytes})


def found_layout(config: EbpfConfig, sources: int) -> data.StructLayout:
    """What was found of an operation's key.

    ``slot`` and ``place`` are those of the key, if there was a ``hit``; ``previous`` is the slot
    before it in its chain, ``following`` the one behind it; ``head`` is the first of the chain.
    """
    return data.StructLayout(
        {
            "source": range(max(sources, 2)),
            "operation": operation_layout(config),
            "hit": 1,
            "slot": 16,
            "place": PLACE_BITS,
            "bucket": 16,
            "head": Link,
            "previous": Link,
            "following": Link,
        }
    )


class HashIndex(wiring.Component):
    """Takes an operation a cycle and says in order where its key is.

    *head* reads the first slot of the key's bucket, *compare* the keys of the chain's slots, one
    a cycle. An operation on an array goes the same way without looking: its place is its number
    times the pitch. An answer comes two cycles after the operation, and one more for each slot of
    the chain behind the first. A chain has at most as many slots as the map.

    Parameters
    ----------
    config : EbpfConfig
        The engine; ``buckets`` and ``entries`` are the sizes of the memories.
    sources : int
        Streams that operations came from.

    Members
    -------
    i : stream in of a struct of ``source`` and ``operation``
    o : stream out of `found_layout`
    empty : Out(1)
        No operation is on its way.
    head_write, link_write, key_write : In(1)
        Change the memories, with ``bucket`` and ``head``, ``link_slot`` and ``link``,
        ``key_slot`` and ``key_row``; only while `empty`. All numbers count from the memory's
        beginning, but links count from the map's.
    key_read_slot : In; key_read : Out
        A row of the keys, a cycle later.
    """

    def __init__(self, *, config: EbpfConfig, sources: int) -> None:
        self.config = config
        self.count = sources
        self.operation = operation_layout(config)
        incoming = data.StructLayout(
            {"source": range(max(sources, 2)), "operation": self.operation}
        )
        row = key_row_layout(config)
        super().__init__(
            {
                "i": In(stream.Signature(incoming)),
                "o": Out(stream.Signature(found_layout(config, sources))),
                "empty": Out(1),
                "head_write": In(1),
                "bucket": In(16),
                "head": In(Link),
                "link_write": In(1),
                "link_slot": In(16),
                "link": In(Link),
                "key_write": In(1),
                "key_slot": In(16),
                "key_row": In(row),
                "key_read_slot": In(16),
                "key_read": Out(row),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        heads = self._memory(m, "heads", Link, self.config.buckets)
        links = self._memory(m, "links", Link, self.config.entries)
        row = key_row_layout(self.config)
        keys = self._memory(m, "keys", row, self.config.entries, readers=2)
        self._write(m, heads, links, keys)

        first, second = Signal(self._first_layout()), Signal(self._second_layout())
        walks, moves = Signal(), Signal()  # along the chain; from the first stage to the second
        head, following = heads["reads"][0].data, links["reads"][0].data
        same = Signal()
        m.d.comb += [
            same.eq(keys["reads"][0].data.key == second.it.operation.key),
            walks.eq(second.valid & ~second.is_array & second.exists & ~same & following.valid),
            moves.eq(~second.valid | (self.o.valid & self.o.ready)),
            self.i.ready.eq(~first.valid | moves),
            self.empty.eq(~first.valid & ~second.valid),
        ]
        self._enter(m, heads, first)
        acting = Signal(self.operation)
        m.d.comb += acting.eq(Mux(walks, second.it.operation, first.it.operation))
        entry = acting.descriptor.entry_base + Mux(walks, following.slot, head.slot)
        number = Mux(walks, following.slot, self._number(first, head))
        place = Signal(PLACE_BITS)
        m.d.comb += place.eq((number * acting.descriptor.pitch_words)[: PLACE_BITS - 3] << 3)
        with m.If(moves):
            self._take(m, first, second, head, place)
        with m.Elif(walks):
            m.d.sync += [
                second.slot.eq(following.slot),
                second.place.eq(place),
                second.previous.valid.eq(1),
                second.previous.slot.eq(second.slot),
            ]
        for read in (links["reads"][0], keys["reads"][0]):
            m.d.comb += [read.addr.eq(entry), read.en.eq(moves | walks)]
        m.d.comb += [
            self.o.valid.eq(second.valid & ~walks),
            self.o.payload.source.eq(second.it.source),
            self.o.payload.operation.eq(second.it.operation),
            self.o.payload.hit.eq(second.exists & (second.is_array | same)),
            self.o.payload.slot.eq(second.slot),
            self.o.payload.place.eq(second.place),
            self.o.payload.bucket.eq(second.bucket),
            self.o.payload.head.eq(second.head),
            self.o.payload.previous.eq(second.previous),
            self.o.payload.following.eq(following),
        ]
        return m

    def _first_layout(self) -> data.StructLayout:
        """An operation whose head of a chain is read."""
        return data.StructLayout(
            {"valid": 1, "bucket": 16, "index": 27, "it": self.i.payload.shape()}
        )

    def _second_layout(self) -> data.StructLayout:
        """An operation at an element of an array, or at an entry of its chain."""
        return data.StructLayout(
            {
                "valid": 1,
                "is_array": 1,
                "exists": 1,
                "bucket": 16,
                "slot": 16,
                "place": PLACE_BITS,
                "head": Link,
                "previous": Link,
                "it": self.i.payload.shape(),
            }
        )

    @staticmethod
    def _number(first: data.View, head: data.View) -> Value:
        """Number of the value that an operation begins at."""
        is_array = is_kind(first.it.operation.descriptor, *ARRAYS)
        return Mux(is_array, first.index, head.slot)

    @staticmethod
    def _take(
        m: Module, first: data.View, second: data.View, head: data.View, place: Signal
    ) -> None:
        """The second stage takes from the first."""
        operation = first.it.operation
        is_array = is_kind(operation.descriptor, *ARRAYS)
        within = operation.key[:32] < operation.descriptor.entries
        m.d.sync += [
            second.valid.eq(first.valid),
            second.it.eq(first.it),
            second.is_array.eq(is_array),
            second.exists.eq(Mux(is_array, within, head.valid)),
            second.bucket.eq(first.bucket),
            second.slot.eq(head.slot),
            second.place.eq(place),
            second.head.eq(head),
            second.previous.valid.eq(0),
        ]

    def _enter(self, m: Module, heads: dict, first: data.View) -> None:
        operation = self.i.payload.operation
        bucket = Signal(16)
        per_engine = is_kind(operation.descriptor, MapType.PERCPU_ARRAY)
        set_of = Mux(per_engine, operation.engine, 0)
        m.d.comb += [
            bucket.eq(
                operation.descriptor.bucket_base
                + (operation.hash & operation.descriptor.bucket_mask)
            ),
            heads["reads"][0].addr.eq(bucket),
            heads["reads"][0].en.eq(self.i.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                first.valid.eq(self.i.valid),
                first.it.eq(self.i.payload),
                first.bucket.eq(bucket),
                first.index.eq(operation.key[:24] + set_of * operation.descriptor.entries),
            ]

    def _write(self, m: Module, heads: dict, links: dict, keys: dict) -> None:
        read = keys["reads"][1]
        m.d.comb += [
            heads["write"].addr.eq(self.bucket),
            heads["write"].data.eq(self.head),
            heads["write"].en.eq(self.head_write),
            links["write"].addr.eq(self.link_slot),
            links["write"].data.eq(self.link),
            links["write"].en.eq(self.link_write),
            keys["write"].addr.eq(self.key_slot),
            keys["write"].data.eq(self.key_row),
            keys["write"].en.eq(self.key_write),
            read.addr.eq(self.key_read_slot),
            read.en.eq(1),
            self.key_read.eq(read.data),
        ]

    def _memory(self, m: Module, name: str, shape: Shape, depth: int, readers: int = 1) -> dict:
        m.submodules[name] = memory = Memory(shape=shape, depth=depth, init=[])
        reads = [memory.read_port() for _ in range(readers)]
        return {"reads": reads, "write": memory.write_port()}
