"""What a loop is about: a model, a platform, a workload, and how things are measured."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from fanweave.golden.cxl.timed.config import DeviceTiming
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.tables import (
    check_keys,
    find_toml,
    number,
    read_toml,
    shipped_names,
    text,
    whole,
)
from fanweave.golden.errors import InputError
from fanweave.golden.origins import Origin

__all__ = ["MEASURES", "TABLE", "Loop", "find_loop", "is_loop", "loop_names"]

_SHIPPED = resources.files(__package__).joinpath("loops")
#: The table of a loop file; scenarios have none of this name.
TABLE = "loop"
#: How numbers are come by: counted in RTL, or computed by the golden models of its cycles, which
#: RTL is held against to the cycle.
MEASURES = ("rtl", "model")
_WORDS = ("name", "model", "platform", "trace", "config", "scheduler", "elements", "measure")
_NUMBERS = {"prefill": 1, "decode": 0, "batch": 1, "rounds": 1, "messages": 64, "outstanding": 1}


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop.

    Attributes
    ----------
    name : str
    model, platform : str
        As `fanweave place` takes them.
    trace : str
        Sparse layer trace whose products are measured; empty for random ones of the same shape.
    config : str
        Configuration of a Ventaglio unit.
    scheduler, elements : str
    batch, prefill, decode : int
    density : tuple of float
        Shares of the pruned weights, and of their inputs, that are not zero; those of the trace if
        there is one.
    rounds : int
        At most.
    measure : str
        One of `MEASURES`.
    messages, outstanding : int
        Lines that a round sends through the switch, about, and requests that a host has open.
    memory : DeviceTiming
        Of the memories behind the switch, assumed.

    Raises
    ------
    InputError
        If a field has an illegal value; the message names it.
    """

    name: str
    model: str
    platform: str
    trace: str = ""
    config: str = "default"
    scheduler: str = "HEFT"
    elements: str = "fp16"
    batch: int = 1
    prefill: int = 8
    decode: int = 4
    density: tuple[float, float] = (1.0, 1.0)
    rounds: int = 8
    measure: str = "rtl"
    messages: int = 4096
    outstanding: int = 64
    memory: DeviceTiming = field(default_factory=DeviceTiming)

    def __post_init__(self) -> None:
        where = f"loop {self.name}"
        for key in _WORDS:
            if key != "trace" or self.trace != "":
                text(where, key, getattr(self, key), one_of=MEASURES if key == "measure" else ())
        for key, least in _NUMBERS.items():
            whole(where, key, getattr(self, key), least=least)
        for value in self.density:
            if number(where, "density", value, strict=True) > 1:
                raise InputError(f"{where}: density = {value!r} must be at most 1")

    @property
    def origin(self) -> Origin:
        """Of what it measures."""
        return "rtl" if self.measure == "rtl" else "model"

    @property
    def workload(self) -> Workload:
        """Sequences and tokens."""
        return Workload(batch=self.batch, prefill=self.prefill, decode=self.decode)


def loop_names() -> list[str]:
    """Names of the loops that come with the package."""
    return shipped_names(_SHIPPED)


def is_loop(name: str) -> bool:
    """Whether a name, or a TOML file that can be read, is of a loop."""
    if name in loop_names():
        return True
    path = Path(name)
    return path.suffix == ".toml" and path.is_file() and TABLE in read_toml(path)


def find_loop(name: str) -> Loop:
    """Find a loop by its name, or read a TOML file.

    Raises
    ------
    InputError
        If there is none, or it is not of the expected form; the message names the place.
    """
    path = find_toml("loop", name, _SHIPPED)
    table = read_toml(path)
    check_keys(path.name, table, required=(TABLE,), optional=())
    return _loop(f"{path.name}: {TABLE}", path.stem, table[TABLE])


def _loop(where: str, name: str, table: Mapping[str, Any]) -> Loop:
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table, [{TABLE}]")
    own = [each for each in fields(Loop) if each.name != "name"]
    required = [each.name for each in own if each.default is each.default_factory is MISSING]
    check_keys(where, table, required=required, optional=[each.name for each in own])
    values = {"name": name, **table}
    if "density" in values:
        pair = values["density"]
        if not isinstance(pair, list) or len(pair) != 2:
            raise InputError(f"{where}: density = {pair!r} must be two shares")
        values["density"] = tuple(pair)
    if "memory" in values:
        values["memory"] = _memory(f"{where}: memory", values["memory"])
    return Loop(**values)


def _memory(where: str, table: Any) -> DeviceTiming:
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    check_keys(where, table, required=(), optional=[each.name for each in fields(DeviceTiming)])
    values: dict[str, Any] = {**table}
    if "loads" in values:
        values["loads"] = tuple(values["loads"])
    return DeviceTiming(**values)
