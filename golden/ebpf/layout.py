"""Where the maps of an object lie in the memories of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_engine import BANK_WORDS, WORD_BYTES, pack_descriptor
from fanweave.golden.isa.ebpf_maps import HASHES, QUEUES, TABLES, MapFlag, MapType

__all__ = ["MapPlace", "lay_out", "needs"]

#: Types whose values no address reaches, or only those of open records.
_UNREACHABLE = QUEUES | TABLES | {MapType.RINGBUF}
#: Buckets for each key: a chain is hardly ever longer than two.
_BUCKETS_PER_ENTRY = 4


@dataclass(frozen=True, kw_only=True)
class MapPlace:
    """One map in the engine's memories.

    Attributes
    ----------
    spec : MapSpec
        Its definition.
    value_base, value_words : int
        Its part of the memory of values, in words of 8 bytes.
    pitch_words : int
        From one value to the next.
    entry_base, bucket_base, buckets, free_base : int
        Its parts of the other memories.
    engines : int
        Sets of values.
    """

    spec: MapSpec
    value_base: int
    value_words: int
    pitch_words: int
    entry_base: int
    bucket_base: int
    buckets: int
    free_base: int
    engines: int

    @property
    def descriptor(self) -> int:
        """What the engine is told; see `fanweave.golden.isa.ebpf_engine.DESCRIPTOR`."""
        spec = self.spec
        reachable = spec.kind not in _UNREACHABLE
        return pack_descriptor(
            kind=spec.kind,
            valid=1,
            readable=int(not spec.flags & MapFlag.WRONLY_PROG),
            writable=int(not spec.flags & MapFlag.RDONLY_PROG),
            key_bytes=spec.key_size,
            value_base=self.value_base,
            value_bytes=spec.value_size,
            pitch_words=self.pitch_words,
            reciprocal=-(-(1 << 32) // self.pitch_words) % (1 << 32),
            entries=spec.max_entries,
            values=spec.max_entries * self.engines if reachable else 0,
            entry_base=self.entry_base,
            bucket_base=self.bucket_base,
            bucket_mask=max(self.buckets, 1) - 1,
            free_base=self.free_base,
        )


def needs(spec: MapSpec, engines: int) -> dict[str, int]:
    """What a map takes of each memory: ``value_bytes``, ``entries``, ``buckets``, ``prefixes``."""
    if spec.kind is MapType.RINGBUF:
        values = spec.max_entries
    else:
        copies = engines if spec.kind is MapType.PERCPU_ARRAY else 1
        values = spec.max_entries * _pitch_words(spec) * WORD_BYTES * copies
    hashed = spec.kind in HASHES
    return {
        "value_bytes": _round_up(values, BANK_WORDS * WORD_BYTES),
        "entries": spec.max_entries if hashed else 0,
        "buckets": _power_of_two(_BUCKETS_PER_ENTRY * spec.max_entries) if hashed else 0,
        "prefixes": spec.max_entries if spec.kind is MapType.LPM_TRIE else 0,
    }


def lay_out(specs: Sequence[MapSpec], config: EbpfConfig) -> tuple[MapPlace, ...]:
    """Give each map its place, in order.

    Parameters
    ----------
    specs : sequence of MapSpec
        Maps by number.
    config : EbpfConfig
        The engine.

    Raises
    ------
    InputError
        If they do not fit; the message names the map, the parameter and what it would have to be.
    """
    if len(specs) > config.maps:
        raise InputError(f"{len(specs)} maps; the engine has room for maps = {config.maps}")
    taken = {"value_bytes": 0, "entries": 0, "buckets": 0, "prefixes": 0}
    places = []
    for spec in specs:
        if spec.key_size > config.key_bytes:
            raise InputError(
                f"map {spec.name!r} has key_size = {spec.key_size}; the engine was made for "
                f"key_bytes = {config.key_bytes}"
            )
        asked = needs(spec, config.engines)
        if spec.kind is MapType.LPM_TRIE:
            taken["prefixes"] = _round_up(taken["prefixes"], config.prefix_lanes)
        places.append(_place(spec, taken, asked, config))
        for name, amount in asked.items():
            taken[name] += amount
            if taken[name] > getattr(config, name):
                raise InputError(
                    f"map {spec.name!r} does not fit: all maps up to it need {name} = "
                    f"{taken[name]}; the engine has {getattr(config, name)}"
                )
    return tuple(places)


def _place(
    spec: MapSpec, taken: dict[str, int], asked: dict[str, int], config: EbpfConfig
) -> MapPlace:
    is_trie = spec.kind is MapType.LPM_TRIE
    return MapPlace(
        spec=spec,
        value_base=taken["value_bytes"] // WORD_BYTES,
        value_words=asked["value_bytes"] // WORD_BYTES,
        pitch_words=_pitch_words(spec),
        entry_base=taken["prefixes"] // config.prefix_lanes if is_trie else taken["entries"],
        bucket_base=taken["buckets"],
        buckets=asked["buckets"],
        # Slots of tries and of hash maps are given out from one memory.
        free_base=config.entries + taken["prefixes"] if is_trie else taken["entries"],
        engines=config.engines if spec.kind is MapType.PERCPU_ARRAY else 1,
    )


def _pitch_words(spec: MapSpec) -> int:
    return max(-(-spec.value_size // WORD_BYTES), 1)


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


def _power_of_two(amount: int) -> int:
    return 1 << max(amount - 1, 0).bit_length()
