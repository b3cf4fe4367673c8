"""Makes maps from their definitions."""

from fanweave.golden.ebpf.maps.array import ArrayMap, ArrayOfMaps, PerEngineArrayMap, ProgramArray
from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.ebpf.maps.hash import HashMap, LruHashMap
from fanweave.golden.ebpf.maps.prefix import PrefixMap
from fanweave.golden.ebpf.maps.queue import QueueMap, StackMap
from fanweave.golden.ebpf.maps.ring import RingMap
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.golden.isa.ebpf_names import map_type_name

__all__ = ["create_map", "map_type"]

_FLAGS = int(MapFlag(sum(MapFlag)))

_KINDS: dict[MapType, type] = {
    MapType.HASH: HashMap,
    MapType.ARRAY: ArrayMap,
    MapType.PROG_ARRAY: ProgramArray,
    MapType.LRU_HASH: LruHashMap,
    MapType.LPM_TRIE: PrefixMap,
    MapType.ARRAY_OF_MAPS: ArrayOfMaps,
    MapType.QUEUE: QueueMap,
    MapType.STACK: StackMap,
    MapType.RINGBUF: RingMap,
}


def map_type(number: int, *, name: str) -> MapType:
    """The type that an object file names by its number.

    Parameters
    ----------
    number : int
        Linux's number.
    name : str
        Of the map, for the message.

    Raises
    ------
    InputError
        If this project does not have it.
    """
    try:
        return MapType(number)
    except ValueError:
        known = ", ".join(kind.name for kind in MapType)
        raise InputError(
            f"map {name!r} is of type {number} ({map_type_name(number)}), which is not supported; "
            f"{known} are"
        ) from None


def create_map(spec: MapSpec, *, engines: int = 1) -> Map:
    """Make an empty map.

    Parameters
    ----------
    spec : MapSpec
        Its definition.
    engines : int
        Engines that have values of their own in a per-engine array.

    Raises
    ------
    InputError
        If the definition is not one that its type allows, or has a flag without a meaning here.
    """
    if spec.flags & ~_FLAGS:
        raise InputError(
            f"map {spec.name!r} has flags = {spec.flags:#x}; of these {spec.flags & ~_FLAGS:#x} "
            "are not supported"
        )
    if spec.kind is MapType.PERCPU_ARRAY:
        return PerEngineArrayMap(spec, engines)
    made: Map = _KINDS[spec.kind](spec)
    return made
