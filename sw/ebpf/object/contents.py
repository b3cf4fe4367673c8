"""What is in maps, apart from any machine: entries by the number of the map."""

from collections.abc import Mapping, Sequence

from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import Map, PerEngineArrayMap, QueueMap, RingMap, create_map
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.golden.isa.ebpf_maps import Errno, MapType
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = [
    "Contents",
    "Entries",
    "initial_contents",
    "machine_of",
    "map_bytes",
    "map_contents",
    "refused_entry",
]

#: Keys and values; queues, stacks and rings have empty keys, oldest value first.
Entries = Sequence[tuple[bytes, bytes]]
#: Entries by the number of the map.
Contents = Mapping[int, Entries]

_WORD = 4


def initial_contents(loaded: ObjectFile) -> dict[int, Entries]:
    """What the maps of an object file begin with: variables, and tables of maps and programs."""
    contents: dict[int, Entries] = {}
    for number, made in enumerate(loaded.maps):
        if made.contents:
            contents[number] = [(bytes(_WORD), made.contents)]
        elif made.entries:
            contents[number] = [
                (_word(at), _word(_target(loaded, entry))) for at, entry in made.entries.items()
            ]
    return contents


def _target(loaded: ObjectFile, entry: int | str) -> int:
    return loaded.number_of(entry, "program") if isinstance(entry, str) else entry


def _word(number: int) -> bytes:
    return number.to_bytes(_WORD, "little")


def machine_of(
    loaded: ObjectFile,
    contents: Contents | None = None,
    *,
    engines: int = 1,
    budget: int = DEFAULT_BUDGET,
) -> Machine:
    """A golden machine with the maps and programs of an object file.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    contents : mapping, optional
        What is put into the maps, after what the file itself says.
    engines : int
        Engines of the machine.
    budget : int
        Instructions of one event.

    Raises
    ------
    InputError
        If a map cannot be made as it is defined, or does not take an entry.
    """
    maps = [create_map(made.spec, engines=engines) for made in loaded.maps]
    for wanted in (initial_contents(loaded), contents or {}):
        for number, entries in wanted.items():
            _fill(maps[number], entries)
    programs = {number: made.program for number, made in enumerate(loaded.programs)}
    return Machine(maps, programs=programs, engines=engines, budget=budget)


def _fill(made: Map, entries: Entries) -> None:
    if isinstance(made, RingMap) and entries:
        raise InputError(f"map {made.spec.name!r} is a ring buffer, which only programs write")
    for key, value in entries:
        result = _put(made, key, value)
        if result:
            raise refused_entry(made.spec.name, key, result)


def refused_entry(name: str, key: bytes, result: int) -> InputError:
    """What to say of an entry that a map does not take; `result` is its negative error number."""
    error = Errno(-result)
    room = ": there is room for no more" if error is Errno.TOO_BIG else ""
    return InputError(
        f"map {name!r} does not take the entry with key {key.hex() or 'none'}: {error.name}{room}"
    )


def _put(made: Map, key: bytes, value: bytes) -> int:
    if isinstance(made, QueueMap):
        return made.push(value)
    if not isinstance(made, PerEngineArrayMap):
        return made.update(key, value)
    # One value is for all engines; otherwise there is one for each.
    size = made.spec.value_size
    values = [value[at : at + size] for at in range(0, len(value), size)]
    values *= made.engines if len(values) == 1 else 1
    if len(values) > made.engines:
        raise InputError(
            f"map {made.spec.name!r} has values of {len(values)} engines; there are {made.engines}"
        )
    results = [made.update(key, part, engine=engine) for engine, part in enumerate(values)]
    return next((result for result in results if result), 0)


def map_contents(maps: Sequence[Map]) -> dict[int, Entries]:
    """What is in the maps of a golden machine."""
    return {number: list(made.items()) for number, made in enumerate(maps)}


def map_bytes(loaded: ObjectFile, number: int, *, engines: int = 1) -> int:
    """Bytes that a map takes: keys, and values at the pitch at which programs see them.

    Parameters
    ----------
    loaded : ObjectFile
        The file.
    number : int
        Of the map.
    engines : int
        Engines that have values of their own in a per-engine array.
    """
    spec = loaded.maps[number].spec
    if spec.kind is MapType.RINGBUF:
        return spec.max_entries
    value = -(-spec.value_size // 8) * 8
    if spec.kind in (MapType.QUEUE, MapType.STACK, MapType.ARRAY):
        return value * spec.max_entries
    if spec.kind is MapType.PERCPU_ARRAY:
        return value * spec.max_entries * engines
    if spec.kind in (MapType.PROG_ARRAY, MapType.ARRAY_OF_MAPS):
        return spec.value_size * spec.max_entries
    return (spec.key_size + value) * spec.max_entries
