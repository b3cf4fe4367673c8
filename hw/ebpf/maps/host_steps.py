"""Steps of operations that only a host asks for: making a map, and reading its keys."""

from amaranth import Const

from fanweave.golden.isa.ebpf_maps import HASHES, MapType
from fanweave.hw.ebpf.maps.payloads import is_kind
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["add_states", "create", "read_key"]


def create(work: Work) -> None:
    """Forget everything; ``length`` is the number of bytes that become zero."""
    m = work.m
    m.d.comb += [
        work.keep_state.eq(1),
        work.next_state.eq(0),
        work.next_state.ends.empty.eq(1),
        work.copier.task.clears.eq(1),
    ]
    work.copy(Const(0, 20), stores=1, length=work.op.length)
    m.d.sync += [work.counter.eq(0), work.slot.eq(0)]
    m.next = "CLEAR"


def read_key(work: Work) -> None:
    """Read the row of a slot."""
    m = work.m
    m.d.sync += work.slot.eq(work.op.place)
    m.d.comb += [
        work.index.key_read_slot.eq(work.descriptor.entry_base + work.op.place),
        work.prefix_slot.eq(work.op.place),
    ]
    m.next = "KEY"


def add_states(work: Work) -> None:
    """States behind the first steps."""
    m, index, prefixes, descriptor = work.m, work.index, work.prefixes, work.descriptor
    hashed = is_kind(descriptor, *HASHES)
    is_trie = is_kind(descriptor, MapType.LPM_TRIE)
    with m.State("CLEAR"):
        # Buckets and places at the same time, each as far as the map has them.
        place_left = work.counter < descriptor.entries
        bucket_left = work.counter <= descriptor.bucket_mask
        m.d.comb += [
            index.head_write.eq(hashed & bucket_left),
            index.bucket.eq(descriptor.bucket_base + work.counter),
            index.head.valid.eq(0),
            index.key_write.eq(hashed & place_left),
            index.key_slot.eq(descriptor.entry_base + work.counter),
            index.key_row.taken.eq(0),
            work.prefix_slot.eq(work.counter),
            prefixes.write.eq(is_trie & place_left),
        ]
        m.d.sync += work.counter.eq(work.counter + 1)
        with m.If(~((hashed & bucket_left) | ((hashed | is_trie) & place_left))):
            work.finish(0)
    with m.State("KEY"):
        taken = is_trie & prefixes.read_taken | hashed & index.key_read.taken
        m.d.sync += [
            work.key_read.eq(index.key_read.key),
            work.counter.eq(0),
        ]
        with m.If(is_trie):
            m.d.sync += work.key_read.eq(prefixes.read_key)
        work.finish(0, answered=taken)
        m.next = "KEY_ROWS"
    with m.State("KEY_ROWS"):
        m.d.comb += work.key_write.eq(1)
        m.d.sync += work.counter.eq(work.counter + 1)
        with m.If(work.counter == work.key_rows - 1):
            m.next = "RESULT"
