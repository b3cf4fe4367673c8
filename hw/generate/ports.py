"""The ports of a top: names as in the Verilog, streams they belong to, fields of payloads."""

from typing import Any

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data
from amaranth.lib.wiring import In

from fanweave.hw.generate.units import Top

__all__ = ["port_map"]

#: Signals of AXI4-Stream, behind the stream's name.
_AXI_STREAM = ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")


def port_map(component: Any, top: Top) -> list[dict[str, Any]]:
    """Describe every port of a top, clock and reset first.

    Parameters
    ----------
    component : wiring.Component
        The top.
    top : Top
        What it is.

    Returns
    -------
    list of dict
        ``name``, ``direction``, ``width``, and where they apply ``stream`` and ``role`` (of a
        channel's signal) and ``fields`` (of a struct: name, lowest bit, width).
    """
    ports = [
        _one_bit(top.clock, role="clock"),
        _one_bit(
            top.reset.port, role="reset, active " + ("low" if top.reset.active_low else "high")
        ),
    ]
    taken = {port["name"] for port in ports}
    for path, member, _ in component.signature.flatten(component):
        name = "__".join(str(part) for part in path)
        if name in taken:
            continue
        port: dict[str, Any] = {
            "name": name,
            "direction": "input" if member.flow is In else "output",
            "width": Shape.cast(member.shape).width,
        }
        port |= _channel(path, name)
        fields = _fields(member.shape)
        if fields:
            port["fields"] = fields
        ports.append(port)
    return ports


def _one_bit(name: str, *, role: str) -> dict[str, Any]:
    return {"name": name, "direction": "input", "width": 1, "role": role}


def _channel(path: tuple[Any, ...], name: str) -> dict[str, str]:
    if len(path) == 2:  # an Amaranth stream
        return {"stream": str(path[0]), "role": str(path[1])}
    prefix, _, signal = name.rpartition("_")
    if signal in _AXI_STREAM:
        return {"stream": prefix, "role": signal}
    if name.startswith("s_axil_"):
        return {"stream": "s_axil", "role": signal}
    return {}


def _fields(shape: Any) -> list[dict[str, Any]]:
    if not isinstance(shape, ShapeCastable):
        return []
    layout = data.Layout.cast(shape)
    return [{"name": str(key), "low": field.offset, "width": field.width} for key, field in layout]
