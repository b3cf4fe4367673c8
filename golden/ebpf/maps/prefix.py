"""Longest-prefix match."""

from collections import Counter
from collections.abc import Iterator

from fanweave.golden.ebpf.maps.base import MapSpec
from fanweave.golden.ebpf.maps.hash import HashMap
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import Errno

__all__ = ["PrefixMap", "canonical_prefix"]

_LENGTH_BYTES = 4
_DATA_BYTES = (1, 256)


def canonical_prefix(key: bytes) -> bytes:
    """The key of a prefix with zeros in place of the bits behind it; its length must be legal."""
    data = int.from_bytes(key[_LENGTH_BYTES:], "big")
    size = len(key) - _LENGTH_BYTES
    shift = 8 * size - int.from_bytes(key[:_LENGTH_BYTES], "little")
    return key[:_LENGTH_BYTES] + (data >> shift << shift).to_bytes(size, "big")


class PrefixMap(HashMap):
    """Values by prefixes of bit strings.

    A key is a length in bits (32 bits, little-endian) and data whose first byte counts most. A
    lookup gives the value of the longest prefix of its data that is no longer than its length.
    """

    full = Errno.NO_SPACE

    def __init__(self, spec: MapSpec) -> None:
        low, high = _DATA_BYTES
        if not low <= spec.key_size - _LENGTH_BYTES <= high:
            raise InputError(
                f"map {spec.name!r} of type LPM_TRIE has key_size = {spec.key_size}; it must be "
                f"from {_LENGTH_BYTES + low} to {_LENGTH_BYTES + high}"
            )
        super().__init__(spec)
        self.data_bits = 8 * (spec.key_size - _LENGTH_BYTES)
        #: How many prefixes there are of each length.
        self.lengths: Counter[int] = Counter()
        #: Keys as the last update wrote them, by what counts of them.
        self.written: dict[bytes, bytes] = {}

    def _length(self, key: bytes) -> int:
        return int.from_bytes(key[:_LENGTH_BYTES], "little")

    def find(self, key: bytes, engine: int = 0) -> int | None:
        """Place of the longest match's value."""
        length = self._length(key)
        if length > self.data_bits:
            return None
        # Lengths that no prefix has are not worth a look.
        for shorter in sorted(self.lengths, reverse=True):
            if shorter <= length:
                prefix = shorter.to_bytes(_LENGTH_BYTES, "little") + key[_LENGTH_BYTES:]
                place = super().find(canonical_prefix(prefix), engine)
                if place is not None:
                    return place
        return None

    def update(self, key: bytes, value: bytes, flags: int = 0, engine: int = 0) -> int:
        length = self._length(key)
        if length > self.data_bits:
            return -Errno.INVALID
        canonical = canonical_prefix(bytes(key))
        result = super().update(canonical, value, flags, engine)
        if result == 0:
            self.lengths[length] += canonical not in self.written
            self.written[canonical] = bytes(key)
        return result

    def delete(self, key: bytes) -> int:
        length = self._length(key)
        if length > self.data_bits:
            return -Errno.INVALID
        canonical = canonical_prefix(bytes(key))
        result = super().delete(canonical)
        if result == 0:
            del self.written[canonical]
            self.lengths[length] -= 1
            if not self.lengths[length]:
                del self.lengths[length]
        return result

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Prefixes, with the bits behind them as they were written, and values."""
        return ((self.written[key], value) for key, value in super().items())
