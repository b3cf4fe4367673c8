"""What travels inside Ventaglio as a unit of the vector unit."""

from amaranth import unsigned
from amaranth.lib import data

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import address_bits
from fanweave.hw.ventaglio.payloads import Marker

__all__ = ["parameters", "product_plan"]


def parameters(config: VectorConfig) -> VentaglioConfig:
    """Those of Ventaglio.

    Raises
    ------
    ValueError
        If the vector unit has none.
    """
    if config.ventaglio is None:
        raise ValueError("ventaglio = None must be a configuration here")
    return config.ventaglio


def product_plan(config: VectorConfig) -> data.StructLayout:
    """An instruction for Ventaglio, with all that CSRs say of it.

    ``marker`` is ``ROW`` for products, ``CLEAR``, or ``DRAIN`` for a load or store of
    accumulators: that one is a turn of the memory unit, which has the bank for itself until it
    is over. ``element`` and ``mode`` are an `ElementFormat` and an `IndexMode`, ``size`` is log2
    of an element's bytes, ``bits`` are those of an index. ``width`` accumulators from ``base`` on
    are the row; ``multiply`` replaces them. ``count`` elements are ``weight_words`` words of the
    register file from ``weights`` on, and their indices ``index_words`` words of 32 bits from its
    word ``indices`` on. With ``many``, ``rows`` such rows lie there one behind the other, each
    with its indices in whole words of 32 bits, and element ``scalars + r`` of v0 is the scalar of
    row r.
    """
    length = config.vlen.bit_length()
    return data.StructLayout(
        {
            "marker": Marker,
            "slot": unsigned((config.slots - 1).bit_length()),
            "element": unsigned(3),
            "size": unsigned(2),
            "mode": unsigned(3),
            "n": unsigned(6),
            "m": unsigned(6),
            "bits": unsigned(5),
            "width": unsigned(16),
            "base": unsigned(16),
            "multiply": unsigned(1),
            "scalar": unsigned(32),
            "count": unsigned(length),
            "weights": unsigned(address_bits(config)),
            "weight_words": range(32 * config.words + 1),
            "indices": unsigned(address_bits(config)),
            "index_words": unsigned(length),
            "many": unsigned(1),
            "rows": unsigned(5),
            "scalars": range(config.vlen // 8),
        }
    )
