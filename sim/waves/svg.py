"""Draws a window of a waveform as an SVG timing diagram."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from fanweave.golden.errors import InputError
from fanweave.sim.waves.vcd_reader import Waveform

__all__ = ["Timebase", "draw_svg"]

_NAMES = 280
_DRAWN = 1120
_ROW = 30
_SWING = 18
_TOP = 48
_SLANT = 3
_CHARACTER = 7.2
_FONT = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_STYLE = f"""
text {{ font: {_FONT}; fill: #111; }}
.wire {{ fill: none; stroke: #0b5d1e; stroke-width: 1.5; }}
.bus {{ fill: #eef4fb; stroke: #1f4e8c; stroke-width: 1.2; }}
.unknown {{ fill: #fbe3e3; stroke: #a11; stroke-width: 1.2; }}
.grid {{ stroke: #ddd; stroke-width: 1; }}
.axis {{ text-anchor: middle; fill: #444; }}
.value {{ text-anchor: middle; }}
.title {{ font-weight: bold; }}
.marker {{ stroke: #d00; stroke-width: 1.5; stroke-dasharray: 4 3; }}
"""


@dataclass(frozen=True, kw_only=True)
class Timebase:
    """How times become cycles.

    Attributes
    ----------
    period
        Length of a cycle, in units of the dump's timescale.
    origin
        Time of the beginning of cycle 0.
    """

    period: int = 1
    origin: int = 0

    def cycle(self, time: int) -> float:
        return (time - self.origin) / self.period

    def time(self, cycle: int) -> int:
        return cycle * self.period + self.origin


def draw_svg(
    waveform: Waveform,
    paths: Sequence[str],
    *,
    title: str,
    timebase: Timebase,
    marker: int | None = None,
) -> str:
    """Return an SVG document: single wires as levels, wider signals as values in hexadecimal.

    Parameters
    ----------
    waveform
        Values and span of time.
    paths
        Signals to draw, from top to bottom.
    title
        Line above the picture.
    timebase
        Cycles of the time axis.
    marker
        Cycle to mark with a dashed line.

    Raises
    ------
    InputError
        If there is nothing to draw.
    """
    if not paths:
        raise InputError("picture: no signal was chosen; name at least one")
    span = max(waveform.stop - waveform.start, 1)
    canvas = _Canvas(rows=len(paths), start=waveform.start, scale=_DRAWN / span)
    canvas.text(10, 20, title, "title")
    _draw_axis(canvas, waveform, timebase)
    for row, path in enumerate(paths):
        signal = waveform.header.find(path)
        width = 1 if signal is None else signal.width
        _draw_row(canvas, row, path, width, _segments(waveform, path))
    if marker is not None:
        x = canvas.x(timebase.time(marker))
        canvas.line(x, _TOP - 8, x, canvas.height - 6, "marker")
    return canvas.document()


class _Canvas:
    """The document under construction, and the scale of its time axis."""

    def __init__(self, *, rows: int, start: int, scale: float) -> None:
        self.height = _TOP + rows * _ROW + 10
        self.width = _NAMES + _DRAWN + 20
        self._start = start
        self._scale = scale
        self._root = ElementTree.Element(
            "svg",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width} {self.height}",
            width=str(self.width),
            height=str(self.height),
        )
        ElementTree.SubElement(self._root, "style").text = _STYLE
        self._add("rect", width="100%", height="100%", fill="#fff")

    def x(self, time: float) -> float:
        return _NAMES + (time - self._start) * self._scale

    def text(self, x: float, y: float, content: str, kind: str = "") -> None:
        self._add("text", x=f"{x:.1f}", y=f"{y:.1f}", **_kind(kind)).text = content

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        self._add("line", **{name: f"{end:.1f}" for name, end in ends.items()}, **_kind(kind))

    def path(self, points: Sequence[tuple[float, float]], kind: str, *, closed: bool) -> None:
        steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self._add("path", d=f"M{steps}{' Z' if closed else ''}", **_kind(kind))

    def document(self) -> str:
        return ElementTree.tostring(self._root, encoding="unicode") + "\n"

    def _add(self, tag: str, **attributes: str) -> ElementTree.Element:
        return ElementTree.SubElement(self._root, tag, attributes)


def _kind(kind: str) -> dict[str, str]:
    return {"class": kind} if kind else {}


_Segment = tuple[int, int, int | float | str]


def _segments(waveform: Waveform, path: str) -> list[_Segment]:
    """Return (from, to, value) spans; a value that is not known yet is ``x``."""
    changes = waveform.changes[path]
    if not changes or changes[0][0] > waveform.start:
        changes = [(waveform.start, "x"), *changes]
    ends = [time for time, _ in changes[1:]] + [waveform.stop]
    return [(time, end, value) for (time, value), end in zip(changes, ends, strict=True)]


def _draw_axis(canvas: _Canvas, waveform: Waveform, timebase: Timebase) -> None:
    first = int(-(-(waveform.start - timebase.origin) // timebase.period))
    last = int((waveform.stop - timebase.origin) // timebase.period)
    step = _round_step((last - first) / 16)
    for cycle in range(first, last + 1):
        if cycle % step == 0:
            x = canvas.x(timebase.time(cycle))
            canvas.line(x, _TOP - 8, x, canvas.height - 6, "grid")
            canvas.text(x, _TOP - 12, str(cycle), "axis")


def _round_step(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... that is not less than `least`."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if step * factor >= least:
                return step * factor
        step *= 10


def _draw_row(
    canvas: _Canvas, row: int, path: str, width: int, segments: Sequence[_Segment]
) -> None:
    base = _TOP + row * _ROW + _SWING + 4
    canvas.text(10, base - 4, _shortened(path))
    if width == 1:
        _draw_wire(canvas, base, segments)
    else:
        _draw_bus(canvas, base, segments)


def _shortened(path: str) -> str:
    fits = int((_NAMES - 20) / _CHARACTER)
    return path if len(path) <= fits else "…" + path[-(fits - 1) :]


def _draw_wire(canvas: _Canvas, base: float, segments: Sequence[_Segment]) -> None:
    points: list[tuple[float, float]] = []
    for start, end, value in segments:
        left, right = canvas.x(start), canvas.x(end)
        if value not in (0, 1):
            _draw_wire_points(canvas, points)
            points = []
            box = [(left, base - _SWING), (right, base - _SWING), (right, base), (left, base)]
            canvas.path(box, "unknown", closed=True)
            continue
        y = base - _SWING if value == 1 else base
        points += [(left, y), (right, y)]
    _draw_wire_points(canvas, points)


def _draw_wire_points(canvas: _Canvas, points: Sequence[tuple[float, float]]) -> None:
    if points:
        canvas.path(points, "wire", closed=False)


def _draw_bus(canvas: _Canvas, base: float, segments: Sequence[_Segment]) -> None:
    middle = base - _SWING / 2
    for start, end, value in segments:
        left, right = canvas.x(start), canvas.x(end)
        slant = min(_SLANT, (right - left) / 2)
        outline = [
            (left, middle),
            (left + slant, base - _SWING),
            (right - slant, base - _SWING),
            (right, middle),
            (right - slant, base),
            (left + slant, base),
        ]
        canvas.path(outline, "unknown" if isinstance(value, str) else "bus", closed=True)
        label = f"{value:x}" if isinstance(value, int) else str(value)
        fits = int((right - left - 2 * _SLANT) / _CHARACTER)
        if len(label) > fits:
            label = label[: max(fits - 1, 0)] + "…" if fits >= 3 else ""
        if label:
            canvas.text((left + right) / 2, base - 5, label, "value")
