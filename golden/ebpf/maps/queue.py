"""Queues and stacks."""

from collections import deque
from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.isa.ebpf_maps import Errno, UpdateFlag

__all__ = ["QueueMap", "StackMap"]


class QueueMap(Map):
    """First in, first out."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec, 0)
        self.require("key_size", 0)
        self.require_positive("value_size")
        self.values: deque[bytes] = deque()

    def push(self, value: bytes, flags: int = 0) -> int:
        """Append a value; with `UpdateFlag.EXIST` a full map drops its oldest one."""
        if flags not in (UpdateFlag.ANY, UpdateFlag.EXIST):
            return -Errno.INVALID
        if len(self.values) == self.spec.max_entries:
            if flags != UpdateFlag.EXIST:
                return -Errno.TOO_BIG
            self.values.popleft()
        self.values.append(bytes(value))
        return 0

    def pop(self) -> tuple[int, bytes]:
        result, value = self.peek()
        if result == 0:
            self.remove()
        return result, value

    def peek(self) -> tuple[int, bytes]:
        if not self.values:
            return -Errno.NOENT, bytes(self.spec.value_size)
        return 0, self.next()

    def next(self) -> bytes:
        """The value that leaves next."""
        return self.values[0]

    def remove(self) -> None:
        """Drop it."""
        self.values.popleft()

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        return -Errno.INVALID

    def delete(self, key: bytes) -> int:
        return -Errno.INVALID

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Values from the oldest to the youngest, without keys."""
        return ((b"", value) for value in self.values)


class StackMap(QueueMap):
    """Last in, first out."""

    def next(self) -> bytes:
        return self.values[-1]

    def remove(self) -> None:
        self.values.pop()
