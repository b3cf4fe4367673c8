"""What travels in and out of the memory unit."""

from amaranth import unsigned
from amaranth.lib import data

from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import address_bits

__all__ = ["VectorRequest", "memory_plan", "memory_step", "memory_verdict", "place_bits"]


class VectorRequest(data.Struct):
    """A load or store of the 64 bits at ``address``, a multiple of 8.

    ``write`` stores the bytes of ``data`` that ``mask`` names. Every request has a response, in
    the order of the port's requests, at the earliest a cycle later. Requests to the same address
    take effect in the order in which they are transferred, also at different ports; in one cycle
    the unit never offers two stores, or a load and a store, of the same address.
    """

    address: unsigned(32)
    write: unsigned(1)
    mask: unsigned(8)
    data: unsigned(64)


def memory_verdict(config: VectorConfig) -> data.StructLayout:
    """Whether an access traps, as `Verdict`, and at which element.

    With ``trap``, ``element`` is for ``vstart``; with ``shortened`` it becomes ``vl``, since a
    fault-only-first load met a fault behind its first element.
    """
    return data.StructLayout(
        {
            "trap": unsigned(1),
            "cause": unsigned(4),
            "value": unsigned(32),
            "shortened": unsigned(1),
            "element": unsigned(config.vlen.bit_length()),
        }
    )


def memory_plan(config: VectorConfig) -> data.StructLayout:
    """What the check of an access leaves for its execution.

    ``length`` elements are reached. ``contiguous``: they and all between them can be moved as
    whole blocks of memory, from element 0 on.
    """
    return data.StructLayout(
        {
            "store": unsigned(1),
            "contiguous": unsigned(1),
            "length": unsigned(config.vlen.bit_length()),
        }
    )


def place_bits(config: VectorConfig) -> int:
    """Bits of a byte's number in a word of the register file."""
    return (config.word_bytes - 1).bit_length()


def memory_step(config: VectorConfig) -> data.StructLayout:
    """Work on one word of the register file, or of Ventaglio's bank: the step of an access.

    ``enable`` has its active bytes. A step of blocks takes a word in (``source``), or gives one
    out that is made of it and the one before (``sink``), or both: bytes go up by ``rotate``
    places, those that wrap around into the next word. A step of elements moves those at ``lanes``
    of the chunk of ``config.lanes`` elements that begins at byte ``place``.

    ``addresses`` are those of the ports, without the index if there is one. ``first`` and
    ``last`` mark steps of an instruction; one without active elements has a single step that does
    nothing. ``index_chunk`` is the place of the indices in their word, in groups of them.
    """
    return data.StructLayout(
        {
            "slot": unsigned((config.slots - 1).bit_length()),
            "store": unsigned(1),
            "first": unsigned(1),
            "last": unsigned(1),
            "ascending": unsigned(1),
            "blocks": unsigned(1),
            "source": unsigned(1),
            "sink": unsigned(1),
            "rotate": unsigned(place_bits(config)),
            "size": unsigned(2),
            "bank": unsigned(1),
            "register": unsigned(address_bits(config)),
            "place": unsigned(place_bits(config)),
            "complete": unsigned(1),
            "lanes": unsigned(config.lanes),
            "enable": unsigned(config.word_bytes),
            "addresses": data.ArrayLayout(unsigned(32), config.lanes),
            "indexed": unsigned(1),
            "index_width": unsigned(2),
            "index_chunk": unsigned(3),
        }
    )
