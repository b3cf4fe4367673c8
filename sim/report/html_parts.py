"""What the pages share: their style, tables and frame. A page needs nothing from afar."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "LANES_HELP",
    "LANES_SCRIPT",
    "Box",
    "cell",
    "colour_key",
    "disclosure",
    "document",
    "lane_style",
    "lanes",
    "plot",
    "table",
]

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem;
  color: #1c1c1c; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .2rem .7rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
tr + tr td { border-top: 1px solid #8883; }
summary { cursor: pointer; } summary:focus-visible, a:focus-visible { outline: 2px solid #0072b2; }
a { color: #0062a0; }
.plot { width: 100%; min-width: 560px; max-width: 860px; font-size: 12px; }
text { fill: currentColor; } .mid { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: #8884; } .roof { stroke: currentColor; fill: none; }
.key span { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #16181b; } a { color: #6bb5e8; }
}
"""

#: What a page with lanes needs, and how to use them.
_LANES_STYLE = """
.lanes { display: flex; } .lanes ol { list-style: none; margin: 0; padding: 0 .6rem 0 0; }
.lanes li { height: 22px; line-height: 22px; font-size: 12px; white-space: nowrap; }
.timeline { flex: 1; min-width: 0; background: #8881; cursor: grab; }
"""
LANES_HELP = "<p>The wheel stretches time, dragging moves it, a double click shows all again.</p>"
LANES_SCRIPT = """
for (const svg of document.querySelectorAll("svg.timeline")) {
  const box = svg.viewBox.baseVal, whole = box.width;
  const keep = () => {
    box.width = Math.min(whole, Math.max(whole / 1e5, box.width));
    box.x = Math.min(whole - box.width, Math.max(0, box.x));
  };
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const at = event.offsetX / svg.clientWidth;
    const width = box.width * Math.pow(1.002, event.deltaY);
    box.x += (box.width - width) * at; box.width = width; keep();
  }, { passive: false });
  svg.addEventListener("pointermove", event => {
    if (event.buttons & 1) { box.x -= event.movementX / svg.clientWidth * box.width; keep(); }
  });
  svg.addEventListener("dblclick", () => { box.x = 0; box.width = whole; });
}
"""
_ROW, _LANE_WIDTH = 22, 1000

_NUMERIC = ' class="n"'


def document(title: str, parts: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A whole page.

    Parameters
    ----------
    title : str
        Plain text.
    parts : iterable of str
        HTML of the body, in order.
    style, script : str
        What this page has beyond the shared style.
    """
    ending = f"\n<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}</style></head><body>\n"
        + "\n".join(parts)
        + f"{ending}</body></html>\n"
    )


def cell(text: str, *, numeric: bool = False) -> str:
    """A cell of a table with plain text."""
    return f"<td{_NUMERIC if numeric else ''}>{html.escape(text)}</td>"


def table(rows: Iterable[Sequence[str]], *, headings: Sequence[str] = ()) -> str:
    """A table of cells, which scrolls by itself where the window is narrow."""
    head = "".join(f"<th>{html.escape(word)}</th>" for word in headings)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    whole = f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"
    return f'<div class="scroll" tabindex="0">{whole}</div>'


def disclosure(summary: str, content: str) -> str:
    """What is shown when people ask for it."""
    return f"<details><summary>{html.escape(summary)}</summary>{content}</details>"


def plot(label: str, width: int, height: int, drawn: Sequence[str]) -> str:
    """A picture as SVG, as wide as the window, or scrolling in one too narrow to read it."""
    size = f'viewBox="0 0 {width} {height}"'
    name = html.escape(label, quote=True)
    svg = f'<svg class="plot" {size} role="img" aria-label="{name}">{"".join(drawn)}</svg>'
    return f'<div class="scroll">{svg}</div>'


def colour_key(colours: Mapping[str, str]) -> str:
    """Which colour is which, by its name."""
    items = (
        f'<span><i style="background:{colour}"></i>{html.escape(name)}</span>'
        for name, colour in colours.items()
    )
    return f'<p class="key">{"".join(items)}</p>'


def lane_style(colours: Iterable[str]) -> str:
    """Style of a page with `lanes`, whose groups have these colours in their order."""
    groups = (f".g{at} {{ fill: {colour}; }}" for at, colour in enumerate(colours))
    return _LANES_STYLE + "".join(groups)


class Box(NamedTuple):
    """What happens on a lane: its group, and its begin and length as shares of the whole time."""

    row: str
    group: str
    title: str
    start: float
    share: float


def lanes(boxes: Sequence[Box], groups: Collection[str], *, rows: Sequence[str] = ()) -> str:
    """A timeline with a lane a row, which `lane_style` and `LANES_SCRIPT` make stretch.

    Parameters
    ----------
    boxes : sequence of Box
    groups : collection of str
        In the order of the colours that `lane_style` got.
    rows : sequence of str
        Order of the rows; those of the boxes, as they come, if not given.
    """
    rows = rows or list(dict.fromkeys(box.row for box in boxes))
    number = {row: at for at, row in enumerate(rows)}
    classes = {group: at for at, group in enumerate(groups)}
    drawn = "".join(
        f'<rect class="g{classes[box.group]}" x="{box.start * _LANE_WIDTH:.4f}" '
        f'y="{number[box.row] * _ROW + 2}" '
        f'width="{max(box.share * _LANE_WIDTH, 0.0005):.4f}" height="{_ROW - 4}">'
        f"<title>{html.escape(box.title)}</title></rect>"
        for box in boxes
    )
    height = _ROW * len(rows)
    # Viewed without keeping its shape, so that a wheel stretches time alone.
    svg = (
        f'<svg class="timeline" viewBox="0 0 {_LANE_WIDTH} {height}" height="{height}" '
        f'preserveAspectRatio="none" role="img" aria-label="timeline">{drawn}</svg>'
    )
    names = "".join(f"<li>{html.escape(row)}</li>" for row in rows)
    return f'<div class="lanes"><ol>{names}</ol>{svg}</div>'
