"""What a program can load from and store to."""

from collections.abc import Container, Sequence

from fanweave.golden.ebpf.maps import Map, RingMap
from fanweave.golden.isa.ebpf_machine import (
    CALL_FRAMES,
    FRAME_BYTES,
    MAP_SPAN,
    FaultCause,
    Region,
)
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["MachineFaultError", "Memory"]

# Plain numbers: members of an enumeration cost a look-up each time, in what runs most often.
_CONTEXT, _STACK, _MAP_VALUES, _MAP_HANDLES = (
    int(region) for region in (Region.CONTEXT, Region.STACK, Region.MAP_VALUES, Region.MAP_HANDLES)
)


class MachineFaultError(Exception):
    """An event ends here."""

    def __init__(self, cause: FaultCause) -> None:
        super().__init__(cause.name)
        self.cause = cause


class Memory:
    """Context, stack and maps of one event.

    Parameters
    ----------
    context : bytearray
        What the event brings; programs may change it.
    maps : sequence of Map
        By number.
    operand_bytes : int, optional
        Most bytes that a helper may copy; any number if it is not given.
    """

    def __init__(
        self, context: bytearray, maps: Sequence[Map], operand_bytes: int | None = None
    ) -> None:
        self.context = context
        self.maps = maps
        self.operand_bytes = operand_bytes
        self.stack = bytearray(CALL_FRAMES * FRAME_BYTES)
        #: Bytes of the stack that belong to a frame in use.
        self.frames = 1
        #: Records that the event has reserved and not given back: ring, and place in it.
        self.records: list[tuple[RingMap, int]] = []

    def locate(self, address: int, size: int, *, write: bool = False) -> tuple[bytearray, int]:
        """Storage and place in it.

        Raises
        ------
        MachineFaultError
            If not all of the bytes may be used.
        """
        if _STACK <= address < _MAP_VALUES:
            place = address - _STACK
            if place + size <= self.frames * FRAME_BYTES:
                return self.stack, place
        elif _CONTEXT <= address < _STACK:
            place = address - _CONTEXT
            if place + size <= len(self.context):
                return self.context, place
        elif _MAP_VALUES <= address < _MAP_HANDLES:
            number, place = divmod(address - _MAP_VALUES, MAP_SPAN)
            if number < len(self.maps) and (found := self.maps[number]).reach(place) >= size:
                if not (found.writable if write else found.readable):
                    raise MachineFaultError(FaultCause.FORBIDDEN)
                return found.memory, place
        raise MachineFaultError(FaultCause.OUT_OF_BOUNDS)

    def load(self, address: int, size: int) -> int:
        """An unsigned little-endian number of `size` bytes."""
        storage, place = self.locate(address, size)
        return int.from_bytes(storage[place : place + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        """Store the low bytes of a number."""
        storage, place = self.locate(address, size, write=True)
        storage[place : place + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def read(self, address: int, size: int) -> bytes:
        """Bytes; none of them need to exist if there are none."""
        if size == 0:
            return b""
        storage, place = self.locate(address, size)
        return bytes(storage[place : place + size])

    def write(self, address: int, value: bytes) -> None:
        """Store bytes."""
        if value:
            storage, place = self.locate(address, len(value), write=True)
            storage[place : place + len(value)] = value

    def map_of(self, handle: int, kinds: Container[MapType]) -> Map:
        """The map that a handle names.

        Parameters
        ----------
        handle : int
            See `map_handle`.
        kinds : container of MapType
            Types that it may be of.

        Raises
        ------
        MachineFaultError
            If it names none, or one of another type.
        """
        number = handle - _MAP_HANDLES
        if not 0 <= number < len(self.maps) or self.maps[number].spec.kind not in kinds:
            raise MachineFaultError(FaultCause.BAD_MAP)
        return self.maps[number]

    def require_operand(self, size: int) -> None:
        """Check that a helper may copy so many bytes.

        Raises
        ------
        MachineFaultError
            If it may not.
        """
        if self.operand_bytes is not None and size > self.operand_bytes:
            raise MachineFaultError(FaultCause.OPERAND_SIZE)

    def drop_records(self) -> None:
        """Discard what the event has reserved and left open."""
        for ring, place in self.records:
            ring.finish(place, keep=False)
        self.records.clear()
