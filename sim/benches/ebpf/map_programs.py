"""Programs of the benchmark that work on a map, which is map 0."""

from fanweave.golden.ebpf.maps import Map, MapSpec, create_map
from fanweave.golden.isa.ebpf_machine import map_handle
from fanweave.golden.isa.ebpf_maps import MapType

__all__ = ["MAP_PROGRAMS", "map_of"]

# The assembler has no word for a map: an object file's loader puts its handle in.
_MAP = f"{map_handle(0):#x} ll"
_VALUE = {"key_size": 8, "value_size": 8, "max_entries": 64}

#: Name to the map's definition and the program.
MAP_PROGRAMS: dict[str, tuple[MapSpec, str]] = {
    "counters in an array": (
        MapSpec(name="counters", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=64),
        f"""
            r6 = 200
        again:
            r1 = r6
            r1 &= 63
            *(u32 *)(r10 - 4) = r1
            r1 = {_MAP}
            r2 = r10
            r2 += -4
            call 1
            if r0 == 0 goto end
            r1 = 1
            lock *(u64 *)(r0 + 0) += r1
            r6 -= 1
            if r6 != 0 goto again
        end:
            r0 = 0
            exit
        """,
    ),
    "pages in an LRU map": (
        MapSpec(name="pages", kind=MapType.LRU_HASH, **_VALUE),
        f"""
            r6 = 200
        again:
            r1 = r6
            r1 &= 127
            *(u64 *)(r10 - 8) = r1
            *(u64 *)(r10 - 16) = r6
            r1 = {_MAP}
            r2 = r10
            r2 += -8
            r3 = r10
            r3 += -16
            r4 = 0
            call 2
            r6 -= 1
            if r6 != 0 goto again
            r0 = 0
            exit
        """,
    ),
    "routes in a trie": (
        MapSpec(name="routes", kind=MapType.LPM_TRIE, key_size=12, value_size=8, max_entries=4),
        f"""
            r6 = 200
            r0 = 0
        again:
            *(u32 *)(r10 - 12) = 64
            r1 = r6
            r1 &= 7
            *(u64 *)(r10 - 8) = r1
            r1 = {_MAP}
            r2 = r10
            r2 += -12
            call 1
            if r0 == 0 goto next
            r0 = *(u64 *)(r0 + 0)
            r7 += r0
        next:
            r6 -= 1
            if r6 != 0 goto again
            r0 = r7
            exit
        """,
    ),
}


def map_of(spec: MapSpec) -> Map:
    """A program's map; a trie with prefixes of 0, 6, 7 and 8 bits, worth as much."""
    made = create_map(spec)
    if spec.kind is MapType.LPM_TRIE:
        for length, first in ((0, 0), (6, 4), (7, 4), (8, 4)):
            key = length.to_bytes(4, "little") + bytes([first]) + bytes(7)
            made.update(key, length.to_bytes(8, "little"))
    return made
