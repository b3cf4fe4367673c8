"""The recorded configurations of the published model, as data."""

import functools
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from fanweave.golden.dops.costs.device import DeviceCosts
from fanweave.golden.dops.costs.npu_table import TableNpu
from fanweave.golden.dops.costs.physical import Physical
from fanweave.golden.dops.costs.pim_line import LinePim
from fanweave.golden.dops.costs.pim_trace import TracePim
from fanweave.golden.dops.costs.roofline import Host, Roofline
from fanweave.golden.dops.platforms import Device, Platform
from fanweave.golden.dops.schedulers.bifocal import BifocalParameters
from fanweave.golden.dops.tables import check_keys, nearest
from fanweave.golden.errors import InputError

__all__ = ["DEFAULT_RECORD", "Record", "load_record", "record_names"]

DEFAULT_RECORD = "log"
_NPUS = ("roofline", "table")
_PIMS = ("line", "trace")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One configuration.

    Attributes
    ----------
    name, about : str
    npu, pim : str
        Cost models of the devices.
    npu_activations : bool
        Whether weighted operators of the NPU pay for their activations.
    link_gib : float or None
        Bandwidth of all links, GiB/s; None leaves them to the platform.
    load_compute, load_place : float
        Overlaps; see `CostTables`.
    refresh : int
        Every how many tokens decode is planned anew.
    bifocal : BifocalParameters
    """

    name: str
    about: str
    npu: str
    npu_activations: bool
    pim: str
    load_compute: float
    load_place: float
    refresh: int
    bifocal: BifocalParameters
    link_gib: float | None = None

    def platform(self, platform: Platform) -> Platform:
        """The platform with the record's links."""
        return platform if self.link_gib is None else platform.with_link(self.link_gib)

    def cost_models(self, platform: Platform, bits: int) -> list[DeviceCosts]:
        """One cost model a device; devices that differ in their name alone share one."""
        makers: dict[str, Callable[[Device], DeviceCosts]] = {
            "cpu": lambda device: Host(device, bits),
            "npu": lambda device: (
                TableNpu(device, bits)
                if self.npu == "table"
                else Roofline(device, bits, activations=self.npu_activations)
            ),
            "pim": lambda device: (
                TracePim(device, bits) if self.pim == "trace" else LinePim(device, bits)
            ),
            "memory": lambda device: Physical(device, bits),
        }
        made: dict[tuple[Any, ...], DeviceCosts] = {}
        models = []
        for device in platform.devices:
            key = (
                device.type,
                device.peak_tflops,
                device.bandwidth_gib,
                device.utilisation,
                device.line_bytes,
                device.read_ns,
                device.write_ns,
            )
            if key not in made:
                made[key] = makers[device.type](device)
            models.append(made[key])
        return models


@functools.cache
def _records() -> dict[str, Record]:
    raw = tomllib.loads(resources.files(__package__).joinpath("records.toml").read_text())
    records = {}
    for name, table in raw.items():
        check_keys(
            f"record {name}",
            table,
            required=(
                "about",
                "npu",
                "npu_activations",
                "pim",
                "load_compute",
                "load_place",
                "refresh",
                "bifocal",
            ),
            optional=("link_gib",),
        )
        rest = {key: value for key, value in table.items() if key != "bifocal"}
        records[name] = Record(name=name, bifocal=BifocalParameters(**table["bifocal"]), **rest)
    return records


def record_names() -> list[str]:
    """Names of the records, the default first."""
    return list(_records())


def load_record(name: str) -> Record:
    """Look a record up.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name not in _records():
        raise InputError(
            f"record {name!r} is not known{nearest(name, _records())}; "
            f"use one of {', '.join(_records())}"
        )
    return _records()[name]
