"""``fanweave waves``: says what a dump holds, how to open it, and draws a part of it."""

import fnmatch
import shutil
from collections import Counter
from pathlib import Path

import click

from fanweave.golden.errors import InputError
from fanweave.sim.report.files import check_output, write_text
from fanweave.sim.runner.toolchain import build_root
from fanweave.sim.waves.svg import Timebase, draw_svg
from fanweave.sim.waves.vcd_reader import Header, Signal, read_header, read_waveform, rising_edges
from fanweave.sim.waves.window import parse_window

__all__ = ["newest_dump", "waves"]

_DRAWN_CYCLES = 40
_DRAWN_SIGNALS = 24
_VIEWERS = ("gtkwave", "surfer")

_SCOPE_DEPTH = 2
_SCOPES = 16


@click.command(
    epilog="Example: fanweave waves build/sim/waves.vcd --svg waves.svg --window 100:140"
)
@click.argument("file", required=False)
@click.option("--svg", "svg_file", help="Draw the window into this SVG file.")
@click.option("--window", metavar="FROM:TO", help="Cycles to draw; either end may be left out.")
@click.option("--signal", "patterns", multiple=True, help="Signal or pattern to draw; repeatable.")
def waves(
    file: str | None, svg_file: str | None, window: str | None, patterns: tuple[str, ...]
) -> None:
    """List the signals of the waveform FILE (a VCD), say how to open it, draw a window of it.

    Without FILE, the newest waveform of the build folder is taken.
    """
    path = Path(file) if file else newest_dump(build_root())
    check_output(svg_file)
    span = parse_window(window) if window is not None else None
    header = read_header(path)
    _list_scopes(path, header)
    _say_how_to_open(path)
    if svg_file is not None:
        chosen = _choose(path, header, patterns)
        write_text(svg_file, _picture(path, header, chosen, span))
        click.echo(f"\ndrawn: {svg_file}")
    elif span is not None:
        raise InputError(f"--window {window} needs --svg FILE to draw into")


def newest_dump(root: Path) -> Path:
    """Return the newest VCD under a folder.

    Raises
    ------
    InputError
        If there is none.
    """
    # Counterexamples of proofs are looked at by name.
    dumps = [path for path in root.rglob("*.vcd") if "formal" not in path.relative_to(root).parts]
    dumps.sort(key=lambda path: path.stat().st_mtime)
    if not dumps:
        raise InputError(f"no waveform (*.vcd) in {root}; make one with: make sim WAVES=1")
    return dumps[-1]


def _list_scopes(path: Path, header: Header) -> None:
    click.echo(f"{path}: {len(header.signals)} signals, unit of time {header.timescale}")
    # The outermost scopes, each with all that lies in it; a viewer shows the rest better.
    scopes = Counter(".".join(signal.scope.split(".")[:_SCOPE_DEPTH]) for signal in header.signals)
    shown = [scope for scope, _ in scopes.most_common() if "$" not in scope]
    for scope in shown[:_SCOPES]:
        click.echo(f"  {scope or '(top)'}: {scopes[scope]}")
    if len(shown) > _SCOPES:
        click.echo(f"  and {len(shown) - _SCOPES} more")


def _say_how_to_open(path: Path) -> None:
    save = path.with_suffix(".gtkw")
    shown = save if save.is_file() else path
    click.echo(f"\nto look at it:\n  gtkwave {shown}\n  surfer {path}")
    if not any(map(shutil.which, _VIEWERS)):
        click.echo("  (neither is installed here; https://app.surfer-project.org opens VCD files)")


def _choose(path: Path, header: Header, patterns: tuple[str, ...]) -> list[str]:
    """Return the signals to draw: the named ones, or the outermost ones of the design."""
    if patterns:
        return [name for pattern in patterns for name in _expand(path, header, pattern)]
    inside = [signal for signal in header.signals if signal.scope]
    if not inside:
        raise InputError(f"waveform {path} holds no signals")
    depth = min(signal.path.count(".") for signal in inside)
    outer = [signal for signal in inside if signal.path.count(".") == depth]
    return [signal.path for signal in outer[:_DRAWN_SIGNALS]]


def _expand(path: Path, header: Header, pattern: str) -> list[str]:
    exact = header.find(pattern)
    if exact is not None:
        return [exact.path]
    # A pattern may leave out the scopes; square brackets are indices of memories.
    escaped = pattern.replace("[", "[[]")
    found = [
        signal.path
        for signal in header.signals
        if fnmatch.fnmatchcase(signal.path, escaped)
        or fnmatch.fnmatchcase(signal.path, f"*.{escaped}")
    ]
    if not found:
        raise InputError(f"waveform {path} has no signal like {pattern!r}")
    return found


def _picture(
    path: Path, header: Header, chosen: list[str], span: tuple[int, int | None] | None
) -> str:
    clock = header.clock()
    timebase = _timebase(path, clock)
    unit = "cycles" if clock is not None else header.timescale
    if span is None:
        edges = [] if clock is None else rising_edges(path, clock.path, count=1)
        first = int(timebase.cycle(edges[0])) if edges else 0
        span = (first, first + _DRAWN_CYCLES if edges else None)
    start, stop = span
    waveform = read_waveform(
        path,
        chosen,
        start=timebase.time(start),
        stop=None if stop is None else timebase.time(stop),
    )
    title = f"{path.name}, from {start} ({unit})"
    return draw_svg(waveform, chosen, title=title, timebase=timebase)


def _timebase(path: Path, clock: Signal | None) -> Timebase:
    """Measure the period from the clock's first rising edges; without one, times stay times."""
    if clock is None:
        return Timebase()
    rises = rising_edges(path, clock.path, count=3)
    if len(rises) < 2:
        return Timebase()
    # A dump may begin within a cycle, so the first change says nothing.
    period = rises[-1] - rises[-2]
    return Timebase(period=period, origin=rises[-1] % period)
