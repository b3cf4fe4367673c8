"""Devices of a platform, from TOML tables and cards."""

import functools
import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from fanweave.golden.dops.energy_cards import EnergyCard, energy_card, literature
from fanweave.golden.dops.tables import check_keys, nearest, number, text, whole
from fanweave.golden.errors import InputError

__all__ = [
    "GIB",
    "MOST_DEVICES",
    "MOST_NS",
    "Device",
    "Utilisation",
    "card_energy",
    "devices_from_table",
    "rate",
]

GIB = 1 << 30
#: Devices of a platform: sets of them are bits of one integer.
MOST_DEVICES = 60
#: Limits of bandwidths, peaks and clocks, and of latencies, so that all times can be counted.
_LEAST_RATE, _MOST_RATE = 1e-6, 1e9
MOST_NS = 1e12
#: GiB of a device: bytes of an exbibyte.
_MOST_CAPACITY = 1 << 30
#: Kinds of devices, and the part that each plays: schedulers know a host, what computes anything,
#: and what computes where it stores. A memory computes nothing; keys and values can live there.
_ROLES = {
    "cpu": "cpu",
    "npu": "npu",
    "gpu": "npu",
    "ventaglio": "npu",
    "pim": "pim",
    "memory": "memory",
}


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
        `type` is the part that it plays: ``cpu``, ``npu``, ``pim`` or ``memory``.
    peak_tflops : float
        1e12 floating-point operations a second; 0 of a memory.
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
    energy : EnergyCard or None
        None where nothing is known of it.
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
    energy: EnergyCard | None = None

    @property
    def computes(self) -> bool:
        """Whether it is more than a memory."""
        return self.type != "memory"

    @property
    def skips_zeros(self) -> bool:
        """Whether products with a zero cost it nothing, nor weights that are zero."""
        return self.kind == "ventaglio"


def rate(where: str, key: str, table: Mapping[str, Any]) -> float:
    """A bandwidth, peak or clock of a table.

    Raises
    ------
    InputError
        If it is none, or one whose times cannot be counted.
    """
    return number(where, key, table[key], least=_LEAST_RATE, most=_MOST_RATE)


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


def card_energy(name: str) -> EnergyCard:
    """Energy of a device of `cards.toml` that has one."""
    return energy_card(f"card {name}", _cards()[name]["energy"], computes=True)


def devices_from_table(where: str, given: Any) -> list[Device]:
    """Check a table of devices and build them: as many as its ``count`` says.

    Raises
    ------
    InputError
        Names the table, the key and what was expected.
    """
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
        optional=("count", "literature", "energy", *_MAY.get(kind, ("utilisation",))),
    )
    count = whole(here, "count", table.get("count", 1), least=1, most=MOST_DEVICES)
    utilisation, energy = table.get("utilisation"), table.get("energy")
    more = _of_kind(here, kind, table)
    return [
        Device(
            name=f"{name}{index}" if "count" in table else name,
            type=_ROLES[kind],
            kind=kind,
            bandwidth_gib=rate(here, "bandwidth_gib", table),
            capacity_bytes=int(
                number(
                    here, "capacity_gib", table["capacity_gib"], strict=True, most=_MOST_CAPACITY
                )
                * GIB
            ),
            source=text(here, "source", table["source"]),
            utilisation=None if utilisation is None else _utilisation(here, utilisation),
            literature=literature(here, table, tuple(table)),
            energy=None if energy is None else energy_card(here, energy, computes=kind != "memory"),
            **more,
        )
        for index in range(count)
    ]


#: What a device of a kind has of its own.
_OWN = {
    "pim": ("peak_tflops", "line_bytes", "read_ns", "write_ns"),
    "ventaglio": ("units", "lanes", "clock_mhz", "busy"),
    "memory": (),
}
#: What it may have; an efficiency if it is not here.
_MAY: dict[str, tuple[str, ...]] = {"ventaglio": (), "memory": ()}


def _of_kind(where: str, kind: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `Device` that only its kind has."""
    if kind == "ventaglio":
        units, lanes = (whole(where, key, table[key], least=1) for key in ("units", "lanes"))
        clock = rate(where, "clock_mhz", table)
        peak = 2 * units * lanes * clock * 1e-6
        return {"peak_tflops": peak, "units": units, "busy": _busy(where, table["busy"])}
    if kind == "memory":
        return {"peak_tflops": 0.0}
    fields: dict[str, Any] = {"peak_tflops": rate(where, "peak_tflops", table)}
    if kind == "pim":
        fields["line_bytes"] = whole(where, "line_bytes", table["line_bytes"], least=1)
        for key in ("read_ns", "write_ns"):
            fields[key] = number(where, key, table[key], strict=True, most=MOST_NS)
    return fields


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
