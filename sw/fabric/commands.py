"""``fanweave fabric``: movement graphs, and what they are compiled into."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
from fanweave.sw.ebpf.inputs import write_output

if TYPE_CHECKING:
    from fanweave.golden.fabric.graph import Graph

__all__ = ["fabric"]


@click.group()
def fabric() -> None:
    """Check, draw, compile and run semantic movement graphs.

    \b
    Example:
      fanweave fabric compile prefill_decode -o objects
    """


def _graph_options(function: Callable[..., None]) -> Any:
    """A graph by its name or file, or a placement that one is made of."""
    function = click.option(
        "--from-placement",
        "placement",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Derive the graph from the JSON of `fanweave place --json FILE --operators`.",
    )(function)
    return click.argument("graph", required=False, metavar="[GRAPH]")(function)


def _load(graph: str | None, placement: Path | None) -> "Graph":
    from fanweave.golden.fabric.placement import load_placement
    from fanweave.golden.fabric.read import graph_names, load_graph

    if (graph is None) == (placement is None):
        raise InputError(
            "name either a graph or --from-placement FILE; graphs are .toml files and "
            f"{', '.join(graph_names())}"
        )
    if graph is not None:
        return load_graph(graph)
    assert placement is not None
    return load_placement(placement)


@fabric.command(epilog="Example: fanweave fabric check prefill_decode")
@_graph_options
def check(graph: str | None, placement: Path | None) -> None:
    """Check a graph and plan what each device has to do, without compiling it."""
    from fanweave.sw.fabric.compile import plan_graph

    loaded = _load(graph, placement)
    units, states = plan_graph(loaded)
    click.echo(
        f"{loaded.name}: {len(loaded.places)} places, {len(loaded.objects)} objects, "
        f"{len(loaded.movements)} movements, {len(loaded.goals)} goals"
    )
    for name, unit in units.items():
        programs = ", ".join(program.name for program in unit.programs)
        click.echo(f"{name} ({unit.runtime}): {programs}")
    for state in states:
        click.echo(f"state {state.name} of {state.owner}, read by {state.reader}")


@fabric.command(epilog="Example: fanweave fabric draw prefill_decode -o graph.svg")
@_graph_options
@click.option("-o", "--output", required=True, metavar="FILE|-", help="The SVG.")
def draw(graph: str | None, placement: Path | None, output: str) -> None:
    """Draw a graph: places, links, and movements in the colours of their phases."""
    from fanweave.sw.fabric.draw import draw as drawn

    write_output(output, drawn(_load(graph, placement)).encode())


@fabric.command("compile", epilog="Example: fanweave fabric compile prefill_decode -o objects")
@_graph_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for objects, sources, maps, manifests and the report.",
)
def compile_(graph: str | None, placement: Path | None, output: Path) -> None:
    """Compile a graph into one eBPF object for each device that has something to do.

    The folder is new, or one that this command wrote before. Nothing is written if a program takes
    more instructions than its device allows.
    """
    from fanweave.sw.fabric.compile import compile_graph
    from fanweave.sw.fabric.output import files_of, report_text, write_folder

    loaded = _load(graph, placement)
    compilation = compile_graph(loaded)
    write_folder(output, files_of(compilation), loaded)
    click.echo(report_text(compilation), nl=False)


@fabric.command(epilog="Example: fanweave fabric run prefill_decode --lines 16")
@_graph_options
@click.option(
    "--lines",
    type=click.IntRange(min=1, max=4096),
    default=64,
    show_default=True,
    help="Cache lines of each movement.",
)
@click.option("--json", "output", metavar="FILE|-", help="Write the result there.")
def run(graph: str | None, placement: Path | None, lines: int, output: str | None) -> None:
    """Compile a graph and run its movements once in the golden models.

    It shows what the programs decide, and how many instructions that takes. It is no model of time.
    """
    from fanweave.sw.fabric.compile import compile_graph
    from fanweave.sw.fabric.run import run_graph

    loaded = _load(graph, placement)
    document = run_graph(compile_graph(loaded), lines=lines).document(loaded)
    if output is not None:
        write_output(output, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())
    if output == "-":
        return
    for island, programs in document["verdicts"].items():
        for program, actions in programs.items():
            counts = ", ".join(f"{count} {action}" for action, count in actions.items())
            click.echo(f"{island}, {program}: {counts}")
    for transfer in document["transfers"]:
        way = "rejected" if transfer["rejected"] else f"queue {transfer['queue']}"
        late = ", late" if transfer["late"] else ""
        click.echo(f"{transfer['movement']}: {way}, held {transfer['held']} times{late}")
    for device, count in document["instructions"].items():
        click.echo(
            f"{device}: {count['events']} events, {count['mean']:.1f} instructions, "
            f"at most {count['most']}"
        )
