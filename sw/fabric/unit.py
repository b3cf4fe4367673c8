"""What is planned for one device, before it is compiled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.fabric.graph import Place, PlaceKind
from fanweave.sw.policies.named_maps import MapEntries

__all__ = ["BUDGETS", "RUNTIMES", "PlannedProgram", "State", "Unit", "budget_of"]

#: Instructions that an event may take at each kind of device, unless its place says otherwise.
BUDGETS: Mapping[PlaceKind, int] = {
    PlaceKind.ISLAND: 384,
    PlaceKind.DPU: 1024,
    PlaceKind.GPU: 2048,
}
#: What runs the object of each kind of device.
RUNTIMES: Mapping[PlaceKind, str] = {
    PlaceKind.ISLAND: "switch",
    PlaceKind.DPU: "dputime",
    PlaceKind.GPU: "bpftime",
}


def budget_of(place: Place) -> int:
    """Instructions that an event may take at a device."""
    return place.instructions or BUDGETS[place.kind]


@dataclass(frozen=True, kw_only=True)
class PlannedProgram:
    """A program of a device.

    Attributes
    ----------
    name, section : str
    steps : tuple of str
        Templates, in their order.
    movements : tuple of str
        Movements that it serves.
    code : str
        Its function in C.
    """

    name: str
    section: str
    steps: tuple[str, ...]
    movements: tuple[str, ...]
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class State:
    """A map that another device reads.

    Attributes
    ----------
    name : str
        Of the map, at its owner.
    owner : str
        The one device that changes it.
    key, value : str
        Schema: types in C.
    reader : str
    copy : str
        Map, or member of the settings, at the reader.
    first : int
        Key at the reader of the owner's key 0; in settings, the owner's key.
    most : int
        Values that are copied at most; 0 for all.
    rule : str
        ``snapshot``: the owner's values are copied every `period_ns`.
    period_ns : int
    movements : tuple of str
        Those that need it.
    """

    name: str
    owner: str
    key: str
    value: str
    reader: str
    copy: str
    period_ns: int
    movements: tuple[str, ...]
    first: int = 0
    most: int = 0
    rule: str = "snapshot"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What one device is to run.

    Attributes
    ----------
    place : Place
    source : str
        C, with includes of templates.
    programs : tuple of PlannedProgram
    contents : mapping of str to MapEntries
        What maps begin with.
    records : mapping of str to str
        Ring buffers -> structure of their records.
    attach : dict
        How the runtime binds the programs; JSON.
    """

    place: Place
    source: str
    programs: tuple[PlannedProgram, ...]
    contents: Mapping[str, MapEntries]
    attach: Mapping[str, Any]
    records: Mapping[str, str] = field(default_factory=dict)

    @property
    def runtime(self) -> str:
        """What runs it."""
        return RUNTIMES[self.place.kind]
