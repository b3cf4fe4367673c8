"""Steps of operations on hash maps and arrays."""

from amaranth import Value

from fanweave.golden.isa.ebpf_maps import Errno, MapType, UpdateFlag
from fanweave.hw.ebpf.maps.payloads import is_kind
from fanweave.hw.ebpf.maps.use_order import OrderChange
from fanweave.hw.ebpf.maps.work import Work

__all__ = ["add_states", "delete", "delete_array", "lookup", "update", "update_array"]


def lookup(work: Work) -> None:
    """A look-up in an LRU map: the key becomes the youngest."""
    m, found = work.m, work.found
    with m.If(found.hit):
        _change_order(work, OrderChange.TOUCH, found.slot)
        work.finish(work.address(found.place))
    with m.Else():
        work.finish(0)


def update_array(work: Work) -> None:
    """An update of an array; its values all exist."""
    m, flags = work.m, work.op.flags
    with m.If((flags & ~UpdateFlag.LOCK) > UpdateFlag.EXIST):
        work.fail(Errno.INVALID)
    with m.Elif(~work.found.hit):
        work.fail(Errno.TOO_BIG)
    with m.Elif((flags & UpdateFlag.NOEXIST) != 0):
        work.fail(Errno.EXIST)
    with m.Elif((flags & UpdateFlag.LOCK) != 0):
        work.fail(Errno.INVALID)
    with m.Else():
        work.copy(work.found.place >> 3, stores=1)
        work.finish(0)


def delete_array(work: Work) -> None:
    """Nothing of an array can be deleted."""
    work.fail(Errno.INVALID)


def update(work: Work) -> None:
    """An update of a hash map: in place, in a new slot, or in that of the oldest key."""
    m, found, flags = work.m, work.found, work.op.flags
    is_lru = is_kind(work.descriptor, MapType.LRU_HASH)
    with m.If(flags > UpdateFlag.EXIST):
        work.fail(Errno.INVALID)
    with m.Elif(found.hit & (flags == UpdateFlag.NOEXIST)):
        work.fail(Errno.EXIST)
    with m.Elif(found.hit):
        work.copy(found.place >> 3, stores=1)
        with m.If(is_lru):
            _change_order(work, OrderChange.TOUCH, found.slot)
        work.finish(0)
    with m.Elif(flags == UpdateFlag.EXIST):
        work.fail(Errno.NOENT)
    with m.Elif(work.has_room):
        m.next = "INSERT"
    with m.Elif(is_lru):
        oldest = work.state.ends.oldest
        _change_order(work, OrderChange.TOUCH, oldest)
        m.d.sync += work.slot.eq(oldest)
        m.next = "EVICT"
    with m.Else():
        work.fail(Errno.TOO_BIG)


def delete(work: Work) -> None:
    """A delete of a hash map's key."""
    m, found = work.m, work.found
    with m.If(found.hit):
        _unlink(work, found.previous, found.following, found.bucket)
        work.free_slot(found.slot)
        m.d.comb += [
            work.index.key_write.eq(1),
            work.index.key_slot.eq(work.descriptor.entry_base + found.slot),
            work.index.key_row.taken.eq(0),
        ]
        with m.If(is_kind(work.descriptor, MapType.LRU_HASH)):
            _change_order(work, OrderChange.REMOVE, found.slot)
        work.finish(0)
    with m.Else():
        work.fail(Errno.NOENT)


def add_states(work: Work) -> None:
    """States behind the first step."""
    m = work.m
    with m.State("INSERT"):
        m.d.sync += work.slot.eq(work.next_slot)
        work.take_slot()
        _store_key(work, work.next_slot)
        with m.If(is_kind(work.descriptor, MapType.LRU_HASH)):
            _change_order(work, OrderChange.INSERT, work.next_slot)
    _add_eviction(work)


def _add_eviction(work: Work) -> None:
    """Look for the oldest key, take it out of its chain, and use its slot."""
    m, index, found = work.m, work.index, work.found
    row = index.key_read
    asked = index.i.payload
    with m.State("EVICT"):
        m.d.comb += [
            index.i.valid.eq(1),
            asked.operation.eq(work.op),
            asked.operation.key.eq(row.key),
            asked.operation.descriptor.bucket_base.eq(row.bucket),
            asked.operation.descriptor.bucket_mask.eq(0),
        ]
        m.next = "UNLINK"
    with m.State("UNLINK"):
        m.d.comb += index.o.ready.eq(1)
        oldest = index.o.payload
        with m.If(index.o.valid):
            _unlink(work, oldest.previous, oldest.following, oldest.bucket)
            with m.If(~oldest.previous.valid & (oldest.bucket == found.bucket)):
                m.d.sync += found.head.eq(oldest.following)
            m.next = "REPLACE"
    with m.State("REPLACE"):
        _store_key(work, work.slot)


def _store_key(work: Work, slot: Value) -> None:
    """Put the key at the head of its chain, and copy its value."""
    m, index = work.m, work.index
    place = work.descriptor.entry_base + slot
    m.d.comb += [
        index.key_write.eq(1),
        index.key_slot.eq(place),
        index.key_row.taken.eq(1),
        index.link_write.eq(1),
        index.link_slot.eq(place),
        index.link.eq(work.found.head),
        index.head_write.eq(1),
        index.head.valid.eq(1),
        index.head.slot.eq(slot),
    ]
    work.copy(work.first_word(slot), stores=1)
    work.finish(0)


def _unlink(work: Work, previous: Value, following: Value, bucket: Value) -> None:
    """Take a slot out of its chain."""
    m, index = work.m, work.index
    with m.If(previous.valid):
        m.d.comb += [
            index.link_write.eq(1),
            index.link_slot.eq(work.descriptor.entry_base + previous.slot),
            index.link.eq(following),
        ]
    with m.Else():
        m.d.comb += [
            index.head_write.eq(1),
            index.bucket.eq(bucket),
            index.head.eq(following),
        ]


def _change_order(work: Work, change: OrderChange | int, slot: Value) -> None:
    order = work.order
    work.m.d.comb += [order.start.eq(1), order.change.eq(change), order.slot.eq(slot)]
