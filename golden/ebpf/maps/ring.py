"""Ring buffer of records of any length."""

from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.errors import InputError

__all__ = ["RingMap"]

_HEADER_BYTES = 8
_ROUND = 8
#: What `query` can be asked for.
AVAILABLE, SIZE, CONSUMER, PRODUCER = range(4)


class RingMap(Map):
    """Records in the order of their reservations; a record that is not submitted holds the rest up.

    A record takes a header of 8 bytes and its data rounded up to 8, in a ring of `max_entries`
    bytes. Addresses of records do not wrap: the data area appears twice, one behind the other.
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
        #: place of the data -> [position, length, state]; in order of reservation
        self.records: dict[int, list[int]] = {}

    def reserve(self, length: int) -> int | None:
        """Place of a new record's data in `memory`, or None if there is no room."""
        size = self.spec.max_entries
        total = _HEADER_BYTES + -(-length // _ROUND) * _ROUND
        if total > size or self.producer + total - self.consumer > size:
            return None
        place = self.producer % size + _HEADER_BYTES
        self.memory[place : place + length] = bytes(length)
        self.records[place] = [total, length, 0]
        self.producer += total
        return place

    def finish(self, place: int, *, keep: bool) -> bool:
        """Submit or discard a reservation; returns whether there was one."""
        record = self.records.get(place)
        if record is None or record[2] != 0:
            return False
        record[2] = 1 if keep else 2
        return True

    def query(self, what: int) -> int:
        """What Linux's ``bpf_ringbuf_query`` gives; 0 for an unknown question."""
        return {
            AVAILABLE: self.producer - self.consumer,
            SIZE: self.spec.max_entries,
            CONSUMER: self.consumer,
            PRODUCER: self.producer,
        }.get(what, 0)

    def consume(self) -> bytes | None:
        """Take the oldest submitted record, as a reader outside would; None if there is none."""
        while self.records:
            place = next(iter(self.records))
            total, length, state = self.records[place]
            if state == 0:
                return None
            del self.records[place]
            self.consumer += total
            if state == 1:
                return bytes(self.memory[place : place + length])
        return None

    def reach(self, place: int) -> int:
        """Up to the end of the open record that holds the place."""
        for start, (_, length, state) in self.records.items():
            if state == 0 and start <= place < start + length:
                return start + length - place
        return 0

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Submitted records up to the first open one, without keys."""
        for place, (_, length, state) in self.records.items():
            if state == 0:
                return
            if state == 1:
                yield b"", bytes(self.memory[place : place + length])
