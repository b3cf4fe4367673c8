"""Collects the subcommands and maps exceptions to exit statuses 0, 1 and 2."""

import sys

import click

from fanweave import __version__
from fanweave.golden.entries import load_entry
from fanweave.golden.errors import FaultError, InputError

__all__ = ["cli", "main"]

#: name of the subcommand -> "module:attribute" of its click command; loaded only when used,
#: so that ``fanweave --help`` does not import a hardware description.
COMMANDS: dict[str, str] = {
    "bench": "fanweave.sim.report.commands:bench",
    "calibrate": "fanweave.sim.serving.calibrate_command:calibrate",
    "coverage": "fanweave.sim.coverage.commands:coverage",
    "doctor": "fanweave.sim.runner.commands:doctor",
    "ebpf": "fanweave.sw.ebpf.commands:ebpf",
    "fabric": "fanweave.sw.fabric.commands:fabric",
    "icarus": "fanweave.sim.icarus.commands:icarus",
    "model": "fanweave.sw.traces.model_commands:model",
    "mutate": "fanweave.sim.mutation.commands:mutate",
    "place": "fanweave.sim.placement.place_command:place",
    "report": "fanweave.sim.overview.commands:report",
    "run": "fanweave.sw.kernels.run_command:run",
    "serve": "fanweave.sim.serving.serve_command:serve",
    "sim": "fanweave.sim.benches.commands:sim",
    "soak": "fanweave.sim.benches.soak_commands:soak",
    "synth": "fanweave.sim.synthesis.synth_command:synth",
    "sweep": "fanweave.sim.placement.sweep_command:sweep",
    "system": "fanweave.sim.benches.system.commands:system",
    "trace": "fanweave.sw.traces.commands:trace",
    "verilog": "fanweave.sim.synthesis.commands:verilog",
    "waves": "fanweave.sim.waves.commands:waves",
}


class LazyGroup(click.Group):
    """A click group that imports a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = load_entry(COMMANDS[cmd_name])
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fanweave")
def cli() -> None:
    """RTL generator and co-simulation testbench for sparse LLM inference over a memory fabric.

    Exit status: 0 done, 1 the run found a fault, 2 the input was refused.
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command and exit with its status."""
    try:
        cli.main(args=argv, prog_name="fanweave", standalone_mode=True)
    except InputError as error:
        click.echo(f"fanweave: {error}", err=True)
        sys.exit(2)
    except FaultError as error:
        click.echo(f"fanweave: {error}", err=True)
        sys.exit(1)
