"""``fanweave system``: scenarios of whole systems, and the loop from a model to its costs."""

from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
from fanweave.sim.benches.options import json_option
from fanweave.sim.loop.commands import LOOP_OPTIONS, chosen_loop, loop_options, run_and_report
from fanweave.sim.report.files import check_output

if TYPE_CHECKING:
    from fanweave.golden.fabric.scenario import Scenario

__all__ = ["system"]

_EXAMPLE = """Examples:

\b
  fanweave system run smollm2-sparse --start-costs wrong
  fanweave system run --model llama-2-7b --platform sparse-pair --density 0.5 0.5 --measure model
  fanweave system run balanced --layers 2 --window 100000
"""


@click.group()
def system() -> None:
    """Run whole systems: scenarios, or the loop of a model on a platform.

    \b
    Example:
      fanweave system run smollm2-sparse
    """


@system.command(epilog=_EXAMPLE)
@click.argument("name", required=False, metavar="[SCENARIO|LOOP]")
@loop_options
@click.option(
    "--layers", type=click.IntRange(min=1), help="Layers of a scenario's model; all if not given."
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="NAME",
    help="Run this setting of a scenario, can be given again; all if not given.",
)
@click.option(
    "--window",
    type=click.IntRange(min=0),
    metavar="N",
    help="Hold a scenario's first N messages against islands in RTL, in each setting that is run.",
)
@json_option()
def run(
    name: str | None,
    layers: int | None,
    settings: tuple[str, ...],
    window: int | None,
    json_file: str | None,
    start_costs: str | None,
    **given: Any,
) -> None:
    """Run a scenario, or close the loop for a model on a platform.

    Either is the name of a shipped one or a TOML file, which says what it is; --model and
    --platform are a loop too.

    A scenario is a prefill: without policies, with each static setting, and with compiled policies,
    in the timed golden model. With --window its first messages run on Verilated islands as well;
    then each latency, verdict and map must be golden's.

    A loop places the model's operators, compiles the movements of the placement into policies,
    measures products on Ventaglio and requests in the switch with its policies in RTL, and places
    again with these costs, until nothing changes. It says what changed in each round, and why.
    """
    from fanweave.golden.fabric.scenario import load_scenario, scenario_names
    from fanweave.golden.loop.description import is_loop, loop_names

    check_output(json_file)
    if name is None or is_loop(name):
        only = {"--layers": layers, "--setting": settings or None, "--window": window}
        _refuse(only, "a scenario")
        loop = chosen_loop(name, given)
        run_and_report(loop, start=start_costs or "platform", json_file=json_file)
        return
    if not name.endswith(".toml") and name not in scenario_names():
        known = ", ".join([*scenario_names(), *loop_names()])
        raise InputError(
            f"{name!r} is neither a scenario nor a loop; use a .toml file or one of {known}"
        )
    options = {**given, "start_costs": start_costs}
    _refuse({f"--{key.replace('_', '-')}": options[key] for key in LOOP_OPTIONS}, "a loop")
    loaded = load_scenario(name)
    if layers is not None:
        loaded = loaded.with_layers(layers)
    _run_scenario(loaded, settings, window or 0, json_file)


def _refuse(options: dict[str, Any], of: str) -> None:
    """Options that would mean nothing."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} is an option of {of}; leave it out here")


def _run_scenario(
    loaded: "Scenario", settings: tuple[str, ...], window: int, json_file: str | None
) -> None:
    from fanweave.golden.cxl.island_config import IslandConfig
    from fanweave.sim.benches.system.bench import chosen_settings, results_of
    from fanweave.sim.benches.system.report import (
        moves_text,
        print_moves,
        print_system,
        system_rows,
    )
    from fanweave.sim.report.bench_rows import write_bench
    from fanweave.sw.system.setups import prepare

    results = results_of(loaded, settings)
    print_system(loaded.name, results)
    for result in results:
        for island, actions in result.actions.items():
            if actions:
                told = ", ".join(f"{count:,} {action}" for action, count in actions.items())
                click.echo(f"{island}: its engine said {told}")
        if text := moves_text(result):
            click.echo(text)
            print_moves(result)
    if json_file is not None:
        write_bench(json_file, "system", seed=0, rows=system_rows(loaded.name, results))
    if window:
        from fanweave.sim.benches.system.window import check_window

        for setting in chosen_settings(loaded, settings):
            seen = check_window(prepare(loaded, setting), IslandConfig(), window=window)
            click.echo(
                f"{seen.setting}: {seen.messages:,} messages in RTL, {seen.verdicts:,} verdicts "
                f"and {seen.maps} maps as golden has them, each to the cycle"
            )
