"""Devices, links and memory of a platform, from TOML."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from typing import Any

from fanweave.golden.cxl.latency import ANSWER_CYCLES, REQUEST_CYCLES
from fanweave.golden.dops.devices import (
    GIB,
    MOST_DEVICES,
    MOST_NS,
    Device,
    Utilisation,
    devices_from_table,
    rate,
)
from fanweave.golden.dops.energy_cards import EnergyCard, energy_card
from fanweave.golden.dops.tables import (
    check_keys,
    find_toml,
    nearest,
    number,
    read_toml,
    shipped_names,
    text,
    whole,
)
from fanweave.golden.errors import InputError
from fanweave.golden.origins import Origin

__all__ = [
    "GIB",
    "PICOSECONDS",
    "Device",
    "Link",
    "Platform",
    "Switch",
    "Utilisation",
    "load_platform",
    "platform_names",
]

_SHIPPED = resources.files(__package__).joinpath("platforms")
_TOPOLOGIES = ("fc", "star")
#: In a second.
PICOSECONDS = 10**12


@dataclass(frozen=True, kw_only=True)
class Link:
    """A directed link: each packet of `payload_bytes` carries `header_bytes` more.

    `energy` is None where nothing is known of it.
    """

    bandwidth_gib: float
    latency_ns: float = 0.0
    payload_bytes: int = 256
    header_bytes: int = 16
    energy: EnergyCard | None = None

    def time(self, size: int) -> int:
        """Picoseconds that so many bytes take, at least one; nothing for none."""
        if size <= 0:
            return 0
        wire = size + -(-size // self.payload_bytes) * self.header_bytes
        return max(1, round(wire * self._picoseconds_a_byte) + round(self.latency_ns * 1000))

    def sent(self, time: int) -> tuple[float, float]:
        """Bytes that took so many picoseconds, without headers and with them."""
        wire = max(0, time - round(self.latency_ns * 1000)) / float(self._picoseconds_a_byte)
        return wire * self.payload_bytes / (self.payload_bytes + self.header_bytes), wire

    @functools.cached_property
    def _picoseconds_a_byte(self) -> Fraction:
        return Fraction(PICOSECONDS) / (Fraction(str(self.bandwidth_gib)) * GIB)


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A CXL switch that all links go through.

    Its cycles are those that the RTL takes when it is idle (``fanweave bench switch``): a read
    passes it twice, as a request and as an answer. They are a part of the links' latencies.

    Attributes
    ----------
    clock_mhz : float
    source : str
        Where the clock comes from.
    request_cycles, answer_cycles : int
    origin : str
        That of the cycles.
    """

    clock_mhz: float
    source: str
    request_cycles: int = REQUEST_CYCLES
    answer_cycles: int = ANSWER_CYCLES
    origin: Origin = "rtl"

    @property
    def latency_ns(self) -> float:
        """What it adds to a message."""
        return (self.request_cycles + self.answer_cycles) / self.clock_mhz * 1e3


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Devices in their order of preference, the host among them, and the links between."""

    name: str
    topology: str
    devices: tuple[Device, ...]
    host: int
    default_link: Link
    links: Mapping[tuple[str, str], Link]
    switch: Switch | None = None

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
        link = replace(self.default_link, bandwidth_gib=bandwidth_gib)
        return replace(self, default_link=link, links={})


def _link(where: str, table: Any, extra: tuple[str, ...] = ()) -> Link:
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    optional = ("latency_ns", "payload_bytes", "header_bytes", "energy")
    check_keys(where, table, required=(*extra, "bandwidth_gib"), optional=optional)
    energy = table.get("energy")
    return Link(
        energy=None if energy is None else energy_card(where, energy, computes=False),
        bandwidth_gib=rate(where, "bandwidth_gib", table),
        latency_ns=number(where, "latency_ns", table.get("latency_ns", 0.0), most=MOST_NS),
        payload_bytes=whole(where, "payload_bytes", table.get("payload_bytes", 256), least=1),
        header_bytes=whole(where, "header_bytes", table.get("header_bytes", 16)),
    )


def _switch(where: str, table: Any) -> Switch | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise InputError(f"{where}: switch must be a table")
    where = f"{where}: switch"
    check_keys(where, table, required=("clock_mhz", "source"), optional=())
    return Switch(
        clock_mhz=rate(where, "clock_mhz", table),
        source=text(where, "source", table["source"]),
    )


def _behind(switch: Switch | None, link: Link) -> Link:
    """A link with what the switch takes."""
    if switch is None:
        return link
    return replace(link, latency_ns=link.latency_ns + switch.latency_ns)


def _memory_links(
    devices: tuple[Device, ...], default: Link, given: Mapping[tuple[str, str], Link], star: bool
) -> dict[tuple[str, str], Link]:
    """Links to and from memories: none carries more than the memory at its end gives or takes."""
    found = {}
    for one in devices:
        for other in devices:
            rates = [each.bandwidth_gib for each in (one, other) if not each.computes]
            pair = one.name, other.name
            if star and "cpu" not in (one.type, other.type) and pair not in given:
                continue
            link = given.get(pair, default)
            if one is not other and rates and min(rates) < link.bandwidth_gib:
                found[pair] = replace(link, bandwidth_gib=min(rates))
    return found


def platform_from_table(where: str, table: Mapping[str, Any]) -> Platform:
    """Check a platform's table and build it.

    Raises
    ------
    InputError
        The message names the table, the key and what was expected.
    """
    check_keys(
        where, table, required=("name", "topology", "link", "devices"), optional=("links", "switch")
    )
    topology = text(where, "topology", table["topology"], one_of=_TOPOLOGIES)
    if not isinstance(table["devices"], list) or not table["devices"]:
        raise InputError(f"{where}: devices must be tables, [[devices]]")
    devices = tuple(
        device for item in table["devices"] for device in devices_from_table(where, item)
    )
    names = [device.name for device in devices]
    if len(names) > MOST_DEVICES:
        raise InputError(f"{where}: {len(names)} devices are more than {MOST_DEVICES}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where}: device {name!r} is there twice; give each its own name")
    hosts = [i for i, device in enumerate(devices) if device.type == "cpu"]
    if not hosts:
        raise InputError(f"{where}: no device has type 'cpu'; one must be the host")
    links: dict[tuple[str, str], Link] = {}
    switch = _switch(where, table.get("switch"))
    default = _behind(switch, _link(f"{where}: link", table["link"]))
    for item in table.get("links", []):
        link = _link(f"{where}: links", item, ("from", "to"))
        for key in ("from", "to"):
            if item[key] not in names:
                raise InputError(
                    f"{where}: links: {key} = {item[key]!r} is no device"
                    f"{nearest(str(item[key]), names)}"
                )
        links[item["from"], item["to"]] = _behind(switch, link)
    return Platform(
        name=text(where, "name", table["name"]),
        topology=topology,
        devices=devices,
        host=hosts[0],
        default_link=default,
        links=links | _memory_links(devices, default, links, topology == "star"),
        switch=switch,
    )


def platform_names() -> list[str]:
    """Names of the platforms that come with the package."""
    return shipped_names(_SHIPPED)


def load_platform(name: str) -> Platform:
    """Find a platform by its name (in any case), or read a TOML file.

    Raises
    ------
    InputError
        If there is none, or it is not of the expected form.
    """
    shipped = name.lower() in platform_names()
    path = find_toml("platform", name.lower() if shipped else name, _SHIPPED)
    return platform_from_table(path.name, read_toml(path))
