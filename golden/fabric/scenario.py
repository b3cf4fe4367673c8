"""Scenarios of whole systems: a prefill, its memories and hosts, and the settings to compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from fanweave.golden.cxl.timed.config import DeviceTiming
from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.tables import (
    check_keys,
    find_toml,
    names,
    number,
    read_toml,
    shipped_names,
    text,
    whole,
)
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.goals import SETTINGS
from fanweave.golden.fabric.graph import Goal, GoalKind
from fanweave.golden.fabric.prefill import LEAST_BYTES, MEMORIES, Prefill, object_names
from fanweave.golden.fabric.tasks import HOSTS
from fanweave.golden.isa.cxl_switch import PAGE_BYTES

__all__ = ["Policies", "Scenario", "Setting", "load_scenario", "scenario_names"]

#: Most that a register of 16 bits holds, and most cycles and operations a cycle.
_FIELD, _CYCLES, _FLOPS = (1 << 16) - 1, 1 << 20, 1 << 60
_SHIPPED = resources.files(__package__).joinpath("scenarios")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A way to run a scenario without programs.

    Attributes
    ----------
    name : str
    outstanding : mapping of str to int
        Host -> requests that it may have open.
    homes : mapping of str to str
        Object -> memory.
    share_b : float or None
        Share of the feed-forward weights that are `ffn_weights_b`, if it is another one.
    """

    name: str
    outstanding: Mapping[str, int] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    share_b: float | None = None


@dataclass(frozen=True, kw_only=True)
class Policies:
    """What compiled policies are told beside the goals.

    Attributes
    ----------
    goals : tuple of Goal
    page_bytes : int
        Bytes that one verdict is kept for; a power of two of at least 4096.
    token_rate, token_limit : int
        Tokens a cycle that a host earns, in 256ths, and most that it keeps.
    answers_skip : int
        Answers that are passed over after each event of one.
    homes, copies : mapping of str to str
        Object -> memory, where it is another one than without policies; and where a copy lies.
    outstanding : mapping of str to int
        Host -> requests that it may have open.
    """

    goals: tuple[Goal, ...]
    page_bytes: int = 1 << 16
    token_rate: int = 4096
    token_limit: int = 256
    answers_skip: int = 0
    homes: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    outstanding: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario.

    Attributes
    ----------
    name, text : str
    prefill : Prefill
    outstanding : mapping of str to int
        Host -> requests that it has open at most.
    memories : mapping of str to DeviceTiming
    link : int
        Cycles between the islands, in each direction.
    settings : tuple of Setting
        Static ones; the first changes nothing.
    policies : Policies
    """

    name: str
    text: str
    prefill: Prefill
    outstanding: Mapping[str, int]
    memories: Mapping[str, DeviceTiming]
    link: int
    settings: tuple[Setting, ...]
    policies: Policies

    def with_layers(self, layers: int) -> "Scenario":
        """The same with fewer layers."""
        return replace(self, prefill=replace(self.prefill, layers=layers))


def scenario_names() -> list[str]:
    """Names of the scenarios that come with the package."""
    return shipped_names(_SHIPPED)


def load_scenario(name: str) -> Scenario:
    """Find a scenario by its name, or read a TOML file.

    Raises
    ------
    InputError
        If there is none, or it is not of the expected form; the message names the place.
    """
    path = find_toml("scenario", name, _SHIPPED)
    return _scenario(path.name, read_toml(path))


def _scenario(where: str, table: Mapping[str, Any]) -> Scenario:
    check_keys(
        where, table, required=("name", "prefill", "homes", "hosts", "memories", "policies"),
        optional=("text", "link", "static"),
    )  # fmt: skip
    prefill = _prefill(where, table["prefill"], table["homes"])
    check_keys(f"{where}: memories", table["memories"], required=tuple(MEMORIES), optional=())
    memories = {name: _timing(f"{where}: {name}", table["memories"][name]) for name in MEMORIES}
    check_keys(f"{where}: hosts", table["hosts"], required=HOSTS, optional=())
    rows = _rows(where, "static", table.get("static", []))
    statics = tuple(_setting(where, row, prefill) for row in rows)
    return Scenario(
        name=text(where, "name", table["name"]),
        text=text(where, "text", table["text"]) if "text" in table else "",
        prefill=prefill,
        outstanding=_outstanding(f"{where}: hosts", table["hosts"]),
        memories=memories,
        link=whole(where, "link", table.get("link", 20), least=1, most=_CYCLES),
        settings=(Setting(name="off"), *statics),
        policies=_policies(where, table["policies"], prefill),
    )


def _prefill(where: str, row: Mapping[str, Any], homes: Mapping[str, str]) -> Prefill:
    where, homes_at = f"{where}: prefill", f"{where}: homes"
    check_keys(
        where, row, required=("model", "tokens", "chunks", "tenants", "flops"),
        optional=("layers", "reuse", "scale", "share_b"),
    )  # fmt: skip
    card = load_model(text(where, "model", row["model"]))
    check_keys(f"{where}: flops", row["flops"], required=("gpu0", "gpu1"), optional=())
    tenants = names(where, "tenants", row["tenants"])
    if not tenants:
        raise InputError(f"{where}: tenants = [] must name one at least")
    flops = {
        name: whole(where, name, value, least=1, most=_FLOPS)
        for name, value in row["flops"].items()
    }
    return Prefill(
        card=card,
        layers=whole(where, "layers", row.get("layers", card.layers), least=1),
        tokens=whole(where, "tokens", row["tokens"], least=1),
        chunks=whole(where, "chunks", row["chunks"], least=1),
        tenants=tenants,
        reuse=whole(where, "reuse", row.get("reuse", 1), least=1, most=_FIELD),
        scale=whole(where, "scale", row.get("scale", 1), least=1),
        share_b=_share(where, row.get("share_b", 0.25)),
        flops=flops,
        homes=_homes(homes_at, homes, tenants),
    )


def _homes(where: str, table: Mapping[str, Any], tenants: Sequence[str]) -> dict[str, str]:
    """A memory of each object."""
    check_keys(where, table, required=object_names(tenants), optional=())
    return {item: text(where, item, memory) for item, memory in table.items()}


def _timing(where: str, row: Mapping[str, Any]) -> DeviceTiming:
    check_keys(where, row, required=("latency", "read", "write"), optional=("turn", "loads"))
    values: dict[str, Any] = dict(row)
    loads = values.get("loads")
    if isinstance(loads, list):
        values["loads"] = tuple(whole(where, "loads", load, most=_CYCLES) for load in loads)
    for name, value in row.items():
        if isinstance(value, int) and value > _CYCLES:
            raise InputError(f"{where}: {name} = {value} must be at most {_CYCLES}")
    return DeviceTiming(**values)


def _outstanding(where: str, row: Mapping[str, Any]) -> dict[str, int]:
    check_keys(where, row, required=(), optional=HOSTS)
    return {name: whole(where, name, value, least=1, most=_FIELD) for name, value in row.items()}


def _setting(where: str, row: Mapping[str, Any], prefill: Prefill) -> Setting:
    check_keys(
        f"{where}: static", row, required=("name",), optional=("outstanding", "homes", "share_b")
    )
    name = text(f"{where}: static", "name", row["name"])
    where = f"{where}: static {name}"
    share_b = row.get("share_b")
    return Setting(
        name=name,
        outstanding=_outstanding(f"{where}: outstanding", row.get("outstanding", {})),
        homes=_places(where, "homes", row, prefill),
        share_b=None if share_b is None else _share(where, share_b),
    )


def _share(where: str, value: Any) -> float:
    share = number(where, "share_b", value)
    if not 0 <= share <= 1:
        raise InputError(f"{where}: share_b = {share} must be from 0 to 1")
    return share


def _places(where: str, key: str, row: Mapping[str, Any], prefill: Prefill) -> dict[str, str]:
    """Objects, and a memory of each."""
    where, found = f"{where}: {key}", row.get(key, {})
    check_keys(where, found, required=(), optional=prefill.objects)
    return {
        item: text(where, item, memory, one_of=tuple(MEMORIES)) for item, memory in found.items()
    }


def _rows(where: str, key: str, value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise InputError(f"{where}: {key} = {value!r} must be tables, [[{key}]]")
    return value


def _policies(where: str, row: Mapping[str, Any], prefill: Prefill) -> Policies:
    where = f"{where}: policies"
    numbers = ("token_rate", "token_limit", "answers_skip")
    others = ("page_bytes", "homes", "copies", "outstanding")
    check_keys(where, row, required=("goals",), optional=(*numbers, *others))
    return Policies(
        homes=_places(where, "homes", row, prefill),
        copies=_places(where, "copies", row, prefill),
        outstanding=_outstanding(f"{where}: outstanding", row.get("outstanding", {})),
        goals=tuple(_goal(where, goal) for goal in _rows(where, "goals", row["goals"])),
        page_bytes=_page_bytes(where, row.get("page_bytes", Policies.page_bytes)),
        **{name: whole(where, name, row[name], most=_FIELD) for name in numbers if name in row},
    )


def _page_bytes(where: str, value: Any) -> int:
    """Larger pages would have two objects, and one verdict for both."""
    size = whole(where, "page_bytes", value)
    if not PAGE_BYTES <= size <= LEAST_BYTES or size & size - 1:
        raise InputError(
            f"{where}: page_bytes = {size} must be a power of two from {PAGE_BYTES} to "
            f"{LEAST_BYTES}"
        )
    return size


def _goal(where: str, row: Mapping[str, Any]) -> Goal:
    kind = GoalKind(text(where, "kind", row.get("kind"), one_of=tuple(GoalKind)))
    known = SETTINGS[kind]
    check_keys(f"{where}: {kind}", row, required=("kind",), optional=("objects", "near", *known))
    return Goal(
        kind=kind,
        objects=names(where, "objects", row.get("objects", [])),
        near=text(where, "near", row["near"]) if "near" in row else "",
        settings={name: known[name].read(where, name, row[name]) for name in known if name in row},
    )
