"""Hash maps, plain and with eviction of what was used least recently."""

from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.isa.ebpf_maps import Errno, UpdateFlag

__all__ = ["MULTIPLIER", "SEED", "HashMap", "LruHashMap", "hash_key"]

MULTIPLIER = 0x9E37_79B1  # the golden ratio in 32 bits, and odd
SEED = 0x811C_9DC5


def hash_key(key: bytes) -> int:
    """Hash a key to 32 bits: for each word, xor, multiply, fold.

    Words are little-endian and the last is filled up with zeros. One multiplier of 32 bits takes
    a word a cycle.
    """
    state = SEED ^ len(key)
    for at in range(0, len(key), 4):
        state ^= int.from_bytes(key[at : at + 4], "little")
        state = state * MULTIPLIER & 0xFFFF_FFFF
        state ^= state >> 15
    return state


class HashMap(Map):
    """Values by key, in slots that are given out in a fixed order."""

    #: Error of an update that finds no room.
    full = Errno.TOO_BIG

    def __init__(self, spec: MapSpec) -> None:
        self.pitch = -(-spec.value_size // 8) * 8
        super().__init__(spec, self.pitch * spec.max_entries)
        self.require_positive("key_size")
        self.require_positive("value_size")
        self.slots: dict[bytes, int] = {}
        #: The slot that is given out next is the last.
        self.free = list(reversed(range(spec.max_entries)))

    def find(self, key: bytes, engine: int = 0) -> int | None:
        slot = self.slots.get(key)
        return None if slot is None else slot * self.pitch

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        if flags > UpdateFlag.EXIST:
            return -Errno.INVALID
        slot = self.slots.get(key)
        if slot is None:
            if flags == UpdateFlag.EXIST:
                return -Errno.NOENT
            if not self.free and not self.make_room():
                return -self.full
            slot = self.slots[key] = self.free.pop()
        elif flags == UpdateFlag.NOEXIST:
            return -Errno.EXIST
        place = slot * self.pitch
        self.memory[place : place + self.spec.value_size] = value
        return 0

    def make_room(self) -> bool:
        """Free a slot if the map may; returns whether it did."""
        return False

    def delete(self, key: bytes) -> int:
        slot = self.slots.pop(key, None)
        if slot is None:
            return -Errno.NOENT
        self.free.append(slot)
        return 0

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        for key, slot in sorted(self.slots.items()):
            yield key, self.value_at(slot * self.pitch)

    def reach(self, place: int) -> int:
        """Up to the end of the value."""
        if not 0 <= place < len(self.memory):
            return 0
        return max(self.spec.value_size - place % self.pitch, 0)


class LruHashMap(HashMap):
    """A hash map that, when full, drops the key whose lookup or update is longest ago."""

    def lookup(self, key: bytes, engine: int = 0) -> int | None:
        place = super().lookup(key, engine)
        if place is not None:
            self._touch(key)
        return place

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        result = super().update(key, value, flags, engine)
        if result == 0:
            self._touch(key)
        return result

    def make_room(self) -> bool:
        self.delete(next(iter(self.slots)))
        return True

    def _touch(self, key: bytes) -> None:
        """Move a key to the end of the order, which is that of the dictionary."""
        self.slots[key] = self.slots.pop(key)
