"""All maps of an object file, and what a place in it means."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.isa.ebpf_machine import MAP_SPAN, MAPS
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sw.ebpf.object.btf import Btf
from fanweave.sw.ebpf.object.elf import Elf, RelocationKind, Section, relocation_name
from fanweave.sw.ebpf.object.map_definitions import (
    MapDefinition,
    legacy_definitions,
    typed_definitions,
)
from fanweave.sw.ebpf.object.model import ObjectMap

__all__ = ["MapPlace", "MapTable", "read_maps"]

_VARIABLES = (".rodata", ".data", ".bss")
_READ_ONLY = ".rodata"
_POINTER_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class MapPlace:
    """What an address of a map or a variable becomes.

    Attributes
    ----------
    number : int
        Of the map.
    offset : int or None
        Place in its value; None if the map itself is meant.
    """

    number: int
    offset: int | None = None


@dataclass(frozen=True, kw_only=True)
class MapTable:
    """Maps by number.

    Attributes
    ----------
    definitions : tuple of MapDefinition
        The first ones.
    variables : tuple of Section
        Those behind them: sections that become maps of one value.
    """

    elf: Elf
    definitions: tuple[MapDefinition, ...]
    variables: tuple[Section, ...]

    def holds(self, section: Section) -> bool:
        """Whether there are maps or variables in a section."""
        return section in self.variables or any(
            definition.section is section for definition in self.definitions
        )

    def place(self, section: Section, offset: int, where: object) -> MapPlace:
        """What an address means.

        Raises
        ------
        InputError
            If no map begins there, or it lies outside of its variables.
        """
        if section not in self.variables:
            for number, definition in enumerate(self.definitions):
                if definition.section is section and definition.offset == offset:
                    return MapPlace(number=number)
            raise self.elf.refusal(where, f"no map begins at offset {offset:#x} of {section}")
        if not 0 <= offset < section.size:
            raise self.elf.refusal(
                where, f"offset {offset} of {section}, whose variables have {section.size} bytes"
            )
        for relocation in self.elf.relocations.get(section.number, ()):
            raise self.elf.refusal(
                f"{section}, offset {relocation.offset:#x}",
                f"a variable begins with the address of {relocation.symbol.name!r}; addresses are "
                "known only when a program runs",
            )
        return MapPlace(number=len(self.definitions) + self.variables.index(section), offset=offset)

    def finish(self, programs: Iterable[str]) -> tuple[ObjectMap, ...]:
        """The maps, with what they begin with.

        Parameters
        ----------
        programs : iterable of str
            Names of programs that entries may stand for.

        Raises
        ------
        InputError
            If a table begins with something else than its type holds.
        """
        names = frozenset(programs)
        made = [
            ObjectMap(
                spec=definition.spec,
                section=definition.section.name,
                inner=definition.inner,
                entries=self._entries(definition, names),
            )
            for definition in self.definitions
        ]
        return (*made, *(_variables(section) for section in self.variables))

    def _entries(self, definition: MapDefinition, programs: frozenset[str]) -> dict[int, int | str]:
        entries: dict[int, int | str] = {}
        end = definition.offset + definition.size
        for relocation in self.elf.relocations.get(definition.section.number, ()):
            if not definition.offset <= relocation.offset < end:
                continue
            where = f"{definition.section}, offset {relocation.offset:#x}"
            place = relocation.offset - definition.offset - (definition.values_at or 0)
            if relocation.kind != RelocationKind.ADDRESS:
                raise self.elf.refusal(
                    where, f"relocation {relocation_name(relocation.kind)} is not possible here"
                )
            if definition.values_at is None or place < 0 or place % _POINTER_BYTES:
                raise self.elf.refusal(
                    where, f"map {definition.spec.name!r} can have an address only in `values`"
                )
            number = place // _POINTER_BYTES
            if number >= definition.spec.max_entries:
                raise self.elf.refusal(
                    where,
                    f"map {definition.spec.name!r} begins with an entry {number}; it has "
                    f"{definition.spec.max_entries}",
                )
            symbol = relocation.symbol
            if symbol.section is None:
                raise self.elf.refusal(where, f"{symbol.name!r} is not defined in this file")
            added = definition.section.data[relocation.offset : relocation.offset + _POINTER_BYTES]
            target = self.elf.sections[symbol.section]
            if definition.spec.kind is MapType.PROG_ARRAY:
                if symbol.name not in programs:
                    raise self.elf.refusal(
                        where,
                        f"{symbol.name!r} is no program; there are "
                        f"{', '.join(sorted(programs)) or 'none'}",
                    )
                entries[number] = symbol.name
            else:
                offset = symbol.value + int.from_bytes(added, "little")
                entries[number] = self._inner(definition, target, offset, where)
        return entries

    def _inner(self, definition: MapDefinition, target: Section, offset: int, where: str) -> int:
        number = self.place(target, offset, where).number
        if number >= len(self.definitions):
            raise self.elf.refusal(where, f"{target} holds variables and no maps")
        found, wanted = self.definitions[number].spec, definition.inner
        assert wanted is not None
        fields = ["kind", "key_size", "value_size", "flags"]
        # As in Linux, whose checks of array indices rely on it.
        if wanted.kind is MapType.ARRAY:
            fields.append("max_entries")
        for field in fields:
            if getattr(found, field) != getattr(wanted, field):
                raise self.elf.refusal(
                    where,
                    f"map {found.name!r} has {field} = {getattr(found, field)}; those in "
                    f"{definition.spec.name!r} have {getattr(wanted, field)}",
                )
        return number


def read_maps(elf: Elf, btf: Btf | None, map_types: Mapping[int, MapType]) -> MapTable:
    """Find the maps of a file; `map_types` are numbers of another runtime, see `load_object`.

    Raises
    ------
    InputError
        If a definition is not one, two maps have one name, or there are too many.
    """
    definitions = (*typed_definitions(elf, btf, map_types), *legacy_definitions(elf))
    variables = tuple(section for section in elf.sections if _is_variables(elf, section))
    names: set[str] = set()
    for name in (*(made.spec.name for made in definitions), *(made.name for made in variables)):
        if name in names:
            raise elf.refusal(f"map {name!r}", "the name is there twice")
        names.add(name)
    if len(names) > MAPS:
        raise elf.refusal("maps", f"there are {len(names)}; addresses can name {MAPS}")
    return MapTable(elf=elf, definitions=definitions, variables=variables)


def _is_variables(elf: Elf, section: Section) -> bool:
    if not section.size or not section.allocated or section.executable:
        return False
    if not any(section.name == name or section.name.startswith(f"{name}.") for name in _VARIABLES):
        return False
    if section.size > MAP_SPAN:
        raise elf.refusal(section, f"{section.size} bytes of variables; at most {MAP_SPAN}")
    return True


def _variables(section: Section) -> ObjectMap:
    constant = section.name == _READ_ONLY or section.name.startswith(f"{_READ_ONLY}.")
    return ObjectMap(
        spec=MapSpec(
            name=section.name,
            kind=MapType.ARRAY,
            key_size=4,
            value_size=section.size,
            max_entries=1,
            flags=int(MapFlag.RDONLY_PROG) if constant else 0,
        ),
        section=section.name,
        contents=section.data,
    )
