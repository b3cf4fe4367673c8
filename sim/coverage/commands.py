"""``fanweave coverage``: what random tests have met, and what they have not."""

from collections import Counter
from typing import Any

import click

from fanweave.golden.entries import find_entry
from fanweave.sim.coverage.cross import Cross, holes_of
from fanweave.sim.coverage.store import read_hits
from fanweave.sim.report.files import check_output, write_json
from fanweave.sim.report.table import Column, print_table

__all__ = ["UNITS", "coverage"]

#: Unit -> "module:attribute" of its crosses.
UNITS = {
    "ventaglio": "fanweave.sim.coverage.ventaglio:CROSSES",
    "ebpf": "fanweave.sim.coverage.ebpf:CROSSES",
    "switch": "fanweave.sim.coverage.switch:CROSSES",
}
_SHOWN = 12


@click.command(epilog="Example: fanweave soak ventaglio --rounds 5; fanweave coverage ventaglio")
@click.argument("units", nargs=-1, metavar="[UNIT]...")
@click.option("--holes", is_flag=True, help=f"Name all holes, not only {_SHOWN} of a cross.")
@click.option("--json", "json_file", metavar="FILE", help="Write hits and holes here.")
def coverage(units: tuple[str, ...], holes: bool, json_file: str | None) -> None:
    """Show which combinations the soaks have met in each UNIT, or in all, and name the holes.

    Every round of ``fanweave soak`` that passes adds what it has met, in all runs since the build
    folder was cleaned. A star stands for all values of an axis.
    """
    found = {unit: find_entry("unit", unit, UNITS) for unit in units or UNITS}
    check_output(json_file)
    results = [
        _result(unit, cross, read_hits(unit).get(cross.name, Counter()))
        for unit, crosses in found.items()
        for cross in crosses
    ]
    print_table(
        [
            Column(heading="unit", numeric=False),
            Column(heading="cross", numeric=False),
            Column(heading="axes", numeric=False),
            *(Column(heading=heading) for heading in ("cells", "met", "share")),
        ],
        [
            [
                result["unit"],
                result["cross"],
                " x ".join(result["axes"]),
                f"{result['cells']}",
                f"{result['met']}",
                f"{result['met'] / result['cells']:.1%}",
            ]
            for result in results
        ],
    )
    for result in results:
        _name_holes(result, None if holes else _SHOWN)
    if json_file is not None:
        write_json(json_file, results)


def _result(unit: str, cross: Cross, hits: Counter[tuple[str, ...]]) -> dict[str, Any]:
    cells = cross.cells()
    return {
        "unit": unit,
        "cross": cross.name,
        "axes": list(cross.axes),
        "cells": len(cells),
        "met": sum(hits[cell] > 0 for cell in cells),
        "holes": [{"cell": list(cell), "cells": count} for cell, count in holes_of(cross, hits)],
    }


def _name_holes(result: dict[str, Any], most: int | None) -> None:
    holes = result["holes"]
    if not holes:
        return
    click.echo(f"\nholes of {result['unit']} {result['cross']}:")
    for hole in holes[:most]:
        times = f"  ({hole['cells']} cells)" if hole["cells"] > 1 else ""
        click.echo(f"  {' | '.join(hole['cell'])}{times}")
    if most is not None and len(holes) > most:
        click.echo(f"  and {len(holes) - most} more lines: --holes")
