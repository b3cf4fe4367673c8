"""The loop's part of ``fanweave system run``."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
from fanweave.sim.report.files import STANDARD

if TYPE_CHECKING:
    from fanweave.golden.loop.description import Loop

__all__ = ["LOOP_OPTIONS", "chosen_loop", "loop_options", "run_and_report"]

#: Options of a loop: name, type or choices, metavar, help.
_OPTIONS: tuple[tuple[str, Any, str | None, str], ...] = (
    ("--model", str, "CARD|FILE", "Close the loop for this model, on --platform."),
    ("--platform", str, "NAME|FILE", "The platform of a loop."),
    ("--trace", str, "NAME|FILE", "Sparse layer trace whose products are measured."),
    ("--scheduler", str, None, "Of placements; HEFT if a loop does not say."),
    ("--elements", str, None, "Format of weights and activations."),
    ("--batch", click.IntRange(min=1), None, "Sequences."),
    ("--prefill", click.IntRange(min=1), None, "Tokens in."),
    ("--decode", click.IntRange(min=0), None, "Tokens out."),
    ("--rounds", click.IntRange(min=1), None, "Rounds at most."),
    ("--measure", click.Choice(["rtl", "model"]), None, "Count in RTL, or in the cycle models."),
    ("--start-costs", str, "NAME|FILE", "platform, wrong, a .toml of factors, or a run's .json."),
)
_DENSITY = "density"
#: Names of these options as parameters.
LOOP_OPTIONS = (*(name[2:].replace("-", "_") for name, *_ in _OPTIONS), _DENSITY)


def loop_options(function: Callable[..., Any]) -> Any:
    """Options of a loop; those that are not given leave it as it is."""
    made: Any = click.option(
        "--density",
        nargs=2,
        type=float,
        metavar="WEIGHTS ACTIVATIONS",
        help="Shares of weights and inputs that are not zero, where no trace says it.",
    )(function)
    for name, kind, metavar, text in reversed(_OPTIONS):
        made = click.option(name, type=kind, metavar=metavar, help=text)(made)
    return made


def chosen_loop(name: str | None, given: Mapping[str, Any]) -> "Loop":
    """The loop that a name or --model and --platform stand for, with what else was given.

    Raises
    ------
    InputError
        If it is not known, or something does not fit.
    """
    from fanweave.golden.loop.description import Loop, find_loop

    changed = {key: value for key, value in given.items() if value is not None}
    if name is not None:
        return replace(find_loop(name), **changed)
    for key in ("model", "platform"):
        if key not in changed:
            raise InputError(
                f"--{key} is missing: a loop needs --model and --platform; or name a scenario or a "
                "loop"
            )
    return Loop(name=f"{changed['model']} on {changed['platform']}", **changed)


def run_and_report(loop: "Loop", *, start: str, json_file: str | None) -> None:
    """Run a loop, print what it did, and keep it for `fanweave report`."""
    import json

    from fanweave.sim.loop.document import loop_document
    from fanweave.sim.loop.report import print_loop
    from fanweave.sim.loop.run import best_round, run_loop
    from fanweave.sim.loop.table import MeasuredTable
    from fanweave.sim.placement.chrome_trace import chrome_trace
    from fanweave.sim.placement.page import place_page
    from fanweave.sim.report.files import write_json, write_text
    from fanweave.sim.runner.toolchain import build_root

    root = Path(build_root())
    folder, places = root / "system", root / "place"
    for made in (folder, places):
        made.mkdir(parents=True, exist_ok=True)
    table = MeasuredTable(root / "measured")
    outcome = run_loop(loop, start=start, table=table, folder=folder / "runs")
    document = loop_document(outcome)
    placed = best_round(outcome).result.placement
    schedule = placed.schedule
    page = place_page(placed.request, schedule, {schedule.scheduler: schedule})
    write_text(places / "loop.html", page)
    write_text(places / "loop.perfetto.json", json.dumps(chrome_trace(schedule, None)))
    write_json(folder / "loop.json", document)
    if json_file is not None:
        write_json(json_file, document)
    # The document alone goes to standard output when it was asked for there.
    print_loop(document, sys.stderr if json_file == STANDARD else sys.stdout)
