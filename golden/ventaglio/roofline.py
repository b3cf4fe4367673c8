"""Upper bounds of products a cycle, from lanes and from the bandwidth of a beat a cycle."""

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, index_bits
from fanweave.golden.ventaglio.config import VentaglioConfig

__all__ = ["bytes_per_nonzero", "roofline"]


def bytes_per_nonzero(
    element_format: ElementFormat, index_mode: IndexMode, *, m: int = 1, density: float = 1.0
) -> float:
    """Bytes that memory gives for one stored weight: the weight and its index.

    Parameters
    ----------
    element_format : ElementFormat
        Format of the weight.
    index_mode : IndexMode
        How its column is named.
    m : int
        Columns of a block in N:M mode.
    density : float
        Stored share of the matrix, 0 to 1, which a bitmask is spread over.

    Returns
    -------
    float
        Bytes; infinite for a bitmask without elements.
    """
    bits = float(index_bits(index_mode, m))
    if index_mode is IndexMode.BITMASK:
        bits = bits / density if density > 0 else float("inf")
    return (element_format.bits + bits) / 8


def roofline(
    config: VentaglioConfig,
    element_format: ElementFormat,
    index_mode: IndexMode,
    *,
    outputs: int = 1,
    m: int = 1,
    density: float = 1.0,
    shared: bool = True,
) -> float:
    """Most products a cycle.

    Parameters
    ----------
    config : VentaglioConfig
        The unit.
    element_format, index_mode, m, density
        As in `bytes_per_nonzero`.
    outputs : int
        Output rows that share each weight row.
    shared : bool
        Whether weights and indices come through one port of a beat a cycle, as from one
        memory; otherwise each has a port of its own and only the wider stream counts.

    Returns
    -------
    float
        Products a cycle, at most the lanes of the format.
    """
    lanes = config.lanes_of(element_format)
    beat_bytes = config.beat_bits / 8
    weight = element_format.bits / 8
    both = bytes_per_nonzero(element_format, index_mode, m=m, density=density)
    needed = both if shared else max(weight, both - weight)
    return min(float(lanes), beat_bytes * outputs / needed)
