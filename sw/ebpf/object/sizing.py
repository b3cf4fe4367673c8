"""How large an engine must be for an object file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fanweave.golden.ebpf.config import LIMITS, EbpfConfig
from fanweave.golden.ebpf.layout import needs
from fanweave.golden.isa.ebpf_maps import HASHES, QUEUES, MapType
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["engine_needs", "sized_for"]

#: Types whose values a host or a helper can only copy whole.
_COPIED = HASHES | QUEUES | {MapType.LPM_TRIE}
_MEMORIES = ("value_bytes", "entries", "buckets")


def engine_needs(loaded: ObjectFile, *, engines: int, prefix_lanes: int) -> dict[str, int]:
    """Least values of an engine's parameters, before they are made powers of two.

    Parameters
    ----------
    loaded : ObjectFile
        Maps and programs.
    engines : int
        Engines that share the maps.
    prefix_lanes : int
        Prefixes that are compared in a cycle; every trie begins a row of its own.
    """
    specs = [made.spec for made in loaded.maps]
    taken = [needs(spec, engines) for spec in specs]
    return {
        "maps": len(specs),
        "images": len(loaded.programs),
        "programs": len(loaded.programs),
        "slots": sum(len(each.program.slots) for each in loaded.programs),
        "key_bytes": max((spec.key_size for spec in specs), default=0),
        "operand_bytes": max((s.value_size for s in specs if s.kind in _COPIED), default=0),
        **{name: sum(need[name] for need in taken) for name in _MEMORIES},
        "prefixes": sum(-(-need["prefixes"] // prefix_lanes) * prefix_lanes for need in taken),
    }


def sized_for(objects: Sequence[ObjectFile], config: EbpfConfig) -> EbpfConfig:
    """The engine with the smallest memories for maps and programs that hold one of some objects.

    Parameters
    ----------
    objects : sequence of ObjectFile
        Each must fit when it is alone; a program can be replaced while it runs, so there is room
        for its images twice.
    config : EbpfConfig
        All other parameters.

    Raises
    ------
    InputError
        If an object needs more than an engine can have; the message names the parameter.
    """
    sizes: dict[str, Any] = {}
    for loaded in objects:
        wanted = engine_needs(loaded, engines=config.engines, prefix_lanes=config.prefix_lanes)
        for name in ("images", "slots"):
            wanted[name] *= 2
        for name, least in wanted.items():
            size = max(1 << max(least - 1, 0).bit_length(), LIMITS[name][0])
            sizes[name] = max(sizes.get(name, 0), size)
    lanes = min(config.prefix_lanes, sizes.get("prefixes", config.prefixes))
    return replace(config, **sizes, prefix_lanes=lanes)
