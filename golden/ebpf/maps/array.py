"""Arrays: of values, of values for each engine, of programs, of maps."""

from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.isa.ebpf_maps import Errno, UpdateFlag

__all__ = ["ArrayMap", "ArrayOfMaps", "PerEngineArrayMap", "ProgramArray"]

_KEY_BYTES = 4


def _array_flags(flags: int) -> int:
    """What is wrong with the flags of an update of something that always exists."""
    if flags & UpdateFlag.NOEXIST:
        return -Errno.EXIST
    return -Errno.INVALID if flags & UpdateFlag.LOCK else 0


class ArrayMap(Map):
    """Values by number; all of them exist from the beginning, and are zero."""

    def __init__(self, spec: MapSpec, copies: int = 1) -> None:
        #: Distance of two values: multiples of 8, as in Linux.
        self.pitch = -(-spec.value_size // 8) * 8
        super().__init__(spec, self.pitch * spec.max_entries * copies)
        self.require("key_size", _KEY_BYTES)
        self.require_positive("value_size")

    def place(self, number: int, engine: int) -> int:
        """Where a value is."""
        return number * self.pitch

    def find(self, key: bytes, engine: int = 0) -> int | None:
        number = int.from_bytes(key, "little")
        return self.place(number, engine) if number < self.spec.max_entries else None

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        if flags & ~UpdateFlag.LOCK > UpdateFlag.EXIST:
            return -Errno.INVALID
        place = self.find(key, engine)
        if place is None:
            return -Errno.TOO_BIG
        wrong = _array_flags(flags)
        if not wrong:
            self.memory[place : place + self.spec.value_size] = value
        return wrong

    def delete(self, key: bytes) -> int:
        return -Errno.INVALID

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        for number in range(self.spec.max_entries):
            yield number.to_bytes(_KEY_BYTES, "little"), self.value_at(self.place(number, 0))

    def reach(self, place: int) -> int:
        """Up to the end of the value."""
        if not 0 <= place < len(self.memory):
            return 0
        return max(self.spec.value_size - place % self.pitch, 0)


class PerEngineArrayMap(ArrayMap):
    """An array with values of its own for each engine."""

    def __init__(self, spec: MapSpec, engines: int) -> None:
        self.engines = engines
        super().__init__(spec, copies=engines)

    def place(self, number: int, engine: int) -> int:
        return (engine * self.spec.max_entries + number) * self.pitch

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Values of all engines, one after the other."""
        for number in range(self.spec.max_entries):
            values = [self.value_at(self.place(number, e)) for e in range(self.engines)]
            yield number.to_bytes(_KEY_BYTES, "little"), b"".join(values)


class _Table(Map):
    """Numbers of programs or maps by number; programs cannot see into it."""

    def __init__(self, spec: MapSpec) -> None:
        super().__init__(spec, 0)
        self.require("key_size", _KEY_BYTES)
        self.require("value_size", _KEY_BYTES)
        self.entries: dict[int, int] = {}

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        number = int.from_bytes(key, "little")
        if flags != UpdateFlag.ANY:
            return -Errno.INVALID
        if number >= self.spec.max_entries:
            return -Errno.TOO_BIG
        self.entries[number] = int.from_bytes(value, "little")
        return 0

    def delete(self, key: bytes) -> int:
        number = int.from_bytes(key, "little")
        if number >= self.spec.max_entries:
            return -Errno.TOO_BIG
        return 0 if self.entries.pop(number, None) is not None else -Errno.NOENT

    def entry(self, number: int) -> int | None:
        """What is at a number, if anything."""
        return self.entries.get(number)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        for number, value in sorted(self.entries.items()):
            yield number.to_bytes(_KEY_BYTES, "little"), value.to_bytes(_KEY_BYTES, "little")


class ProgramArray(_Table):
    """Programs for tail calls."""


class ArrayOfMaps(_Table):
    """Maps; a lookup by a program gives a map."""
