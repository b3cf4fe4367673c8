"""Maps in the kernel, made from the same definitions as the golden ones."""

import errno
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from fanweave.golden.ebpf.linux.system import Command, LinuxError, create_map, element
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType, RecordFlag

__all__ = ["LinuxMap", "possible_processors"]

_KEYLESS = (MapType.QUEUE, MapType.STACK)
_ROUND = 8
_POSITION = struct.Struct("<Q")


def possible_processors() -> int:
    """Processors for which Linux keeps values of their own."""
    text = Path("/sys/devices/system/cpu/possible").read_text().strip()
    return int(text.rpartition("-")[2].rpartition(",")[2]) + 1


class LinuxMap:
    """A map in the kernel; close it when it is no longer needed.

    Operations are those of a host, through the system call, and return 0 or a negative error
    number.

    Parameters
    ----------
    spec : MapSpec
        Its definition. A ring of less than a page gets a page; see `padding`.
    inner : LinuxMap, optional
        For an array of maps: a map like those that it will name.

    Raises
    ------
    LinuxError
        If Linux refuses it.
    """

    def __init__(self, spec: MapSpec, inner: "LinuxMap | None" = None) -> None:
        self.spec = spec
        self.per_processor = spec.kind is MapType.PERCPU_ARRAY
        is_ring = spec.kind is MapType.RINGBUF
        self.ring_bytes = max(spec.max_entries, mmap.PAGESIZE) if is_ring else 0
        # Linux insists on it for tries.
        always = MapFlag.NO_PREALLOC if spec.kind is MapType.LPM_TRIE else 0
        self.descriptor: int = create_map(
            int(spec.kind),
            *(spec.key_size, spec.value_size, self.ring_bytes or spec.max_entries),
            *(int(spec.flags | always), inner.descriptor if inner else 0),
        )

    @property
    def padding(self) -> int:
        """Bytes by which a ring is larger than its definition says."""
        return self.ring_bytes - self.spec.max_entries if self.ring_bytes else 0

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)

    def _try(self, command: Command, key: bytes, value: bytes | None, flags: int = 0) -> int:
        keyless = self.spec.kind in _KEYLESS
        try:
            element(command, self.descriptor, None if keyless else key, value, flags)
        except LinuxError as error:
            return -error.number
        return 0

    def _read(self, command: Command, key: bytes) -> bytes | None:
        size = self.spec.value_size
        if self.per_processor:
            size = -(-size // _ROUND) * _ROUND * possible_processors()
        keyless = self.spec.kind in _KEYLESS
        try:
            value = element(command, self.descriptor, None if keyless else key, bytes(size))
        except LinuxError as error:
            if error.number == errno.ENOENT:
                return None
            raise
        return value[: self.spec.value_size]

    def get(self, key: bytes) -> bytes | None:
        """A key's value; of a per-engine array the first processor's."""
        return self._read(Command.MAP_LOOKUP_ELEM, key)

    def update(self, key: bytes, value: bytes, flags: int = 0) -> int:
        """Set a key's value; in a per-engine array for all processors. Queues take it in."""
        if self.per_processor:
            pitch = -(-len(value) // _ROUND) * _ROUND
            value = value.ljust(pitch, b"\0") * possible_processors()
        return self._try(Command.MAP_UPDATE_ELEM, key, value, flags)

    def delete(self, key: bytes) -> int:
        """Remove a key."""
        return self._try(Command.MAP_DELETE_ELEM, key, None)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys in order and values; values alone of queues, which are empty afterwards.

        Of rings those records that are closed, up to the first open one, without the padding.
        """
        if self.spec.kind is MapType.RINGBUF:
            return ((b"", record) for record in self._records())
        if self.spec.kind in _KEYLESS:
            taken = list(iter(lambda: self._read(Command.MAP_LOOKUP_AND_DELETE_ELEM, b""), None))
            if self.spec.kind is MapType.STACK:
                taken.reverse()
            return ((b"", value) for value in taken if value is not None)
        found = ((key, self.get(key)) for key in sorted(self._keys()))
        return ((key, value) for key, value in found if value is not None)

    def _keys(self) -> Iterator[bytes]:
        key: bytes | None = None
        while True:
            try:
                # Where a key is wanted, the "value" is the next one.
                key = element(
                    *(Command.MAP_GET_NEXT_KEY, self.descriptor, key, bytes(self.spec.key_size))
                )
            except LinuxError as error:
                if error.number == errno.ENOENT:
                    return
                raise
            yield key

    def consume(self) -> bytes | None:
        """Take a ring's oldest closed record that was not discarded, as a reader would."""
        return next(self._records(move=True), None)

    def _records(self, *, move: bool = False) -> Iterator[bytes]:
        """What a reader finds in a ring's pages, and whether it moves on.

        The first page holds the consumer's position, the second the producer's, and then comes
        the ring, twice (Linux's documentation of the ring buffer).
        """
        page = mmap.PAGESIZE
        access = mmap.PROT_READ | mmap.PROT_WRITE if move else mmap.PROT_READ
        length = page + 2 * self.ring_bytes
        with (
            mmap.mmap(self.descriptor, page, prot=access) as consumer,
            mmap.mmap(self.descriptor, length, prot=mmap.PROT_READ, offset=page) as pages,
        ):
            (position,) = _POSITION.unpack_from(consumer)
            (end,) = _POSITION.unpack_from(pages)
            while position < end:
                start = page + position % self.ring_bytes
                word = int.from_bytes(pages[start : start + 4], "little")
                if word & RecordFlag.BUSY:
                    return
                size = word & (RecordFlag.DISCARDED - 1)
                data = bytes(pages[start + 8 : start + 8 + size])
                position += 8 + -(-size // _ROUND) * _ROUND
                if move:
                    _POSITION.pack_into(consumer, 0, position)
                if not word & RecordFlag.DISCARDED:
                    yield data
