"""Draws a movement graph as SVG: devices, DPUs, islands and memories from left to right."""

import html
from collections.abc import Sequence

from fanweave.golden.fabric.check import deadlines
from fanweave.golden.fabric.graph import (
    Direction,
    Graph,
    Movement,
    Phase,
    Place,
    PlaceKind,
)
from fanweave.golden.fabric.routes import Network

__all__ = ["draw"]

#: By phase; people with colour blindness can tell them apart.
_COLOURS = {Phase.OTHER: "#777777", Phase.ATTENTION: "#d55e00", Phase.FFN: "#0072b2"}
_FILLS = {PlaceKind.ISLAND: "#fff3d6", PlaceKind.MEMORY: "#e4f1e8"}
_BOX_W, _BOX_H = 150, 44
_COLUMNS = (100, 330, 560, 800)
_ROW, _TOP, _WIDTH = 90, 70, 900
_LINE = 17
_STYLE = (
    "text{font:13px sans-serif}.small{font-size:11px}.mid{text-anchor:middle}"
    ".link{stroke:#bbbbbb;stroke-width:6}.move{fill:none;stroke-width:1.6}"
)
_Point = tuple[float, float]


def draw(graph: Graph) -> str:
    """The whole picture, with a list of the movements below."""
    network = Network(graph)
    places = _positions(graph)
    foot = max(y for _, y in places.values()) + _ROW
    parts = [_links(graph, places)]
    for number, movement in enumerate(graph.movements.values(), start=1):
        parts.append(_movement(graph, network, places, number, movement))
    parts += [_box(graph.places[name], at) for name, at in places.items()]
    rows = _table(graph)
    parts += [
        f'<text class="small" x="20" y="{foot + _LINE * number}" fill="{colour}">'
        f"{html.escape(text)}</text>"
        for number, (text, colour) in enumerate(rows)
    ]
    height = foot + _LINE * len(rows) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{html.escape(graph.name)}"><style>{_STYLE}</style>{_markers()}'
        f'<text x="20" y="28">{html.escape(graph.name)}</text>{"".join(parts)}</svg>\n'
    )


def _markers() -> str:
    made = (
        f'<marker id="to_{phase}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for phase, colour in _COLOURS.items()
    )
    return f"<defs>{''.join(made)}</defs>"


def _positions(graph: Graph) -> dict[str, _Point]:
    """Centres of all places, in columns of the same height; DPUs stand below, out of the way."""
    columns: list[list[Place]] = [[] for _ in _COLUMNS]
    for place in graph.places.values():
        columns[_column(place.kind)].append(place)
    most = max(len(column) for column in columns[:1] + columns[2:])
    found: dict[str, _Point] = {}
    for x, column in zip(_COLUMNS, columns, strict=True):
        step = most * _ROW / max(1, len(column))
        for number, place in enumerate(column):
            below = (most + number + 0.2) * _ROW
            y = below if place.kind is PlaceKind.DPU else step * (number + 0.5)
            found[place.name] = (x, _TOP + y)
    return found


def _column(kind: PlaceKind) -> int:
    order = {PlaceKind.DPU: 1, PlaceKind.ISLAND: 2, PlaceKind.MEMORY: 3}
    return order.get(kind, 0)


def _box(place: Place, at: _Point) -> str:
    x, y = at[0] - _BOX_W / 2, at[1] - _BOX_H / 2
    fill = _FILLS.get(place.kind, "#eaeef7")
    below = place.kind.value + (f", tenant {place.tenant}" if place.tenant else "")
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BOX_W}" height="{_BOX_H}" rx="6" fill="{fill}" '
        f'stroke="#555555"/><text class="mid" x="{at[0]:.1f}" y="{at[1] - 2:.1f}">'
        f'{html.escape(place.name)}</text><text class="mid small" x="{at[0]:.1f}" '
        f'y="{at[1] + 14:.1f}">{html.escape(below)}</text>'
    )


def _links(graph: Graph, places: dict[str, _Point]) -> str:
    lines = []
    for link in graph.links:
        (x1, y1), (x2, y2) = places[link.island], places[link.place]
        lines.append(
            f'<line class="link" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
            f"<title>{html.escape(link.island)}, port {link.port}</title></line>"
        )
    return "".join(lines)


def _movement(
    graph: Graph, network: Network, places: dict[str, _Point], number: int, movement: Movement
) -> str:
    """A line from the producer over islands, or the DPU, to the consumer."""
    if movement.direction is Direction.SEND:
        stops = [movement.producer, movement.via, movement.consumer]
    else:
        home = graph.objects[movement.object].home
        stops = [movement.host, *(hop.island for hop in network.of(movement)), home]
        if movement.direction is Direction.READ:
            stops.reverse()
    # Beside each other, so that all can be seen.
    shift = (number % 9 - 4) * 4
    points = [_edge(places, stops, place, shift) for place in range(len(stops))]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    colour = _COLOURS[movement.phase]
    x, y = (points[0][0] + 2 * points[1][0]) / 3, (points[0][1] + 2 * points[1][1]) / 3
    return (
        f'<path class="move" d="{path}" stroke="{colour}" marker-end="url(#to_{movement.phase})">'
        f"<title>{html.escape(_describe(graph, movement))}</title></path>"
        f'<text class="small" x="{x:.1f}" y="{y - 3:.1f}" fill="{colour}">{number}</text>'
    )


def _edge(places: dict[str, _Point], stops: Sequence[str], at: int, shift: int) -> _Point:
    """A point of the line: at the border of the first and the last box, in the middle of others."""
    x, y = places[stops[at]]
    if 0 < at < len(stops) - 1:
        return x + shift, y + shift
    other = places[stops[1] if at == 0 else stops[-2]][0]
    side = (other > x) - (other < x)
    # Boxes above each other are left on the right.
    return x + (side or 1) * _BOX_W / 2, y + shift


def _describe(graph: Graph, movement: Movement) -> str:
    parts = [f"{movement.size} bytes of {movement.object}"]
    if movement.reuse > 1:
        parts.append(f"{movement.reuse} times")
    end = deadlines(graph)[movement.name]
    if end:
        parts.append(f"by {end} ns")
    if movement.priority:
        parts.append(f"priority {movement.priority}")
    return f"{movement.name}: {', '.join(parts)}"


def _table(graph: Graph) -> list[tuple[str, str]]:
    rows = [(f"{phase.value}", colour) for phase, colour in _COLOURS.items()]
    rows += [
        (f"{number}  {_describe(graph, movement)}", _COLOURS[movement.phase])
        for number, movement in enumerate(graph.movements.values(), start=1)
    ]
    rows += [
        (f"goal {goal.kind}{': ' if goal.objects else ''}{', '.join(goal.objects)}", "#000000")
        for goal in graph.goals
    ]
    return rows
