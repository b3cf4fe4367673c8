"""Devices, links and memory of a platform, from TOML."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from fanweave.golden.dops.tables import check_keys, nearest, number, read_toml, text, whole
from fanweave.golden.errors import InputError

__all__ = ["GIB", "Device", "Link", "Platform", "Utilisation", "load_platform", "platform_names"]

GIB = 1 << 30
_TYPES = ("cpu", "npu", "pim")
_TOPOLOGIES = ("fc", "star")
PICOSECONDS = 10**12


@dataclass(frozen=True, kw_only=True)
class Utilisation:
    """Share of the peak that an operator reaches, by its floating-point operations.

    `low` up to `flops_low` operations, `high` from `flops_high` on, a logistic curve in the
    decimal logarithm between, with its middle at `knee_flops`.
    """

    low: float
    high: float
    flops_low: float
    flops_high: float
    knee_flops: float
    slope: float


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device.

    Attributes
    ----------
    name, type : str
        `type` is ``cpu``, ``npu`` or ``pim``.
    peak_tflops : float
        1e12 floating-point operations a second.
    bandwidth_gib : float
        Of its memory, GiB/s.
    capacity_bytes : int
    utilisation : Utilisation or None
        None means that the peak is reached.
    line_bytes, read_ns, write_ns : int, float, float
        Of a PIM: bytes of one access to all its banks, and its time.
    source : str
        Where the numbers come from.
    """

    name: str
    type: str
    peak_tflops: float
    bandwidth_gib: float
    capacity_bytes: int
    source: str
    utilisation: Utilisation | None = None
    line_bytes: int = 0
    read_ns: float = 0.0
    write_ns: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Link:
    """A directed link: each packet of `payload_bytes` carries `header_bytes` more."""

    bandwidth_gib: float
    latency_ns: float = 0.0
    payload_bytes: int = 256
    header_bytes: int = 16

    def time(self, size: int) -> int:
        """Picoseconds that so many bytes take; nothing for none."""
        if size <= 0:
            return 0
        wire = size + -(-size // self.payload_bytes) * self.header_bytes
        return round(wire * self._picoseconds_a_byte) + round(self.latency_ns * 1000)

    @functools.cached_property
    def _picoseconds_a_byte(self) -> Fraction:
        return Fraction(PICOSECONDS) / (Fraction(str(self.bandwidth_gib)) * GIB)


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Devices in their order of preference, the host among them, and the links between."""

    name: str
    topology: str
    devices: tuple[Device, ...]
    host: int
    default_link: Link
    links: Mapping[tuple[str, str], Link]

    def indices(self, kind: str) -> list[int]:
        """Indices of the devices of a type, in order."""
        return [i for i, device in enumerate(self.devices) if device.type == kind]

    def link(self, source: int, target: int) -> Link | None:
        """Link between two devices; None where a star has none."""
        names = (self.devices[source].name, self.devices[target].name)
        if names in self.links:
            return self.links[names]
        if self.topology == "star" and self.host not in (source, target):
            return None
        return self.default_link

    def with_link(self, bandwidth_gib: float) -> "Platform":
        """The same platform with another bandwidth on all links."""
        link = Link(
            bandwidth_gib=bandwidth_gib,
            latency_ns=self.default_link.latency_ns,
            payload_bytes=self.default_link.payload_bytes,
            header_bytes=self.default_link.header_bytes,
        )
        return Platform(
            name=self.name,
            topology=self.topology,
            devices=self.devices,
            host=self.host,
            default_link=link,
            links={},
        )


def _utilisation(where: str, table: Any) -> Utilisation:
    if not isinstance(table, dict):
        raise InputError(f"{where}: utilisation = {table!r} must be a table")
    where = f"{where}: utilisation"
    keys = ("low", "high", "flops_low", "flops_high", "knee_flops", "slope")
    check_keys(where, table, required=keys, optional=())
    values = {key: number(where, key, table[key], strict=True) for key in keys}
    if not values["low"] <= values["high"] <= 1:
        raise InputError(f"{where}: low and high must rise and be at most 1")
    if not values["flops_low"] < values["flops_high"]:
        raise InputError(f"{where}: flops_low must be less than flops_high")
    return Utilisation(**values)


def _devices(where: str, table: Any) -> list[Device]:
    if not isinstance(table, dict):
        raise InputError(f"{where}: devices must be tables, [[devices]]")
    name = text(where, "devices.name", table.get("name"))
    here = f"{where}: device {name}"
    pim_keys = ("line_bytes", "read_ns", "write_ns")
    kind = text(here, "type", table.get("type"), one_of=_TYPES)
    required = ["name", "type", "peak_tflops", "bandwidth_gib", "capacity_gib", "source"]
    if kind == "pim":
        required += pim_keys
    check_keys(here, table, required=required, optional=("count", "utilisation"))
    count = whole(here, "count", table.get("count", 1), least=1)
    utilisation = table.get("utilisation")
    pim: dict[str, Any] = {}
    if kind == "pim":
        pim = {
            "line_bytes": whole(here, "line_bytes", table["line_bytes"], least=1),
            "read_ns": number(here, "read_ns", table["read_ns"], strict=True),
            "write_ns": number(here, "write_ns", table["write_ns"], strict=True),
        }
    return [
        Device(
            name=f"{name}{index}" if "count" in table else name,
            type=kind,
            peak_tflops=number(here, "peak_tflops", table["peak_tflops"], strict=True),
            bandwidth_gib=number(here, "bandwidth_gib", table["bandwidth_gib"], strict=True),
            capacity_bytes=int(
                number(here, "capacity_gib", table["capacity_gib"], strict=True) * GIB
            ),
            source=text(here, "source", table["source"]),
            utilisation=None if utilisation is None else _utilisation(here, utilisation),
            **pim,
        )
        for index in range(count)
    ]


def _link(where: str, table: Any, extra: tuple[str, ...] = ()) -> Link:
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    optional = ("latency_ns", "payload_bytes", "header_bytes")
    check_keys(where, table, required=(*extra, "bandwidth_gib"), optional=optional)
    return Link(
        bandwidth_gib=number(where, "bandwidth_gib", table["bandwidth_gib"], strict=True),
        latency_ns=number(where, "latency_ns", table.get("latency_ns", 0.0)),
        payload_bytes=whole(where, "payload_bytes", table.get("payload_bytes", 256), least=1),
        header_bytes=whole(where, "header_bytes", table.get("header_bytes", 16)),
    )


def platform_from_table(where: str, table: Mapping[str, Any]) -> Platform:
    """Check a platform's table and build it.

    Raises
    ------
    InputError
        The message names the table, the key and what was expected.
    """
    check_keys(where, table, required=("name", "topology", "link", "devices"), optional=("links",))
    topology = text(where, "topology", table["topology"], one_of=_TOPOLOGIES)
    if not isinstance(table["devices"], list) or not table["devices"]:
        raise InputError(f"{where}: devices must be tables, [[devices]]")
    devices = tuple(device for item in table["devices"] for device in _devices(where, item))
    names = [device.name for device in devices]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where}: device {name!r} is there twice; give each its own name")
    hosts = [i for i, device in enumerate(devices) if device.type == "cpu"]
    if not hosts:
        raise InputError(f"{where}: no device has type 'cpu'; one must be the host")
    links: dict[tuple[str, str], Link] = {}
    for item in table.get("links", []):
        link = _link(f"{where}: links", item, ("from", "to"))
        for key in ("from", "to"):
            if item[key] not in names:
                raise InputError(
                    f"{where}: links: {key} = {item[key]!r} is no device"
                    f"{nearest(str(item[key]), names)}"
                )
        links[item["from"], item["to"]] = link
    return Platform(
        name=text(where, "name", table["name"]),
        topology=topology,
        devices=devices,
        host=hosts[0],
        default_link=_link(f"{where}: link", table["link"]),
        links=links,
    )


def platform_names() -> list[str]:
    """Names of the platforms that come with the package."""
    folder = resources.files(__package__).joinpath("platforms")
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name[-5:] == ".toml")


def load_platform(name: str) -> Platform:
    """Find a platform by its name (in any case), or read a TOML file.

    Raises
    ------
    InputError
        If there is none, or it is not of the expected form.
    """
    if name.lower() in platform_names():
        path = Path(str(resources.files(__package__).joinpath("platforms", f"{name.lower()}.toml")))
    elif name.endswith(".toml"):
        path = Path(name)
    else:
        raise InputError(
            f"platform {name!r} is not known{nearest(name.lower(), platform_names())}; "
            f"use a .toml file or one of {', '.join(platform_names())}"
        )
    return platform_from_table(path.name, read_toml(path))
