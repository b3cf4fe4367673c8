"""What operations, bytes and waiting cost in energy, with the origin of each number."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fanweave.golden.dops.tables import check_keys, number, text
from fanweave.golden.errors import InputError
from fanweave.golden.origins import Origin

__all__ = ["EnergyCard", "energy_card", "literature"]

#: Every number that a card may have.
_NUMBERS = ("pj_per_flop", "pj_per_byte", "idle_w")


@dataclass(frozen=True, kw_only=True)
class EnergyCard:
    """Energy of a device or of a link.

    Attributes
    ----------
    pj_per_flop : float
        Of a floating-point operation, picojoules; 0 of a link.
    pj_per_byte : float
        Of a byte that is read, written or sent, packets' headers included.
    idle_w : float
        What it takes all the time, whatever it does; of a link, for the port of each device.
    source : str
        Where the numbers come from.
    literature : tuple of str
        Which of them are published; the others are assumed.
    """

    pj_per_flop: float = 0.0
    pj_per_byte: float
    idle_w: float
    source: str
    literature: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """That of the sum of all: published only if every number that counts is."""
        counting = [name for name in _NUMBERS if getattr(self, name)]
        return "literature" if set(counting) <= set(self.literature) else "assumed"


def literature(where: str, table: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """Keys of a table that are published.

    Raises
    ------
    InputError
        If one is none of those that are known.
    """
    names = table.get("literature", [])
    if not isinstance(names, list):
        raise InputError(f"{where}: literature = {names!r} must be a list of keys of the device")
    return tuple(text(where, "literature", name, one_of=tuple(known)) for name in names)


def energy_card(where: str, table: Any, *, computes: bool) -> EnergyCard:
    """Check an energy table and build its card.

    Parameters
    ----------
    where : str
        What it belongs to, for messages.
    table
        From TOML.
    computes : bool
        Whether operations have an energy: not those of a link or a memory.

    Raises
    ------
    InputError
        Names the key that does not fit.
    """
    if not isinstance(table, dict):
        raise InputError(f"{where}: energy = {table!r} must be a table")
    where = f"{where}: energy"
    numbers = _NUMBERS if computes else _NUMBERS[1:]
    check_keys(where, table, required=(*numbers, "source"), optional=("literature",))
    return EnergyCard(
        **{name: number(where, name, table[name]) for name in numbers},
        source=text(where, "source", table["source"]),
        literature=literature(where, table, numbers),
    )
