"""Definitions of maps: those by types in ``.maps``, and the older structures in ``maps``."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fanweave.golden.ebpf.maps import MapSpec, map_type
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import TABLES, MapType
from fanweave.sw.ebpf.object.btf import Btf, BtfError, BtfKind, BtfMember
from fanweave.sw.ebpf.object.elf import Elf, Section, Symbol, SymbolKind

__all__ = ["LEGACY", "TYPED", "MapDefinition", "legacy_definitions", "typed_definitions"]

#: Names of the two sections.
TYPED = ".maps"
LEGACY = "maps"
_FIELDS = ("type", "key_size", "value_size", "max_entries", "flags")
_LEGACY = struct.Struct(f"<{len(_FIELDS)}I")
#: Members with a number -> the field of a definition.
_NUMBERS = {
    "type": "type",
    "key_size": "key_size",
    "value_size": "value_size",
    "max_entries": "max_entries",
    "map_flags": "flags",
}
#: Members with a type -> the field that its size is for.
_TYPES = {"key": "key_size", "value": "value_size"}
#: Members without a meaning here, and the numbers that are harmless.
_IGNORED = {"pinning": (0, 1), "numa_node": (0,), "map_extra": (0,)}
_VALUES = "values"
_TABLE_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class MapDefinition:
    """A definition, and where it stands.

    Attributes
    ----------
    spec : MapSpec
        The definition.
    section : Section
        Its section.
    offset, size : int
        Its place there.
    values_at : int or None
        Place, in the definition, of what the map begins with.
    inner : MapSpec or None
        Definition of maps in an array of maps.
    """

    spec: MapSpec
    section: Section
    offset: int
    size: int
    values_at: int | None = None
    inner: MapSpec | None = None


def legacy_definitions(elf: Elf) -> Iterator[MapDefinition]:
    """Maps of the section ``maps``: five words each, named by symbols.

    Raises
    ------
    InputError
        If a symbol does not name such a structure, or a word behind it is not zero.
    """
    section = elf.find(LEGACY)
    if section is None:
        return
    for symbol in _symbols(elf, section):
        place = f"{section}, offset {symbol.value:#x}, map {symbol.name!r}"
        if symbol.size < _LEGACY.size:
            raise elf.refusal(
                place,
                f"{symbol.size} bytes; a definition has {_LEGACY.size} or more: "
                f"{', '.join(_FIELDS)}",
            )
        data = section.data[symbol.value : symbol.value + symbol.size]
        if any(data[_LEGACY.size :]):
            raise elf.refusal(
                place,
                f"its definition goes on behind {', '.join(_FIELDS)} with "
                f"{data[_LEGACY.size :].hex(' ')}, which has no meaning here; it must be zero",
            )
        fields = dict(zip(_FIELDS, _LEGACY.unpack_from(data), strict=True))
        yield MapDefinition(
            spec=_spec(elf, place, symbol.name, fields),
            section=section,
            offset=symbol.value,
            size=symbol.size,
        )


def typed_definitions(
    elf: Elf, btf: Btf | None, map_types: Mapping[int, MapType]
) -> Iterator[MapDefinition]:
    """Maps of the section ``.maps``: variables whose types are the definitions.

    `map_types` are numbers of another runtime, see `load_object`.

    Raises
    ------
    InputError
        If the file has no types, or a type is no definition; the message names map and member.
    """
    section = elf.find(TYPED)
    if section is None:
        return
    listed = None if btf is None else btf.sections().get(TYPED)
    if btf is None or listed is None:
        raise elf.refusal(section, "the file has no types (BTF) for its maps; build it with -g")
    variables = {}
    try:
        for member in listed.members:
            variables[btf.type(member.type).name] = btf.type(member.type).type
    except BtfError as error:
        raise elf.refusal(section, str(error)) from None
    for symbol in _symbols(elf, section):
        place = f"{section}, offset {symbol.value:#x}, map {symbol.name!r}"
        if symbol.name not in variables:
            raise elf.refusal(place, "its variable has no type (BTF); build it with -g")
        definition = _Definition(elf, btf, place, symbol.name, map_types)
        try:
            yield definition.read(variables[symbol.name], section, symbol)
        except BtfError as error:
            raise elf.refusal(place, str(error)) from None


def _symbols(elf: Elf, section: Section) -> list[Symbol]:
    """Variables of a section, in order; they must lie in it and not on each other."""
    found = [
        symbol
        for symbol in elf.symbols
        if symbol.section == section.number
        and symbol.kind in (SymbolKind.OBJECT, SymbolKind.NOTYPE)
        and symbol.name
    ]
    found.sort(key=lambda symbol: symbol.value)
    end = 0
    for symbol in found:
        if symbol.value < end or symbol.value + symbol.size > len(section.data):
            raise elf.refusal(
                section,
                f"map {symbol.name!r} has {symbol.size:#x} bytes at {symbol.value:#x}; it must lie "
                f"between {end:#x} and {len(section.data):#x}",
            )
        end = symbol.value + symbol.size
    return found


def _spec(elf: Elf, place: str, name: str, fields: dict[str, int]) -> MapSpec:
    if "type" not in fields:
        raise elf.refusal(place, "it has no type; expected __uint(type, BPF_MAP_TYPE_...)")
    try:
        kind = map_type(fields["type"], name=name)
    except InputError as error:
        raise elf.refusal(place, str(error)) from None
    sizes = {
        field: fields.get(field, _TABLE_BYTES if kind in TABLES else 0)
        for field in ("key_size", "value_size")
    }
    return MapSpec(
        name=name,
        kind=kind,
        max_entries=fields.get("max_entries", 0),
        flags=fields.get("flags", 0),
        **sizes,
    )


class _Definition:
    """Reads one definition by types."""

    def __init__(
        self, elf: Elf, btf: Btf, place: str, name: str, map_types: Mapping[int, MapType]
    ) -> None:
        self.map_types = map_types
        self.elf = elf
        self.btf = btf
        self.place = place
        self.name = name

    def refuse(self, problem: str) -> InputError:
        return self.elf.refusal(self.place, problem)

    def read(self, variable: int, section: Section, symbol: Symbol) -> MapDefinition:
        members, values = self.members(variable)
        made = MapDefinition(
            spec=_spec(self.elf, self.place, self.name, members),
            section=section,
            offset=symbol.value,
            size=symbol.size,
        )
        if made.spec.kind not in TABLES:
            if values is not None:
                raise self.refuse(
                    f"a map of type {made.spec.kind.name} begins empty and has no `{_VALUES}`"
                )
            return made
        if values is not None:
            made = replace(made, values_at=values.offset // 8)
        if made.spec.kind is MapType.ARRAY_OF_MAPS:
            if values is None:
                raise self.refuse("it does not say what it holds; expected __array(values, ...)")
            made = replace(made, inner=self.inner(values))
        return made

    def members(self, number: int) -> tuple[dict[str, int], BtfMember | None]:
        """Fields of a definition's structure, and its last member if it names what is in it."""
        found = self.btf.bare(number)
        if found.kind is not BtfKind.STRUCT:
            raise self.refuse(f"its type is {self.btf.describe(number)}; expected a structure")
        fields: dict[str, int] = {}
        values = None
        for member in found.members:
            if member.name == _VALUES:
                values = member
                continue
            field, value = self.field(member)
            if fields.setdefault(field, value) != value:
                raise self.refuse(f"{field} is {fields[field]} and, by {member.name!r}, {value}")
        return fields, values

    def field(self, member: BtfMember) -> tuple[str, int]:
        if member.name in _TYPES:
            return _TYPES[member.name], self.btf.size_of(self.pointee(member))
        if member.name in _NUMBERS:
            field, value = _NUMBERS[member.name], self.number(member)
            return field, self.map_types.get(value, value) if field == "type" else value
        if member.name in _IGNORED:
            number, harmless = self.number(member), _IGNORED[member.name]
            if number not in harmless:
                raise self.refuse(
                    f"{member.name} = {number} has no meaning here; it must be "
                    f"{' or '.join(map(str, harmless))}"
                )
            return member.name, number
        known = ", ".join((*_NUMBERS, *_TYPES, _VALUES, *_IGNORED))
        raise self.refuse(f"member {member.name!r} is unknown; known are {known}")

    def pointee(self, member: BtfMember) -> int:
        pointer = self.btf.bare(member.type)
        if pointer.kind is not BtfKind.PTR:
            raise self.refuse(
                f"member {member.name!r} is {self.btf.describe(member.type)}; expected a pointer, "
                "as __uint and __type write it"
            )
        return pointer.type

    def number(self, member: BtfMember) -> int:
        array = self.btf.bare(self.pointee(member))
        if array.kind is not BtfKind.ARRAY:
            raise self.refuse(
                f"member {member.name!r} is {self.btf.describe(member.type)}; expected a pointer "
                "to an array, as __uint writes it"
            )
        return array.size

    def inner(self, values: BtfMember) -> MapSpec:
        """The definition that an array of maps has for its maps."""
        array = self.btf.bare(values.type)
        pointer = self.btf.bare(array.type) if array.kind is BtfKind.ARRAY else array
        if array.kind is not BtfKind.ARRAY or pointer.kind is not BtfKind.PTR:
            raise self.refuse(
                f"`{_VALUES}` is {self.btf.describe(values.type)}; expected an array of pointers, "
                "as __array writes it"
            )
        members, deeper = self.members(pointer.type)
        spec = _spec(self.elf, self.place, f"{self.name}.inner", members)
        if deeper is not None or spec.kind in TABLES:
            raise self.refuse("maps in an array of maps cannot hold maps or programs themselves")
        return spec
