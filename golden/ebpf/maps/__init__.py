"""Maps with Linux's flags and error numbers."""

from fanweave.golden.ebpf.maps.array import ArrayMap, ArrayOfMaps, PerEngineArrayMap, ProgramArray
from fanweave.golden.ebpf.maps.base import Map, MapSpec
from fanweave.golden.ebpf.maps.create import create_map, map_type
from fanweave.golden.ebpf.maps.hash import HashMap, LruHashMap, hash_key
from fanweave.golden.ebpf.maps.prefix import PrefixMap, canonical_prefix
from fanweave.golden.ebpf.maps.queue import QueueMap, StackMap
from fanweave.golden.ebpf.maps.ring import RingMap

__all__ = [
    "ArrayMap",
    "ArrayOfMaps",
    "HashMap",
    "LruHashMap",
    "Map",
    "MapSpec",
    "PerEngineArrayMap",
    "PrefixMap",
    "ProgramArray",
    "QueueMap",
    "RingMap",
    "StackMap",
    "canonical_prefix",
    "create_map",
    "hash_key",
    "map_type",
]
