"""``fanweave report``: one page of what was measured."""

from pathlib import Path

import click

__all__ = ["report"]


@click.command(epilog="Example: fanweave report -o build/report/index.html")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page; build/report/index.html if not given.",
)
def report(output: Path | None) -> None:
    """Write one page of the last results: sim, every bench, and links to their files.

    Results are those in the build folder; each run of a command replaces its own.
    """
    from fanweave.sim.overview.page import overview_page
    from fanweave.sim.overview.results import load_results
    from fanweave.sim.report.files import write_text
    from fanweave.sim.runner.toolchain import build_root

    root = Path(build_root())
    if output is None:
        output = root / "report" / "index.html"
        output.parent.mkdir(parents=True, exist_ok=True)
    results = load_results(root)
    write_text(output, overview_page(results, output.absolute().parent))
    goals = [row.met for rows in results.rows.values() for row in rows if row.met is not None]
    click.echo(
        f"{output}: {len(results.rows)} benchmarks, {sum(goals)} of {len(goals)} goals reached, "
        f"{len(results.layers)} products of a trace"
    )
