"""What every map has."""

from collections.abc import Iterator
from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import MAP_SPAN
from fanweave.golden.isa.ebpf_maps import Errno, MapFlag, MapType

__all__ = ["Map", "MapSpec"]


@dataclass(frozen=True, kw_only=True)
class MapSpec:
    """Definition of a map, as an object file gives it.

    Attributes
    ----------
    name : str
        For messages.
    kind : MapType
        Type.
    key_size, value_size : int
        Bytes.
    max_entries : int
        Places; bytes of a ring buffer.
    flags : int
        See `MapFlag`.
    """

    name: str
    kind: MapType
    key_size: int
    value_size: int
    max_entries: int
    flags: int = 0


class Map:
    """A map of a program; operations return 0 or a negative error number.

    Values lie in `memory`, at addresses that programs can load from and store to. A lookup gives
    the place of a value in there.

    Parameters
    ----------
    spec : MapSpec
        Its definition.
    memory_bytes : int
        Bytes that programs can reach.

    Raises
    ------
    InputError
        If the definition is not one that the type allows.
    """

    def __init__(self, spec: MapSpec, memory_bytes: int) -> None:
        if spec.max_entries < 1:
            raise InputError(f"map {spec.name!r} has max_entries = 0; it needs 1 or more")
        if memory_bytes > MAP_SPAN:
            raise InputError(
                f"map {spec.name!r} needs {memory_bytes} bytes for its values; at most {MAP_SPAN}"
                " are possible"
            )
        self.spec = spec
        self.memory = bytearray(memory_bytes)
        #: Whether programs may read and change it.
        self.readable = not spec.flags & MapFlag.WRONLY_PROG
        self.writable = not spec.flags & MapFlag.RDONLY_PROG

    def require(self, name: str, expected: int) -> None:
        """Refuse a definition whose field is not what the type needs.

        Raises
        ------
        InputError
            If it differs.
        """
        value = getattr(self.spec, name)
        if value != expected:
            raise InputError(
                f"map {self.spec.name!r} of type {self.spec.kind.name} has {name} = {value}; "
                f"it must be {expected}"
            )

    def require_positive(self, name: str) -> None:
        """Refuse a definition without keys or values.

        Raises
        ------
        InputError
            If the size is 0.
        """
        if getattr(self.spec, name) < 1:
            raise InputError(
                f"map {self.spec.name!r} of type {self.spec.kind.name} has {name} = 0; "
                "it must be 1 or more"
            )

    def find(self, key: bytes, engine: int = 0) -> int | None:
        """Place of a key's value in `memory`, or None; changes nothing."""
        return None

    def get(self, key: bytes, engine: int = 0) -> bytes | None:
        """A key's value, or None, as a host reads it: the order of use stays what it was."""
        place = self.find(key, engine)
        return None if place is None else self.value_at(place)

    def lookup(self, key: bytes, engine: int = 0) -> int | None:
        """The same place as `find`, for a program, whose lookups count as use."""
        return self.find(key, engine)

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        """Set a key's value."""
        return -Errno.NOT_SUPPORTED

    def delete(self, key: bytes) -> int:
        """Remove a key."""
        return -Errno.NOT_SUPPORTED

    def push(self, value: bytes, flags: int = 0) -> int:
        """Append a value."""
        return -Errno.NOT_SUPPORTED

    def pop(self) -> tuple[int, bytes]:
        """Take a value away; the value is zero where there is none."""
        return -Errno.NOT_SUPPORTED, bytes(self.spec.value_size)

    def peek(self) -> tuple[int, bytes]:
        """Read the value that `pop` would take."""
        return -Errno.NOT_SUPPORTED, bytes(self.spec.value_size)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, for a dump."""
        return iter(())

    def reach(self, place: int) -> int:
        """Bytes that a program may use from a place in `memory` on; 0 if none."""
        return max(len(self.memory) - place, 0)

    def value_at(self, place: int) -> bytes:
        """The value at a place."""
        return bytes(self.memory[place : place + self.spec.value_size])
