"""Helpers that programs can call, by Linux's numbers.

Source: Linux's user-space interface (``linux/bpf.h``).
"""

import enum
from dataclasses import dataclass

__all__ = ["HELPERS", "ArgumentKind", "Helper"]


class ArgumentKind(enum.Enum):
    """What a helper makes of an argument."""

    ANYTHING = "anything"
    CONTEXT = "context"
    MAP = "map"
    KEY = "key"  # address of as many bytes as the map's keys have
    VALUE = "value"  # address of as many bytes as the map's values have
    MEMORY = "memory"  # address; the next argument is its length
    LENGTH = "length"
    RESERVED = "reserved"  # address that a reservation gave


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
    """

    number: int
    name: str
    arguments: tuple[ArgumentKind, ...]


_A = ArgumentKind

#: The helpers of this project, by number.
HELPERS: dict[int, Helper] = {
    helper.number: helper
    for helper in (
        Helper(number=1, name="map_lookup_elem", arguments=(_A.MAP, _A.KEY)),
        Helper(number=2, name="map_update_elem", arguments=(_A.MAP, _A.KEY, _A.VALUE, _A.ANYTHING)),
        Helper(number=3, name="map_delete_elem", arguments=(_A.MAP, _A.KEY)),
        Helper(number=5, name="ktime_get_ns", arguments=()),
        Helper(number=7, name="get_prandom_u32", arguments=()),
        Helper(number=8, name="get_smp_processor_id", arguments=()),
        Helper(number=12, name="tail_call", arguments=(_A.CONTEXT, _A.MAP, _A.ANYTHING)),
        Helper(number=87, name="map_push_elem", arguments=(_A.MAP, _A.VALUE, _A.ANYTHING)),
        Helper(number=88, name="map_pop_elem", arguments=(_A.MAP, _A.VALUE)),
        Helper(number=89, name="map_peek_elem", arguments=(_A.MAP, _A.VALUE)),
        Helper(
            number=130,
            name="ringbuf_output",
            arguments=(_A.MAP, _A.MEMORY, _A.LENGTH, _A.ANYTHING),
        ),
        Helper(number=131, name="ringbuf_reserve", arguments=(_A.MAP, _A.LENGTH, _A.ANYTHING)),
        Helper(number=132, name="ringbuf_submit", arguments=(_A.RESERVED, _A.ANYTHING)),
        Helper(number=133, name="ringbuf_discard", arguments=(_A.RESERVED, _A.ANYTHING)),
        Helper(number=134, name="ringbuf_query", arguments=(_A.MAP, _A.ANYTHING)),
    )
}
