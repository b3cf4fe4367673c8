"""``fanweave run``: programs of the cluster on one of the engines."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fanweave.golden.errors import FaultError, InputError

if TYPE_CHECKING:
    from fanweave.golden.riscv.cluster import Result
    from fanweave.golden.riscv.program import Program
    from fanweave.sw.kernels.engines import Engine, RunRequest

__all__ = ["run"]


@click.command(epilog="Example: fanweave run program.elf; fanweave run --suite build/riscv-tests")
@click.argument("program", required=False, type=click.Path(path_type=Path))
@click.option("--engine", default="golden", show_default=True, help="What runs it.")
@click.option(
    "--suite",
    type=click.Path(path_type=Path),
    help="Run every ELF file with a `tohost` symbol in this folder.",
)
@click.option(
    "--harts", type=click.IntRange(1, 8), default=1, show_default=True, help="Number of cores."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100_000_000,
    show_default=True,
    help="Instructions of a core (engine rtl: cycles) after which a run is ended.",
)
@click.option(
    "--config",
    "preset",
    default="default",
    show_default=True,
    metavar="PRESET",
    help="Configuration of the cluster of engine rtl.",
)
@click.option(
    "--waves",
    metavar="FROM:TO",
    is_flag=False,
    flag_value="0:1000",
    help="Engine rtl: dump these cycles to a VCD (0 to 1000 if none are given), with the "
    "instructions as text.",
)
def run(
    program: Path | None,
    engine: str,
    suite: Path | None,
    harts: int,
    limit: int,
    preset: str,
    waves: str | None,
) -> None:
    """Run PROGRAM, an ELF file, or a suite of them.

    Exit status 1 if a program fails, traps or does not end, 2 if it is refused.
    """
    from fanweave.golden.riscv.program import read_program
    from fanweave.sw.kernels.engines import RunRequest, find_engine

    play = find_engine(engine)
    request = partial(RunRequest, harts=harts, limit=limit, preset=preset, waves=waves)
    if (program is None) == (suite is None):
        raise InputError("give a PROGRAM or --suite DIR, one of the two")
    if suite is not None and waves is not None:
        raise InputError("--waves shows one PROGRAM; leave --suite out")
    if suite is not None:
        _run_suite(suite, play, request)
    if program is not None:
        loaded = read_program(program)
        result, text, passed = _play(loaded, play, request)
        click.echo(result.output.decode(errors="replace"), nl=False)
        if not passed:
            raise FaultError(f"{program}: {text}")
        click.echo(text)
        for name, value in result.measures.items():
            click.echo(f"  {name}: {value}")


def _play(
    loaded: "Program", play: "Engine", request: "partial[RunRequest]"
) -> tuple["Result", str, bool]:
    """Result, the words for it, and whether it passed."""
    from fanweave.golden.riscv.cluster import Ending
    from fanweave.sw.kernels.report import ending_text

    asked = request(program=loaded)
    result = play(asked)
    return result, ending_text(loaded, result, asked.limit), result.ending is Ending.PASS


def _run_suite(folder: Path, play: "Engine", request: "partial[RunRequest]") -> None:
    """List passed and failed programs; files that are no ELF are left out."""
    from fanweave.golden.riscv.program import read_program

    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; --suite takes one with ELF files")
    failed = count = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as stream:
            if stream.read(4) != b"\x7fELF":
                continue
        name = path.relative_to(folder)
        try:
            loaded = read_program(path)
            if "tohost" not in loaded.symbols:
                click.echo(f"SKIP  {name}: it has no symbol tohost")
                continue
            _, text, passed = _play(loaded, play, request)
        except InputError as error:
            text, passed = str(error), False
        count += 1
        failed += not passed
        click.echo(f"{'PASS' if passed else 'FAIL'}  {name}: {text}")
    if count == 0:
        raise InputError(f"{folder} holds no ELF file with a symbol tohost")
    click.echo(f"{count - failed} of {count} passed")
    if failed:
        raise FaultError(f"{failed} of {count} programs of {folder} did not pass")
