"""Maps of an object file by their names, with keys and values as Python sees them."""

from collections.abc import Mapping, Sequence

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.contents import Contents, Entries, initial_contents
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.policies.values import MapTypes, Value

__all__ = ["MapEntries", "NamedMaps"]

#: Values by key; of queues and rings a list, the oldest value first.
MapEntries = Mapping[int | bytes, Value] | Sequence[Value]


class NamedMaps:
    """Maps of an object file.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    types : MapTypes
        Of its keys and values.
    records : mapping of str to str
        Ring buffers -> structure of their records.
    """

    def __init__(self, loaded: ObjectFile, types: MapTypes, records: Mapping[str, str]) -> None:
        self._loaded = loaded
        self._types = types
        self._records = records

    def contents(self, maps: Mapping[str, MapEntries]) -> Contents:
        """Entries of maps as engines take them.

        Parameters
        ----------
        maps : mapping of str to MapEntries
            By the names of the maps. What is left out of a structure with settings stays as the
            program has it.

        Raises
        ------
        InputError
            If there is no such map, or an entry does not fit its type.
        """
        return {
            self._loaded.number_of(name, "map"): self._entries(name, entries)
            for name, entries in maps.items()
        }

    def _entries(self, name: str, entries: MapEntries) -> Entries:
        number = self._loaded.number_of(name, "map")
        spec = self._loaded.maps[number].spec
        value_type = self._value_type(name)
        if not isinstance(entries, Mapping):
            return [
                (b"", self._types.encode(value_type, value, where=f"{name}[{place}]"))
                for place, value in enumerate(entries)
            ]
        begin = dict(initial_contents(self._loaded).get(number, ()))
        made = []
        for key, value in entries.items():
            where = f"{name}[{key if isinstance(key, int) else key.hex()}]"
            raw = self._key(name, key, spec.key_size, where)
            base = begin.get(raw, b"")
            made.append((raw, self._types.encode(value_type, value, base=base, where=where)))
        return made

    def value_of(self, name: str, value: Value, base: bytes) -> bytes:
        """Bytes of a map's value; what `value` leaves out of a structure stays as in `base`."""
        return self._types.encode(self._value_type(name), value, base=base, where=name)

    def _key(self, name: str, key: int | bytes, size: int, where: str) -> bytes:
        number = self._types.key(name)
        if number is not None:
            return self._types.encode(number, key, where=where)
        # Sections with variables have no type for their key, which is 0.
        return key.to_bytes(size, "little") if isinstance(key, int) else key

    def _value_type(self, name: str) -> int:
        if name in self._records:
            return self._types.structure(self._records[name])
        number = self._types.value(name)
        if number is None:
            raise InputError(f"{self._loaded.name}: the type of values of {name!r} is not known")
        return number

    def values(self, contents: Contents) -> dict[str, dict[int | bytes, Value] | list[Value]]:
        """The reverse of `contents`; values of arrays that are zero are left out."""
        found: dict[str, dict[int | bytes, Value] | list[Value]] = {}
        for number, entries in contents.items():
            made = self._loaded.maps[number]
            value_type = self._value_type(made.name)
            if made.spec.kind in (MapType.QUEUE, MapType.STACK, MapType.RINGBUF):
                found[made.name] = [self._types.decode(value_type, value) for _, value in entries]
                continue
            zeros = made.spec.kind in (MapType.ARRAY, MapType.PERCPU_ARRAY)
            found[made.name] = {
                self._shown_key(made.name, key): self._types.decode(value_type, value)
                for key, value in entries
                if any(value) or not zeros
            }
        return found

    def _shown_key(self, name: str, key: bytes) -> int | bytes:
        """A number if it is one; keys of tries are easier to read as they are."""
        number = self._types.key(name)
        shown = int.from_bytes(key, "little") if number is None else self._types.decode(number, key)
        return shown if isinstance(shown, int) else key
