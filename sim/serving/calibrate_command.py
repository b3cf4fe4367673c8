"""``fanweave calibrate``: curves and tables from measured operators."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.sim.report.files import check_output

if TYPE_CHECKING:
    from fanweave.golden.dops.calibration.report import CalibrationRow

__all__ = ["calibrate"]


@click.command(epilog="Example: fanweave calibrate measured.csv --processors 108 --json fit.json")
@click.argument("csv_file", metavar="CSV")
@click.option(
    "--model",
    default="llama-3.1-8b",
    show_default=True,
    metavar="CARD|FILE",
    help="The measured model, which gives the sizes of named layers.",
)
@click.option(
    "--processors",
    type=click.IntRange(min=1),
    default=128,
    show_default=True,
    help="Streaming multiprocessors of the measured device.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write errors and parameters there.")
def calibrate(csv_file: str, model: str, processors: int, json_file: str | None) -> None:
    """Fit rooflines to the measured operators of CSV, make tables, and print their errors.

    Errors are those on measurements that were held out: single rows, all rows of a shape (N and
    K that the others do not have), every other size of a table. CSV has the columns operator, m,
    n, k, time_us (k = 0 for a row-wise operator), or one of the published forms that are known.
    """
    from fanweave.golden.dops.calibration.readers import read_measurements
    from fanweave.golden.dops.calibration.report import calibrate as run
    from fanweave.golden.dops.models import load_model
    from fanweave.sim.report.files import STANDARD, write_json

    check_output(json_file)
    card = load_model(model)
    measurements = read_measurements(Path(csv_file), card)
    rows = run(measurements, card, processors=processors)
    if json_file is not None:
        write_json(json_file, _document(csv_file, measurements.repeated, rows))
    _print(csv_file, measurements.repeated, rows, error=json_file == STANDARD)


def _document(name: str, repeated: int, rows: "list[CalibrationRow]") -> dict[str, Any]:
    return {
        "file": name,
        "repeated_rows": repeated,
        "rows": [
            {
                "operators": row.operators,
                "method": row.method,
                "held_out": row.held_out,
                "measurements": row.measurements,
                "tested": row.error.count,
                "mean_error": row.error.mean,
                "p95_error": row.error.p95,
                "max_error": row.error.worst,
                "bias": row.error.bias,
                "goal": row.goal,
                "parameters": row.parameters,
            }
            for row in rows
        ],
    }


def _print(name: str, repeated: int, rows: "list[CalibrationRow]", *, error: bool) -> None:
    import sys

    from fanweave.sim.report.table import Column, print_table

    words = [
        Column(heading=heading, numeric=False) for heading in ("operators", "method", "held out")
    ]
    numbers = [
        Column(heading=heading)
        for heading in ("measured", "tested", "mean", "p95", "max", "bias", "goal")
    ]
    cells = [
        [
            row.operators,
            row.method,
            row.held_out,
            str(row.measurements),
            str(row.error.count),
            f"{row.error.mean:.1%}",
            f"{row.error.p95:.1%}",
            f"{row.error.worst:.1%}",
            f"{row.error.bias:+.1%}",
            "" if row.goal is None else f"<= {row.goal:.0%}",
        ]
        for row in rows
    ]
    stream = sys.stderr if error else sys.stdout
    print_table([*words, *numbers], cells, title=f"calibration of {name}", stream=stream)
    if repeated:
        click.echo(f"{repeated} rows at sizes that stood there before were merged", file=stream)
    for row in rows:
        if row.parameters and row.held_out == "rows":
            values = ", ".join(f"{key} {value:.4g}" for key, value in row.parameters.items())
            click.echo(f"{row.operators}: {values}", file=stream)
