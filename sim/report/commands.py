"""``fanweave bench``: runs a benchmark and reports its rows."""

import inspect
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.entries import find_entry
from fanweave.golden.errors import InputError
from fanweave.sim.report.files import STANDARD, check_output

if TYPE_CHECKING:
    from fanweave.sim.report.bench_rows import BenchRow

__all__ = ["BENCHES", "bench"]

#: name -> "module:function" with the signature ``rows(quick: bool, seed: int) -> list[BenchRow]``;
#: one with parts takes ``part``, one with values to compare with takes ``reference`` as well.
BENCHES = {
    "cluster": "fanweave.sim.benches.cluster.bench:rows",
    "core": "fanweave.sim.benches.core.bench:rows",
    "dops": "fanweave.sim.benches.dops.bench:rows",
    "dops-optimum": "fanweave.sim.benches.dops_optimum:rows",
    "ebpf": "fanweave.sim.benches.ebpf.bench:rows",
    "fp": "fanweave.sim.benches.fp.campaign:rows",
    "serving": "fanweave.sim.benches.serving:rows",
    "sim-speed": "fanweave.sim.benches.ventaglio.speed:rows",
    "switch": "fanweave.sim.benches.cxl.bench:rows",
    "system": "fanweave.sim.benches.system.bench:rows",
    "ventaglio": "fanweave.sim.benches.ventaglio.bench:rows",
}


@click.command(epilog="Example: fanweave bench ventaglio --quick --json ventaglio.json")
@click.argument("name")
@click.option("--quick", is_flag=True, help="A subset that ends within a minute.")
@click.option("--seed", type=int, default=None, help="Replay the random choices of a run.")
@click.option("--part", help="Only this part of a benchmark that has parts.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    help="Folder or file of values to compare with, for a benchmark that can.",
)
@click.option("--json", "json_file", help="Write the rows to this file; - is standard output.")
def bench(
    name: str,
    quick: bool,
    seed: int | None,
    part: str | None,
    reference: Path | None,
    json_file: str | None,
) -> None:
    """Run the benchmark NAME and print its rows with their goals.

    A missed goal is shown and does not change the exit status. The rows are kept in build/bench
    as well, for `fanweave report`.
    """
    from fanweave.sim.report.bench_rows import print_bench, write_bench
    from fanweave.sim.runner.optimisation import long_runs
    from fanweave.sim.runner.toolchain import build_root

    rows = find_bench(name)
    more = _more(name, rows, {"part": part, "reference": reference})
    check_output(json_file)
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 31)
    click.echo(f"bench {name}: seed {seed}", err=True)
    if not quick:
        click.get_current_context().with_resource(long_runs())
    measured = rows(quick=quick, seed=seed, **more)
    if json_file is not None:
        write_bench(json_file, name, seed=seed, rows=measured)
    # The document alone goes to standard output when it was asked for there.
    stream = sys.stderr if json_file == STANDARD else sys.stdout
    print_bench(name, seed=seed, rows=measured, stream=stream)
    kept = _kept(Path(build_root()) / "bench", name, part=part, quick=quick)
    write_bench(kept, name, seed=seed, rows=measured)


def _kept(folder: Path, name: str, *, part: str | None, quick: bool) -> Path:
    """Where the rows are kept: a part or a quick run does not replace a whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = ".".join([name, *([_safe(part)] if part else []), *(["quick"] if quick else [])])
    return folder / f"{stem}.json"


def _safe(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", part)


def _more(name: str, rows: "Callable[..., Any]", given: dict[str, Any]) -> dict[str, Any]:
    """What was given beyond the usual, if the benchmark takes it."""
    taken = inspect.signature(rows).parameters
    more = {key: value for key, value in given.items() if value is not None}
    for key in more:
        if key not in taken:
            raise InputError(f"benchmark {name} takes no --{key}")
    return more


def find_bench(name: str) -> "Callable[..., list[BenchRow]]":
    """Return the function that measures a benchmark.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    found: Callable[..., list[BenchRow]] = find_entry("benchmark", name, BENCHES)
    return found
