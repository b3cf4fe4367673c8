"""What a vector unit does in a cycle, for counters."""

from amaranth import unsigned
from amaranth.lib import data

__all__ = ["VectorActivity"]


class VectorActivity(data.Struct):
    """Work of a cycle.

    ``float_bytes`` are bytes of active elements that go into the floating-point lanes, each
    element as wide as SEW; ``product_bytes`` are bytes of weights that Ventaglio multiplies. Both
    are at most a word of the register file. ``live``: an instruction is in flight. ``memory``: a
    load or store is. ``products``: Ventaglio has one, or a turn at its accumulators.
    """

    float_bytes: unsigned(8)
    product_bytes: unsigned(8)
    live: unsigned(1)
    memory: unsigned(1)
    products: unsigned(1)
