"""What the pages share: their style, tables and frame. A page needs nothing from afar."""

import html
from collections.abc import Iterable, Sequence

__all__ = ["cell", "disclosure", "document", "plot", "table"]

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
