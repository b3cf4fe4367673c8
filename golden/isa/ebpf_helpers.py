"""Helpers that programs can call, by Linux's numbers.

Source: Linux's user-space interface (``linux/bpf.h``).
"""

import enum
from dataclasses import dataclass

from fanweave.golden.isa.ebpf_maps import ARRAYS, HASHES, QUEUES, MapType

__all__ = ["HELPERS", "ArgumentKind", "Helper", "ResultKind"]


class ArgumentKind(enum.Enum):
    """What a helper makes of an argument."""

    ANYTHING = "anything"
    CONTEXT = "context"
    MAP = "map"
    KEY = "key"  # address of as many bytes as the map's keys have
    VALUE = "value"  # address of as many bytes as the map's values have, read
    WRITTEN = "written"  # the same, written
    MEMORY = "memory"  # address; the next argument is its length
    LENGTH = "length"
    RESERVED = "reserved"  # address that a reservation gave


class ResultKind(enum.Enum):
    """What a helper leaves in r0."""

    NUMBER = "number"  # any
    ERROR = "error"  # 0 or a negative error number
    VALUE = "value"  # address of a value, or 0; of an array of maps a map, or 0
    RECORD = "record"  # address of as many bytes as were asked for, or 0
    NOTHING = "nothing"  # programs must not use it; golden and hardware leave 0


@dataclass(frozen=True, kw_only=True)
class Helper:
    """One helper.

    Attributes
    ----------
    number : int
        Immediate of the call.
    name : str
        Linux's name without ``bpf_``.
    arguments : tuple of ArgumentKind
        In r1, r2, and so on.
    result : ResultKind
        In r0.
    maps : frozenset of MapType
        Types of the map that r1 (r2 of a tail call) may name; a map of another type is a fault.
    """

    number: int
    name: str
    arguments: tuple[ArgumentKind, ...]
    result: ResultKind
    maps: frozenset[MapType] = frozenset()


_A = ArgumentKind
_R = ResultKind
_KEYED = ARRAYS | HASHES | {MapType.LPM_TRIE}
_RINGS = frozenset({MapType.RINGBUF})

#: The helpers of this project, by number.
HELPERS: dict[int, Helper] = {
    helper.number: helper
    for helper in (
        Helper(
            number=1,
            name="map_lookup_elem",
            arguments=(_A.MAP, _A.KEY),
            result=_R.VALUE,
            maps=_KEYED | {MapType.ARRAY_OF_MAPS},
        ),
        Helper(
            number=2,
            name="map_update_elem",
            arguments=(_A.MAP, _A.KEY, _A.VALUE, _A.ANYTHING),
            result=_R.ERROR,
            maps=_KEYED,
        ),
        Helper(
            number=3,
            name="map_delete_elem",
            arguments=(_A.MAP, _A.KEY),
            result=_R.ERROR,
            maps=_KEYED,
        ),
        Helper(number=5, name="ktime_get_ns", arguments=(), result=_R.NUMBER),
        Helper(number=7, name="get_prandom_u32", arguments=(), result=_R.NUMBER),
        Helper(number=8, name="get_smp_processor_id", arguments=(), result=_R.NUMBER),
        Helper(
            number=12,
            name="tail_call",
            arguments=(_A.CONTEXT, _A.MAP, _A.ANYTHING),
            result=_R.ERROR,
            maps=frozenset({MapType.PROG_ARRAY}),
        ),
        Helper(
            number=87,
            name="map_push_elem",
            arguments=(_A.MAP, _A.VALUE, _A.ANYTHING),
            result=_R.ERROR,
            maps=QUEUES,
        ),
        Helper(
            number=88,
            name="map_pop_elem",
            arguments=(_A.MAP, _A.WRITTEN),
            result=_R.ERROR,
            maps=QUEUES,
        ),
        Helper(
            number=89,
            name="map_peek_elem",
            arguments=(_A.MAP, _A.WRITTEN),
            result=_R.ERROR,
            maps=QUEUES,
        ),
        Helper(
            number=130,
            name="ringbuf_output",
            arguments=(_A.MAP, _A.MEMORY, _A.LENGTH, _A.ANYTHING),
            result=_R.ERROR,
            maps=_RINGS,
        ),
        Helper(
            number=131,
            name="ringbuf_reserve",
            arguments=(_A.MAP, _A.LENGTH, _A.ANYTHING),
            result=_R.RECORD,
            maps=_RINGS,
        ),
        Helper(
            number=132,
            name="ringbuf_submit",
            arguments=(_A.RESERVED, _A.ANYTHING),
            result=_R.NOTHING,
        ),
        Helper(
            number=133,
            name="ringbuf_discard",
            arguments=(_A.RESERVED, _A.ANYTHING),
            result=_R.NOTHING,
        ),
        Helper(
            number=134,
            name="ringbuf_query",
            arguments=(_A.MAP, _A.ANYTHING),
            result=_R.NUMBER,
            maps=_RINGS,
        ),
    )
}
