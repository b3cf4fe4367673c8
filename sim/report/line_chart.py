"""Lines over an axis, as SVG for a page."""

import html
import itertools
import math
from collections.abc import Mapping, Sequence

from fanweave.sim.report.html_parts import colour_key, plot

__all__ = ["COLOURS", "line_chart"]

#: Colours that people with colour blindness can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777")
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 10, 660, 200
_TICKS = 5

Points = tuple[Sequence[float], Sequence[float]]


def line_chart(
    label: str,
    lines: Mapping[str, Points],
    *,
    unit: str,
    top: float | None = None,
    logarithmic: bool = False,
    steps: bool = False,
) -> str:
    """Lines with their key.

    Parameters
    ----------
    label : str
        What the picture shows, for those who do not see it.
    lines : mapping of str to (x, y)
        Points of each line, x rising; a line without points is named in the key alone.
    unit : str
        Of x.
    top : float, optional
        Upper end of the y axis, which begins at 0; the greatest y if not given.
    logarithmic : bool
        Whether decades of x are equally wide; x of 0 and less then stand at the left end.
    steps : bool
        Whether y stays as it is up to the next x.
    """
    key = colour_key(dict(zip(lines, itertools.cycle(COLOURS), strict=False)))
    points = [(x, y) for xs, ys in lines.values() for x, y in zip(xs, ys, strict=True)]
    if not points:
        return key
    height = top if top is not None else max(max(y for _, y in points), 1e-12)
    low, high = _ends([x for x, _ in points], logarithmic)

    def across(value: float) -> float:
        share = (value - low) / (high - low)
        if logarithmic:
            share = math.log(max(value, low) / low) / math.log(high / low)
        return _LEFT + _WIDTH * min(1.0, max(0.0, share))

    def down(value: float) -> float:
        return _TOP + _HEIGHT * (1 - min(value, height) / height)

    drawn = _axes(low, high, height, logarithmic=logarithmic, unit=unit)
    for at, (xs, ys) in enumerate(lines.values()):
        places = [(across(x), down(y)) for x, y in zip(xs, ys, strict=True)]
        if places:
            drawn.append(_path(places, COLOURS[at % len(COLOURS)], steps=steps))
    size = _LEFT + _WIDTH + 40, _TOP + _HEIGHT + 40
    return plot(label, *size, drawn) + key


def _ends(values: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if logarithmic:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = min(positive), max(positive)
        return 10.0 ** math.floor(math.log10(low)), 10.0 ** (math.floor(math.log10(high)) + 1)
    if 0 < low < high / _TICKS:
        low = 0.0
    return low, high if high > low else low + 1.0


def _axes(low: float, high: float, top: float, *, logarithmic: bool, unit: str) -> list[str]:
    foot = _TOP + _HEIGHT
    if logarithmic:
        first, last = round(math.log10(low)), round(math.log10(high))
        marks = [
            (_LEFT + _WIDTH * (each - first) / (last - first), 10.0**each)
            for each in range(first, last + 1)
        ]
    else:
        marks = [
            (_LEFT + _WIDTH * each / _TICKS, low + (high - low) * each / _TICKS)
            for each in range(_TICKS + 1)
        ]
    drawn = []
    for at, value in marks:
        drawn.append(f'<path class="grid" d="M{at:.1f} {_TOP}V{foot}"/>')
        drawn.append(f'<text x="{at:.1f}" y="{foot + 16}" class="mid">{value:.4g}</text>')
    for each in range(_TICKS):
        value = top * (each + 1) / _TICKS
        at = _TOP + _HEIGHT * (1 - (each + 1) / _TICKS)
        drawn.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{_LEFT + _WIDTH}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" class="end">{value:.4g}</text>')
    middle = _LEFT + _WIDTH / 2
    drawn.append(f'<text x="{middle}" y="{foot + 32}" class="mid">{html.escape(unit)}</text>')
    return drawn


def _path(places: Sequence[tuple[float, float]], colour: str, *, steps: bool) -> str:
    words = [f"M{places[0][0]:.1f} {places[0][1]:.1f}"]
    for x, y in places[1:]:
        words.append(f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}")
    return f'<path d="{"".join(words)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
