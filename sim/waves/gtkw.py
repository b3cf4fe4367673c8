"""Writes GTKWave save files that show a unit's channels readably."""

import fnmatch
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vcd.gtkw import GTKWSave

from fanweave.sim.report.files import write_text
from fanweave.sim.waves.vcd_reader import Header, Signal, read_header

__all__ = ["Group", "Trace", "stream_group", "write_gtkw"]

_RADICES = ("hex", "dec", "signed", "bin", "oct", "ascii", "real")
_SHOWN_PIXELS = 1000


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One line of the display, or several.

    Attributes
    ----------
    path
        Path of a signal, or a pattern such as ``top.unit.*_count``.
    alias
        Name to show instead; only for one signal.
    radix
        hex, dec, signed, bin, oct, ascii or real.
    """

    path: str
    alias: str | None = None
    radix: str = "hex"

    def __post_init__(self) -> None:
        if self.radix not in _RADICES:
            raise ValueError(f"radix {self.radix!r} must be one of {', '.join(_RADICES)}")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Traces under a heading; closed groups show their heading alone until opened."""

    name: str
    traces: tuple[Trace, ...]
    closed: bool = False


def stream_group(name: str, prefix: str, *, radix: str = "hex", closed: bool = False) -> Group:
    """Return a group for a stream port: its valid, ready and payload."""
    traces = (
        Trace(path=f"{prefix}__valid", alias="valid"),
        Trace(path=f"{prefix}__ready", alias="ready"),
        Trace(path=f"{prefix}__payload*", radix=radix),
    )
    return Group(name=name, traces=traces, closed=closed)


def write_gtkw(
    path: Path,
    *,
    dump: Path,
    groups: Sequence[Group],
    marker: int | None = None,
    zoom: tuple[int, int] | None = None,
) -> list[str]:
    """Write a save file for a dump.

    Parameters
    ----------
    path
        The ``.gtkw`` file to write.
    dump
        The VCD it belongs to; must exist, because GTKWave wants the bit range of every signal.
    groups
        What to show.
    marker
        Time of the primary marker, in the dump's unit.
    zoom
        First and last time to show.

    Returns
    -------
    list of str
        Paths and patterns that match nothing in the dump, such as signals that the simulator
        optimised away; the save file names them in a comment.

    Raises
    ------
    InputError
        If the dump does not exist or is not a VCD, or the file cannot be written.
    """
    header = read_header(dump)
    missing = [
        trace.path
        for group in groups
        for trace in group.traces
        if next(_matches(header, trace.path), None) is None
    ]
    text = io.StringIO()
    save = GTKWSave(text)
    save.comment("Open with: gtkwave " + path.name)
    if missing:
        save.comment("Not in this dump: " + ", ".join(missing))
    # A relative name, so that the pair of files can be moved together.
    same_folder = dump.resolve().parent == path.resolve().parent
    save.dumpfile(dump.name if same_folder else str(dump.resolve()), abspath=False)
    save.size(1600, 900)
    save.signals_width(320)
    if zoom is not None:
        save.timestart(zoom[0])
    if zoom is not None or marker is not None:
        start, stop = zoom or (0, 2 * (marker or 0))
        # GTKWave counts time units a pixel as a power of two with its sign turned.
        factor = -math.log2(max(stop - start, 1) / _SHOWN_PIXELS)
        save.zoom_markers(factor, -1 if marker is None else marker)
    for scope in sorted({signal.scope.split(".")[0] for signal in header.signals if signal.scope}):
        save.treeopen(scope)
    for group in groups:
        with save.group(group.name, closed=group.closed):
            for trace in group.traces:
                _add(save, header, trace)
    write_text(path, text.getvalue())
    return missing


def _add(save: GTKWSave, header: Header, trace: Trace) -> None:
    signals = list(_matches(header, trace.path))
    for signal in signals:
        alias = trace.alias if len(signals) == 1 else None
        save.trace(signal.path + signal.bits, alias=alias, datafmt=trace.radix)


def _matches(header: Header, pattern: str) -> Iterator[Signal]:
    exact = header.find(pattern)
    if exact is not None:
        yield exact
        return
    # Square brackets are indices of memories here, not sets of characters.
    pattern = pattern.replace("[", "[[]")
    for signal in header.signals:
        if fnmatch.fnmatchcase(signal.path, pattern):
            yield signal
