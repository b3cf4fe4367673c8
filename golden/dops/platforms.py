"""Devices, links and memory of a platform, from TOML."""

import functools
import itertools
import tomllib
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
#: Kinds of devices, and the part that each plays: schedulers know a host, what computes anything,
#: and what computes where it stores.
_ROLES = {"cpu": "cpu", "npu": "npu", "gpu": "npu", "ventaglio": "npu", "pim": "pim"}
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
        `type` is the part that it plays: ``cpu``, ``npu`` or ``pim``.
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
    kind : str
        What it is: its type, ``gpu`` or ``ventaglio``.
    busy : tuple of (float, float)
        Of a Ventaglio cluster: share of weights that are not zero, rising, and share of its lanes
        that are busy then, as measured in RTL.
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
    kind: str = ""
    busy: tuple[tuple[float, float], ...] = ()
    busy_of: tuple[tuple[str, str, float], ...] = ()
    units: int = 0
    literature: tuple[str, ...] = ()

    @property
    def skips_zeros(self) -> bool:
        """Whether products with a zero cost it nothing, nor weights that are zero."""
        return self.kind == "ventaglio"


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


@functools.cache
def _cards() -> dict[str, dict[str, Any]]:
    return tomllib.loads(resources.files(__package__).joinpath("cards.toml").read_text())


def _with_card(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says, and its card where it says nothing."""
    if "card" not in table:
        return dict(table)
    name, cards = table["card"], _cards()
    if name not in cards:
        raise InputError(
            f"{where}: card {name!r} is not known{nearest(str(name), cards)}; "
            f"use one of {', '.join(sorted(cards))}"
        )
    return {**cards[name], **{key: value for key, value in table.items() if key != "card"}}


def _devices(where: str, given: Any) -> list[Device]:
    if not isinstance(given, dict):
        raise InputError(f"{where}: devices must be tables, [[devices]]")
    name = text(where, "devices.name", given.get("name"))
    here = f"{where}: device {name}"
    table = _with_card(here, given)
    kind = text(here, "type", table.get("type"), one_of=tuple(_ROLES))
    own = _OWN.get(kind, ("peak_tflops",))
    check_keys(
        here,
        table,
        required=["name", "type", "bandwidth_gib", "capacity_gib", "source", *own],
        optional=("count", "literature", *(() if kind == "ventaglio" else ("utilisation",))),
    )
    count = whole(here, "count", table.get("count", 1), least=1)
    utilisation = table.get("utilisation")
    more = _of_kind(here, kind, table)
    return [
        Device(
            name=f"{name}{index}" if "count" in table else name,
            type=_ROLES[kind],
            kind=kind,
            bandwidth_gib=number(here, "bandwidth_gib", table["bandwidth_gib"], strict=True),
            capacity_bytes=int(
                number(here, "capacity_gib", table["capacity_gib"], strict=True) * GIB
            ),
            source=text(here, "source", table["source"]),
            utilisation=None if utilisation is None else _utilisation(here, utilisation),
            literature=_literature(here, table),
            **more,
        )
        for index in range(count)
    ]


#: What a device of a kind has of its own.
_OWN = {
    "pim": ("peak_tflops", "line_bytes", "read_ns", "write_ns"),
    "ventaglio": ("units", "lanes", "clock_mhz", "busy"),
}


def _of_kind(where: str, kind: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `Device` that only its kind has."""
    if kind == "ventaglio":
        units, lanes = (whole(where, key, table[key], least=1) for key in ("units", "lanes"))
        clock = number(where, "clock_mhz", table["clock_mhz"], strict=True)
        peak = 2 * units * lanes * clock * 1e-6
        return {"peak_tflops": peak, "units": units, "busy": _busy(where, table["busy"])}
    fields: dict[str, Any] = {
        "peak_tflops": number(where, "peak_tflops", table["peak_tflops"], strict=True)
    }
    if kind == "pim":
        fields["line_bytes"] = whole(where, "line_bytes", table["line_bytes"], least=1)
        for key in ("read_ns", "write_ns"):
            fields[key] = number(where, key, table[key], strict=True)
    return fields


def _literature(where: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    names = table.get("literature", [])
    if not isinstance(names, list):
        raise InputError(f"{where}: literature = {names!r} must be a list of keys of the device")
    return tuple(text(where, "literature", name, one_of=tuple(table)) for name in names)


def _busy(where: str, rows: Any) -> tuple[tuple[float, float], ...]:
    good = (
        isinstance(rows, list) and rows and all(isinstance(r, list) and len(r) == 2 for r in rows)
    )
    if not good:
        raise InputError(f"{where}: busy = {rows!r} must be pairs of a density and a share")
    pairs = []
    for row in rows:
        density, share = (number(where, "busy", value, strict=True) for value in row)
        if share > 1 or density > 1:
            raise InputError(f"{where}: busy: {row!r} must be shares, at most 1")
        pairs.append((density, share))
    if any(one[0] >= other[0] for one, other in itertools.pairwise(pairs)):
        raise InputError(f"{where}: busy: densities must rise")
    return tuple(pairs)


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
