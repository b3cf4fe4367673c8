"""Costs that the loop measures, each with its origin, and what they do to a platform.

A cost is known by ``FAMILY/...``:

========================================  =======================================================
``lanes_busy/DEVICE/KIND/PHASE``           share of a Ventaglio cluster's lanes that are busy
``switch_latency/SOURCE/TARGET``           what the switch adds to a request, ns
``link_bandwidth/SOURCE/TARGET``           what a link carries, GiB/s
========================================  =======================================================
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fanweave.golden.dops.graph import Kind
from fanweave.golden.dops.platforms import Device, Link, Platform
from fanweave.golden.errors import InputError
from fanweave.golden.origins import ORIGINS, Origin

__all__ = [
    "FAMILIES",
    "PHASES",
    "PRODUCTS",
    "Cost",
    "Costs",
    "bandwidth_of",
    "cost_documents",
    "costs_from",
    "family_of",
    "priced",
    "start_costs",
]

#: Family of costs -> its unit.
FAMILIES = {"lanes_busy": "1", "switch_latency": "ns", "link_bandwidth": "GiB/s"}
PHASES = ("prefill", "decode")
#: Operators that are products with a weight matrix; the pruned ones first.
PRODUCTS = (Kind.Q, Kind.K, Kind.V, Kind.O, Kind.W1, Kind.W3, Kind.W2, Kind.HEAD)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A number that placements are made with.

    Attributes
    ----------
    value : float
    unit : str
    origin : str
        One of `fanweave.golden.origins.ORIGINS`.
    source : str
        What it was taken from, in words.
    """

    value: float
    unit: str
    origin: Origin
    source: str


Costs = Mapping[str, Cost]


def family_of(name: str) -> str:
    """The family of a cost's name."""
    return name.partition("/")[0]


def start_costs(platform: Platform, *, density: float) -> dict[str, Cost]:
    """What a platform says before anything is measured.

    Parameters
    ----------
    platform : Platform
    density : float
        Share of the pruned weights that are not zero.
    """
    found: dict[str, Cost] = {}
    for device in platform.devices:
        if device.skips_zeros:
            for kind in PRODUCTS:
                cost = Cost(
                    value=_by_density(device, 1.0 if kind is Kind.HEAD else density),
                    unit=FAMILIES["lanes_busy"],
                    origin="assumed",
                    source="as of other shapes",
                )
                for phase in PHASES:
                    found[f"lanes_busy/{device.name}/{kind}/{phase}"] = cost
    for (source, target), link in _links(platform).items():
        found[f"switch_latency/{source}/{target}"] = _switch(platform)
        found[f"link_bandwidth/{source}/{target}"] = bandwidth_of(platform, link)
    return found


def bandwidth_of(platform: Platform, link: Link) -> Cost:
    """What a platform says that a link carries."""
    return Cost(
        value=link.bandwidth_gib,
        unit=FAMILIES["link_bandwidth"],
        origin="assumed",
        source=f"platform {platform.name}",
    )


def _switch(platform: Platform) -> Cost:
    """What a platform says that its switch adds."""
    if platform.switch is None:
        return Cost(value=0.0, unit="ns", origin="assumed", source="a switch that takes no time")
    return Cost(
        value=platform.switch.latency_ns,
        unit="ns",
        origin=platform.switch.origin,
        source=f"platform {platform.name}, idle switch",
    )


def _by_density(device: Device, density: float) -> float:
    densities, shares = zip(*device.busy, strict=True)
    return float(np.interp(density, densities, shares))


def _links(platform: Platform) -> dict[tuple[str, str], Link]:
    """Links between different devices, by their names."""
    found = {}
    for i, source in enumerate(platform.devices):
        for j, target in enumerate(platform.devices):
            link = platform.link(i, j) if i != j else None
            if link is not None:
                found[source.name, target.name] = link
    return found


def priced(platform: Platform, costs: Costs) -> Platform:
    """The platform with these costs; where there is none, its own numbers hold."""
    busy: dict[str, list[tuple[str, str, float]]] = {}
    for name, cost in costs.items():
        family, *parts = name.split("/")
        if family == "lanes_busy":
            device, kind, phase = parts
            busy.setdefault(device, []).append((kind, phase, cost.value))
    links = {}
    known = _switch(platform).value  # a part of the links' latencies already
    for (source, target), link in _links(platform).items():
        more = costs.get(f"switch_latency/{source}/{target}")
        rate = costs.get(f"link_bandwidth/{source}/{target}")
        links[source, target] = replace(
            link,
            latency_ns=link.latency_ns + (more.value - known if more else 0.0),
            bandwidth_gib=rate.value if rate else link.bandwidth_gib,
        )
    devices = tuple(
        replace(device, busy_of=tuple(busy.get(device.name, ()))) for device in platform.devices
    )
    return replace(platform, devices=devices, links=links)


def cost_documents(costs: Costs) -> list[dict[str, Any]]:
    """Costs as rows of JSON, by name."""
    return [{"name": name, **asdict(cost)} for name, cost in sorted(costs.items())]


def costs_from(where: str, rows: Iterable[Any], known: Costs) -> dict[str, Cost]:
    """Costs that an earlier run wrote, in place of those that are known.

    Raises
    ------
    InputError
        If a row is not of this form, or names a cost that the platform does not have.
    """
    found = dict(known)
    for row in rows:
        try:
            cost = Cost(**{key: row[key] for key in ("value", "unit", "origin", "source")})
            name = row["name"]
        except (KeyError, TypeError):
            raise InputError(
                f"{where}: costs: {row!r} must have name, value, unit, origin and source"
            ) from None
        check_cost(where, name, cost, known)
        found[name] = cost
    return found


def check_cost(where: str, name: str, cost: Cost, known: Costs) -> None:
    """Refuse a cost that cannot be.

    Raises
    ------
    InputError
        The message names the cost and what was expected.
    """
    if name not in known:
        raise InputError(f"{where}: cost {name!r} is none of this platform's")
    value, family = cost.value, family_of(name)
    good = not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    if not good or value < 0 or (value == 0 and family != "switch_latency"):
        raise InputError(f"{where}: cost {name!r} = {value!r} must be a finite number above 0")
    if family == "lanes_busy" and value > 1:
        raise InputError(f"{where}: cost {name!r} = {value!r} must be a share, at most 1")
    if cost.unit != FAMILIES[family] or cost.origin not in ORIGINS:
        raise InputError(
            f"{where}: cost {name!r}: unit {cost.unit!r} must be {FAMILIES[family]!r} and origin "
            f"{cost.origin!r} one of {', '.join(ORIGINS)}"
        )
