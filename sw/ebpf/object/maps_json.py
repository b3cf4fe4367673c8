"""Maps as JSON: what a host puts into them, and what it finds in them."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.object.contents import Contents, Entries
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap

__all__ = ["maps_from_json", "maps_to_json", "read_definitions"]

_SIZES = ("key_size", "value_size", "max_entries", "flags")
_KEYLESS = (MapType.QUEUE, MapType.STACK, MapType.RINGBUF)
#: Tables -> the member of an entry that names what is in it.
_NAMED: dict[MapType, Literal["map", "program"]] = {
    MapType.ARRAY_OF_MAPS: "map",
    MapType.PROG_ARRAY: "program",
}
_WORD = 4


def maps_to_json(loaded: ObjectFile, contents: Contents) -> str:
    """Definitions and contents of all maps.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    contents : mapping
        What is in its maps.
    """
    parts = []
    for number, made in enumerate(loaded.maps):
        head = {
            "type": made.spec.kind.name,
            **{field: getattr(made.spec, field) for field in _SIZES},
        }
        entries = [
            json.dumps(_entry_to_json(loaded, made, key, value))
            for key, value in contents.get(number, ())
        ]
        # An entry a line, so that two such files can be compared.
        listed = ",\n  ".join(entries)
        listed = f"[\n  {listed}\n ]" if entries else "[]"
        start = json.dumps(head).removesuffix("}")
        parts.append(f'{json.dumps(made.name)}: {start}, "entries": {listed}}}')
    return "{" + ",\n".join(parts) + "}\n"


def _entry_to_json(loaded: ObjectFile, made: ObjectMap, key: bytes, value: bytes) -> dict[str, str]:
    if made.spec.kind in _KEYLESS:
        return {"value": value.hex()}
    named = _NAMED.get(made.spec.kind)
    if named is None:
        return {"key": key.hex(), "value": value.hex()}
    choices = loaded.maps if named == "map" else loaded.programs
    return {"key": key.hex(), named: choices[int.from_bytes(value, "little")].name}


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's members, none of them twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise InputError(f"{twice!r} is there twice; the first one would be lost")
    return members


def _document(text: str, name: str) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(text, object_pairs_hook=_members)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f'{name}: expected {{"map": {{"entries": [...]}}}}')
    for key, value in document.items():
        if not isinstance(value, dict) or not isinstance(value.get("entries", []), list):
            raise InputError(f'{name}, map {key!r}: expected {{"entries": [...]}}')
        unknown = [field for field in value if field not in ("type", "entries", *_SIZES)]
        if unknown:
            raise InputError(
                f"{name}, map {key!r}: {unknown[0]!r} is unknown; known are type, "
                f"{', '.join(_SIZES)}, entries"
            )
    return document


def read_definitions(text: str, name: str) -> tuple[ObjectMap, ...]:
    """Maps for a program without an object file, by the order in which they stand there.

    Parameters
    ----------
    text : str
        The document.
    name : str
        For messages.

    Raises
    ------
    InputError
        If it is no such document, or a definition is not complete.
    """
    made = []
    for key, value in _document(text, name).items():
        sizes = {field: value.get(field, 0) for field in _SIZES}
        for field, size in sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 32:
                raise InputError(f"{name}, map {key!r}: {field} = {size!r}; expected a number")
        spec = MapSpec(name=key, kind=_kind(value.get("type"), f"{name}, map {key!r}"), **sizes)
        made.append(ObjectMap(spec=spec, section=name))
    return tuple(made)


def _kind(text: object, where: str) -> MapType:
    if not isinstance(text, str) or text not in MapType.__members__:
        raise InputError(f"{where}: type {text!r}; choose one of {', '.join(MapType.__members__)}")
    return MapType[text]


def maps_from_json(text: str, loaded: ObjectFile, name: str) -> dict[int, Entries]:
    """What a document puts into the maps of an object file.

    Parameters
    ----------
    text : str
        The document.
    loaded : ObjectFile
        The file.
    name : str
        For messages.

    Returns
    -------
    dict of int to Entries
        By the number of the map.

    Raises
    ------
    InputError
        If it is no such document, names what the file does not have, or a key or value has
        another size.
    """
    contents: dict[int, Entries] = {}
    for key, value in _document(text, name).items():
        where = f"{name}, map {key!r}"
        try:
            number = loaded.number_of(key, "map")
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        made = loaded.maps[number]
        if "type" in value and _kind(value["type"], where) is not made.spec.kind:
            raise InputError(f"{where}: type {value['type']}; it is {made.spec.kind.name}")
        for field in _SIZES:
            if value.get(field, getattr(made.spec, field)) != getattr(made.spec, field):
                raise InputError(
                    f"{where}: {field} = {value[field]!r}; it is {getattr(made.spec, field)}"
                )
        if made.spec.kind is MapType.RINGBUF and value.get("entries"):
            raise InputError(f"{where}: only programs write ring buffers; leave its entries out")
        contents[number] = [
            _entry_from_json(loaded, made, entry, f"{where}, entry {at}")
            for at, entry in enumerate(value.get("entries", []))
        ]
    return contents


def _entry_from_json(
    loaded: ObjectFile, made: ObjectMap, entry: object, where: str
) -> tuple[bytes, bytes]:
    kind = made.spec.kind
    named = _NAMED.get(kind)
    wanted = {*(() if kind in _KEYLESS else ("key",)), named or "value"}
    if not isinstance(entry, Mapping) or set(entry) != wanted:
        raise InputError(f"{where}: {json.dumps(entry)}; expected {', '.join(sorted(wanted))}")
    key = b"" if kind in _KEYLESS else _bytes(entry["key"], where, "key", made.spec.key_size)
    if named is not None:
        if not isinstance(entry[named], str):
            raise InputError(
                f"{where}: {named} = {json.dumps(entry[named])}; expected the name of a {named}"
            )
        try:
            target = loaded.number_of(entry[named], named)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        return key, target.to_bytes(_WORD, "little")
    many = kind is MapType.PERCPU_ARRAY
    return key, _bytes(entry["value"], where, "value", made.spec.value_size, many=many)


def _bytes(text: object, where: str, field: str, size: int, *, many: bool = False) -> bytes:
    try:
        data = bytes.fromhex("".join(text.split())) if isinstance(text, str) else None
    except ValueError:
        data = None
    if data is None:
        raise InputError(
            f"{where}: {field} {json.dumps(text)} is not hexadecimal; expected a string of "
            f"{2 * size} digits"
        )
    if len(data) != size and not (many and data and len(data) % size == 0):
        raise InputError(f"{where}: {field} has {len(data)} bytes; it must have {size}")
    return data
