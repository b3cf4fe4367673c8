"""``fanweave ebpf policies``: the switch's policies, and what they cost."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fanweave.golden.errors import InputError
from fanweave.golden.files import replace_file
from fanweave.sw.ebpf.inputs import write_output

if TYPE_CHECKING:
    from fanweave.sw.policies.library import Policy
    from fanweave.sw.policies.measure import Cost, Share

__all__ = ["policies"]


@click.command(epilog="Example: fanweave ebpf policies steering telemetry -o objects")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--maps", is_flag=True, help="Show what each decides and its maps.")
@click.option("--json", "output", metavar="FILE|-", help="Write the numbers as JSON.")
@click.option(
    "-o",
    "--objects",
    type=click.Path(path_type=Path),
    help="Write the object files into this folder.",
)
def policies(names: tuple[str, ...], maps: bool, output: str | None, objects: Path | None) -> None:
    """Build, verify and play the switch's policies, all or those named, and show what they cost.

    Numbers are of one event: the verifier's worst case, and the mean and the most over the events
    that the policies are proved on, counted by the golden machine. Exit status 1 if a verdict or a
    map is not as it must be.
    """
    from fanweave.sw.policies.library import POLICIES, build_policy, find_policy
    from fanweave.sw.policies.measure import measure

    chosen = [find_policy(name) for name in names] or list(POLICIES.values())
    costs = [measure(policy.name) for policy in chosen]
    if objects is not None:
        for policy in chosen:
            _write(objects / f"{policy.name}.o", build_policy(policy.name).data)
    if output is not None:
        document = {"policies": [cost.document() for cost in costs]}
        write_output(output, (json.dumps(document, indent=2) + "\n").encode())
    if output != "-":
        _show(costs)
        if maps:
            _show_maps(chosen)


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise InputError(f"output {path} cannot be written: {error.strerror}") from None


def _show(costs: "list[Cost]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="An event of each policy: mean / most", title_justify="left")
    table.add_column("policy", no_wrap=True)
    for heading in ("slots", "worst case", "events", "instructions", "map calls", "accesses"):
        table.add_column(heading, justify="right")
    for cost in costs:
        table.add_row(
            cost.policy,
            *(str(cost.slots), str(cost.worst_case_instructions), str(cost.events)),
            *(_text(cost.instructions), _text(cost.map_calls), _text(cost.value_accesses)),
        )
    console = Console()
    # Without a terminal, a table cut to the width of a pipe would be useless.
    (console if console.is_terminal else Console(width=100)).print(table)


def _text(share: "Share") -> str:
    return f"{share.mean:.1f} / {share.most}"


def _show_maps(chosen: "list[Policy]") -> None:
    for policy in chosen:
        click.echo(f"{policy.name}: {policy.decides}")
        for title, maps in (("the host sets", policy.host), ("it finds", policy.found)):
            for name, meaning in maps.items():
                click.echo(f"  {title} {name}: {meaning}")
