"""``fanweave system``: whole prefills over GPUs, a DPU and two switch islands."""

import click

from fanweave.sim.benches.options import json_option
from fanweave.sim.report.files import check_output

__all__ = ["system"]


@click.group()
def system() -> None:
    """Run scenarios of whole systems.

    \b
    Example:
      fanweave system run balanced --layers 2
    """


@system.command(epilog="Example: fanweave system run balanced --layers 2 --window 100000")
@click.argument("scenario", metavar="SCENARIO")
@click.option(
    "--layers", type=click.IntRange(min=1), help="Layers of the model; all if it is not given."
)
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Hold the first N messages against islands in RTL, without policies and with.",
)
@json_option()
def run(scenario: str, layers: int | None, window: int, json_file: str | None) -> None:
    """Run a prefill without policies, with each static setting, and with compiled policies.

    SCENARIO is a shipped scenario or a TOML file. The whole prefill runs in the timed golden model.
    With --window its first messages run on Verilated islands as well; then each latency, verdict
    and map must be golden's.
    """
    from fanweave.golden.cxl.island_config import IslandConfig
    from fanweave.golden.fabric.scenario import load_scenario
    from fanweave.sim.benches.system.bench import results_of
    from fanweave.sim.benches.system.report import print_system, system_rows
    from fanweave.sim.report.bench_rows import write_bench
    from fanweave.sw.system.setups import prepare

    check_output(json_file)
    loaded = load_scenario(scenario)
    if layers is not None:
        loaded = loaded.with_layers(layers)
    results = results_of(loaded)
    print_system(loaded.name, results)
    for result in results:
        for island, actions in result.actions.items():
            if actions:
                told = ", ".join(f"{count:,} {action}" for action, count in actions.items())
                click.echo(f"{island}: its engine said {told}")
    if json_file is not None:
        write_bench(json_file, "system", seed=0, rows=system_rows(loaded.name, results))
    if window:
        from fanweave.sim.benches.system.window import check_window

        for setting in (loaded.settings[0], None):
            seen = check_window(prepare(loaded, setting), IslandConfig(), window=window)
            click.echo(
                f"{seen.setting}: {seen.messages:,} messages in RTL, {seen.verdicts:,} verdicts "
                f"and {seen.maps} maps as golden has them, each to the cycle"
            )
