"""Keys and values of maps as Python sees them, by the types (BTF) of the object file.

So a structure is defined once, in the program.
"""

from collections.abc import Mapping, Sequence

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.object.btf import Btf, BtfKind, BtfType

__all__ = ["MapTypes", "Value"]

#: A number, a structure by its members, an array, or the bytes themselves.
Value = int | bytes | Mapping[str, "Value"] | Sequence["Value"]

_VARIABLES = (".rodata", ".data", ".bss")
_UNSIGNED = ("unsigned", "_Bool")


class MapTypes:
    """Types of keys and values by the names of their maps.

    Parameters
    ----------
    btf : Btf
        Types of the object file.
    places : mapping of str to int, optional
        Variables -> bytes from the beginning of their section, which only symbols tell.
    """

    def __init__(self, btf: Btf, places: Mapping[str, int] | None = None) -> None:
        self._btf = btf
        self._places = places or {}
        self._members = {
            variable.name: {member.name: member.type for member in btf.bare(variable.type).members}
            for variable in self._variables(".maps")
        }

    def key(self, name: str) -> int | None:
        """Number of the type of a map's keys; None if the program does not say."""
        return self._pointed(name, "key")

    def value(self, name: str) -> int | None:
        """The same of its values; of a section all variables with places, or the only one."""
        if name.startswith(_VARIABLES):
            variables = self._variables(name)
            if variables and all(variable.name in self._places for variable in variables):
                return self._btf.sections()[name].number
            return variables[0].type if len(variables) == 1 else None
        return self._pointed(name, "value")

    def structure(self, name: str) -> int:
        """Number of a structure.

        Raises
        ------
        InputError
            If there is none of this name.
        """
        for found in self._btf.types:
            if found.kind is BtfKind.STRUCT and found.name == name:
                return found.number
        raise InputError(f"the object file has no struct {name}")

    def encode(self, number: int, value: Value, *, base: bytes = b"", where: str = "") -> bytes:
        """Bytes of a value.

        Parameters
        ----------
        number : int
            Of its type.
        value : Value
            Members of a structure that are left out stay as they are in `base`.
        base : bytes
            What it begins as; zeros if empty.
        where : str
            For messages.

        Raises
        ------
        InputError
            If it does not fit the type; the message says where.
        """
        made = bytearray(base or bytes(self._size(number)))
        self._put(made, 0, number, value, where)
        return bytes(made)

    def decode(self, number: int, data: bytes) -> Value:
        """The value that bytes stand for; `reserved` members are left out.

        Raises
        ------
        BtfError
            If the type has no size.
        """
        found = self._btf.bare(number)
        if found.kind is BtfKind.DATASEC:
            return {
                name: self.decode(part, data[offset:])
                for name, (part, offset) in self._parts(found).items()
            }
        if found.kind is BtfKind.STRUCT:
            return {
                member.name: self.decode(member.type, data[member.offset // 8 :])
                for member in found.members
                if member.name != "reserved"
            }
        if found.kind is BtfKind.ARRAY:
            size = self._btf.size_of(found.type)
            return [self.decode(found.type, data[size * n :]) for n in range(found.size)]
        return int.from_bytes(data[: found.size], "little", signed=_is_signed(found))

    def _size(self, number: int) -> int:
        found = self._btf.bare(number)
        return found.size if found.kind is BtfKind.DATASEC else self._btf.size_of(number)

    def _parts(self, section: BtfType) -> dict[str, tuple[int, int]]:
        """Variables of a section: type, and bytes from its beginning."""
        return {
            variable.name: (variable.type, self._places[variable.name])
            for variable in self._variables(section.name)
        }

    def _variables(self, section: str) -> list[BtfType]:
        found = self._btf.sections().get(section)
        return [] if found is None else [self._btf.type(part.type) for part in found.members]

    def _pointed(self, name: str, member: str) -> int | None:
        """`__type(key, T)` is a pointer to T."""
        number = self._members.get(name, {}).get(member)
        return None if number is None else self._btf.bare(number).type

    def _put(self, made: bytearray, at: int, number: int, value: Value, where: str) -> None:
        found, size = self._btf.bare(number), self._size(number)
        if isinstance(value, bytes):
            if len(value) != size:
                raise InputError(f"{where}: {len(value)} bytes; it has {size}")
            made[at : at + size] = value
        elif found.kind is BtfKind.DATASEC and isinstance(value, Mapping):
            parts = self._parts(found)
            for name, part in value.items():
                if name not in parts:
                    raise InputError(f"{where}: no variable {name!r}; it has {', '.join(parts)}")
                kind, offset = parts[name]
                self._put(made, at + offset, kind, part, f"{where}.{name}")
        elif found.kind is BtfKind.STRUCT and isinstance(value, Mapping):
            members = {member.name: member for member in found.members}
            for name, part in value.items():
                if name not in members:
                    raise InputError(f"{where}: no member {name!r}; it has {', '.join(members)}")
                member = members[name]
                self._put(made, at + member.offset // 8, member.type, part, f"{where}.{name}")
        elif found.kind is BtfKind.ARRAY and isinstance(value, Sequence):
            if len(value) != found.size:
                raise InputError(f"{where}: {len(value)} elements; it has {found.size}")
            step = size // found.size
            for place, part in enumerate(value):
                self._put(made, at + place * step, found.type, part, f"{where}[{place}]")
        elif found.kind in (BtfKind.INT, BtfKind.ENUM) and isinstance(value, int):
            made[at : at + size] = _number(value, size, _is_signed(found), where)
        else:
            raise InputError(f"{where}: {value!r}; expected {self._btf.describe(number)}")


def _is_signed(found: BtfType) -> bool:
    return found.kind is BtfKind.INT and not found.name.startswith(_UNSIGNED)


def _number(value: int, size: int, signed: bool, where: str) -> bytes:
    bits = 8 * size
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not low <= value <= high:
        raise InputError(f"{where} = {value}; it must be from {low} to {high}")
    return value.to_bytes(size, "little", signed=signed)
