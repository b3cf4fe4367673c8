"""Shows what the blocks of a design take of an ECP5."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from fanweave.sim.report.table import Column, format_number, print_table
from fanweave.sim.synthesis.ecp5 import Area, total_area

__all__ = ["fold_areas", "print_areas"]

#: Blocks below this level are counted with the one that holds them.
_LEVELS = 3
_HEADINGS = ("LUTs", "FFs", "memory FFs", "16x4 RAMs", "18k RAMs", "mult.")


def fold_areas(areas: Sequence[Area], *, levels: int) -> list[Area]:
    """Count deep blocks with those that hold them.

    Parameters
    ----------
    areas : sequence of Area
        All of a design.
    levels : int
        How deep the blocks of the result may lie; 0 leaves the top alone.

    Returns
    -------
    list of Area
        By name; their sum is still the design.
    """
    folded: dict[str, list[Area]] = {}
    for area in areas:
        path = area.block.split(".") if area.block else []
        folded.setdefault(".".join(path[:levels]), []).append(area)
    return [replace(total_area(inside), block=block) for block, inside in sorted(folded.items())]


def print_areas(areas: Sequence[Area], module: str, *, stream: TextIO | None = None) -> None:
    """Print a row a block, without what has a row of its own, and their sum.

    Parameters
    ----------
    areas : sequence of Area
        All of a design.
    module : str
        Name of its top.
    stream : file or None
        Standard output if not given.
    """
    rows = [(area.block or "(top)", area) for area in fold_areas(areas, levels=_LEVELS)]
    rows.append(("sum", total_area(areas)))
    print_table(
        [Column(heading="block", numeric=False), *(Column(heading=each) for each in _HEADINGS)],
        [[name, *map(format_number, _numbers(area))] for name, area in rows if any(_numbers(area))],
        title=f"{module}: yosys synth_ecp5, blocks kept apart; nothing is placed",
        stream=stream,
    )


def _numbers(area: Area) -> tuple[int, ...]:
    return (
        area.luts,
        area.flip_flops,
        area.memory_bits,
        area.small_rams,
        area.block_rams,
        area.multipliers,
    )
