"""Makes maps from their definitions."""

from fanweave.golden.ebpf.maps.array import ArrayMap, ArrayOfMaps, PerEngineArrayMap, ProgramArray
from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.ebpf.maps.hash import HashMap, LruHashMap
from fanweave.golden.ebpf.maps.prefix import PrefixMap
from fanweave.golden.ebpf.maps.queue import QueueMap, StackMap
from fanweave.golden.ebpf.maps.ring import RingMap
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["create_map"]

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
        If the definition is not one that its type allows.
    """
    if spec.kind is MapType.PERCPU_ARRAY:
        return PerEngineArrayMap(spec, engines)
    made: Map = _KINDS[spec.kind](spec)
    return made
