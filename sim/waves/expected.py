"""Writes what golden expected as a VCD, to be laid beside the dump of the simulation."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vcd import VCDWriter

from fanweave.sim.report.files import write_text

__all__ = ["Observation", "write_expected"]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One value that golden expected, and what the simulation gave.

    Attributes
    ----------
    cycle
        Cycle in which the value was seen.
    name
        Name of the signal or element.
    expected, got
        Bit patterns.
    """

    cycle: int
    name: str
    expected: int
    got: int


def write_expected(
    path: Path | str,
    observations: Iterable[Observation],
    *,
    width: int = 32,
    period: int = 10,
    timescale: str = "1 ns",
) -> None:
    """Write scopes ``expected`` and ``got`` with a signal each name, and a ``differs`` wire.

    Parameters
    ----------
    path
        File to write.
    observations
        In any order.
    width
        Bits of each value.
    period
        Length of a cycle in units of `timescale`, as in the simulation's dump, so that the two
        line up in a viewer.
    timescale
        Unit of time.
    """
    ordered = sorted(observations, key=lambda item: item.cycle)
    names = list(dict.fromkeys(item.name for item in ordered))
    text = io.StringIO()
    with VCDWriter(text, timescale=timescale, date="", version="fanweave") as writer:
        kinds = ("expected", "got")
        values = {
            (kind, name): writer.register_var(kind, name, "wire", size=width, init="x")
            for kind in kinds
            for name in names
        }
        differs = {
            name: writer.register_var("differs", name, "wire", size=1, init=0) for name in names
        }
        for item in ordered:
            time = item.cycle * period
            writer.change(values["expected", item.name], time, item.expected)
            writer.change(values["got", item.name], time, item.got)
            writer.change(differs[item.name], time, int(item.expected != item.got))
        if ordered:
            writer.close((ordered[-1].cycle + 1) * period)
    write_text(path, text.getvalue())
