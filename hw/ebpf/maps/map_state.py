"""What the map unit remembers of each map between operations."""

from amaranth.lib import data

from fanweave.hw.ebpf.maps.use_order import Ends

__all__ = ["MapState"]


class MapState(data.Struct):
    """Counts of a map.

    A ring has its positions, in bytes, in ``producer`` and ``consumer``; a queue or a stack the
    number of its values in ``producer`` and its oldest place in ``consumer``. Hash maps and tries
    give out the slot that was freed last of ``freed``, or else number ``fresh``. LRU maps have the
    ends of their order.
    """

    producer: 64
    consumer: 64
    freed: 16
    fresh: 16
    ends: Ends
