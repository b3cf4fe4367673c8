"""Ring buffer of records of any length."""

import struct
from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import RecordFlag, RingQuery

__all__ = ["RingMap"]

_HEADER = struct.Struct("<II")
_ROUND = 8
_LENGTH_MASK = RecordFlag.DISCARDED - 1


class RingMap(Map):
    """Records in the order of their reservations; one that is still open holds the others up.

    The ring has `max_entries` bytes. A record takes a header and its data, rounded up to 8. The
    header is two words: the length with `RecordFlag`, and zero. As in Linux, the ring is never
    full to the last byte, and a new record holds what the ring held there before.

    Addresses of records do not wrap: in `memory` the ring is followed by room for the part of one
    record that goes on at the ring's beginning.
    """

    def __init__(self, spec: MapSpec) -> None:
        size = spec.max_entries
        if size & (size - 1) or size < 64:
            raise InputError(
                f"map {spec.name!r} of type RINGBUF has max_entries = {size}; it must be a power "
                "of two of at least 64"
            )
        super().__init__(spec, 2 * size)
        self.require("key_size", 0)
        self.require("value_size", 0)
        self.producer = 0
        self.consumer = 0
        #: Open records: place of the data -> its length.
        self.open: dict[int, int] = {}

    def reserve(self, length: int) -> int | None:
        """Place of a new record's data in `memory`, or None if there is no room."""
        size = self.spec.max_entries
        total = _taken(length)
        if self.producer + total - self.consumer >= size:
            return None
        start = self.producer % size
        _HEADER.pack_into(self.memory, start, length | RecordFlag.BUSY, 0)
        wrapped = max(start + total - size, 0)
        self.memory[size : size + wrapped] = self.memory[:wrapped]
        self.producer += total
        place = start + _HEADER.size
        self.open[place] = length
        return place

    def finish(self, place: int, *, keep: bool) -> bool:
        """Submit or discard a reservation; returns whether there was one."""
        length = self.open.pop(place, None)
        if length is None:
            return False
        size = self.spec.max_entries
        start = place - _HEADER.size
        flag = 0 if keep else RecordFlag.DISCARDED
        _HEADER.pack_into(self.memory, start, length | flag, 0)
        wrapped = max(start + _taken(length) - size, 0)
        self.memory[:wrapped] = self.memory[size : size + wrapped]
        return True

    def query(self, what: int) -> int:
        """What Linux's ``bpf_ringbuf_query`` gives; 0 for an unknown question."""
        return {
            RingQuery.AVAILABLE: self.producer - self.consumer,
            RingQuery.SIZE: self.spec.max_entries,
            RingQuery.CONSUMER: self.consumer,
            RingQuery.PRODUCER: self.producer,
        }.get(what, 0)  # type: ignore[call-overload]

    def consume(self) -> bytes | None:
        """Take the oldest submitted record, as a reader outside would; None if there is none."""
        for position, record in self._closed():
            self.consumer = position
            if record is not None:
                return record
        return None

    def _closed(self) -> Iterator[tuple[int, bytes | None]]:
        """Records up to the first open one: the position behind each, and its data if kept."""
        size = self.spec.max_entries
        position = self.consumer
        while position < self.producer:
            word, _ = _HEADER.unpack_from(self.memory, position % size)
            if word & RecordFlag.BUSY:
                return
            length = word & _LENGTH_MASK
            start = position % size + _HEADER.size
            data = (bytes(self.memory[start:size]) + bytes(self.memory[:start]))[:length]
            position += _taken(length)
            yield position, None if word & RecordFlag.DISCARDED else data

    def reach(self, place: int) -> int:
        """Up to the end of the open record that holds the place."""
        for start, length in self.open.items():
            if start <= place < start + length:
                return start + length - place
        return 0

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Submitted records up to the first open one, without keys."""
        return ((b"", data) for _, data in self._closed() if data is not None)


def _taken(length: int) -> int:
    """Bytes of a record in the ring."""
    return _HEADER.size + -(-length // _ROUND) * _ROUND
