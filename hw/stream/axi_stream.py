"""AXI4-Stream ports with the standard's own names.

Source: AMBA AXI-Stream Protocol Specification (IHI 0051).
"""

from amaranth.lib.wiring import In, Member, Out

__all__ = ["axi_stream_members"]


def axi_stream_members(
    name: str,
    *,
    transmits: bool,
    data_bits: int,
    last: bool = False,
    keep: bool = False,
    user_bits: int = 0,
) -> dict[str, Member]:
    """Ports of one stream: ``s_axis_NAME_tdata`` and so on (``m_axis_`` if it transmits).

    Parameters
    ----------
    name : str
        Middle of the port names.
    transmits : bool
        Whether the component is the stream's source.
    data_bits : int
        Width of TDATA, a multiple of 8.
    last, keep : bool
        Whether there are TLAST and TKEEP.
    user_bits : int
        Width of TUSER; 0 for none.

    Raises
    ------
    ValueError
        If the data is no whole number of bytes.
    """
    if data_bits <= 0 or data_bits % 8:
        raise ValueError(f"TDATA must be a whole number of bytes wide, not {data_bits!r} bits")
    forward, backward = (Out, In) if transmits else (In, Out)
    members = {"tdata": forward(data_bits)}
    if keep:
        members["tkeep"] = forward(data_bits // 8)
    if last:
        members["tlast"] = forward(1)
    if user_bits:
        members["tuser"] = forward(user_bits)
    members |= {"tvalid": forward(1), "tready": backward(1)}
    prefix = "m_axis" if transmits else "s_axis"
    return {f"{prefix}_{name}_{signal}": member for signal, member in members.items()}
