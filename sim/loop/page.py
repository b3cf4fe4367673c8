"""The loop's section of the report's page, from its document."""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanweave.sim.loop.document import MOVEMENT
from fanweave.sim.loop.report import cost_words, ending_words, moved_words, reason_words
from fanweave.sim.report.html_parts import cell, colour_key, disclosure, plot, table
from fanweave.sim.report.table import format_number

__all__ = ["loop_section"]

_MS = 1e3
_ROW, _LEFT, _WIDTH = 24, 90, 560
#: Parts of a round's time, their words and colours.
_PARTS = {"prefill_s": ("prefill", "#0072b2"), "decode_s": ("decode", "#e69f00")}


def loop_section(document: Mapping[str, Any]) -> Iterator[str]:
    """HTML of what a loop did: its rounds, what each changed and why, and its numbers."""
    words = (
        f"{document['model']} on {document['platform']}, placed by {document['scheduler']} in mode "
        f"sound; costs begin with: {document['start']}. {ending_words(document)}"
    )
    yield "<h2>What the loop changed</h2>"
    yield f"<p>{html.escape(words)}</p>"
    yield colour_key(dict(_PARTS.values()))
    yield _rounds_chart(document["rounds"])
    for change in document["changes"]:
        yield _changes(change)
    switch = document["rounds"][document["best"] - 1]["switch"]
    if switch is not None:
        yield "<h3>Flows through the switch</h3>"
        yield _flows(switch)
    yield disclosure(f"Where operators run: round {document['best']}", _placement(document))
    yield disclosure("All numbers of the loop", _rows(document["rows"]))


def _rounds_chart(rounds: Sequence[Mapping[str, Any]]) -> str:
    most = max(each["total_s"] for each in rounds)
    drawn = []
    for at, each in enumerate(rounds):
        y = _ROW * at
        drawn.append(
            f'<text x="{_LEFT - 8}" y="{y + 17}" class="end">round {each["number"]}</text>'
        )
        x = float(_LEFT)
        for part, (text, colour) in _PARTS.items():
            width = each[part] / most * _WIDTH
            title = html.escape(f"{text}: {each[part] * _MS:.3f} ms")
            drawn.append(
                f'<rect x="{x:.2f}" y="{y + 4}" width="{width:.2f}" height="{_ROW - 8}" '
                f'fill="{colour}"><title>{title}</title></rect>'
            )
            x += width
        drawn.append(f'<text x="{x + 6:.1f}" y="{y + 17}">{each["total_s"] * _MS:.3f} ms</text>')
    return plot("time of each round", _LEFT + _WIDTH + 90, _ROW * len(rounds) + 4, drawn)


def _origin(name: str) -> str:
    return f'<td><span class="{name}">{name}</span></td>'


def _changes(change: Mapping[str, Any]) -> str:
    moves = [
        [cell(move["pass"]), cell(moved_words(move)), cell(reason_words(move))]
        for move in change["moves"]
    ]
    costs = [
        [
            cell(cost_words(cost["name"])),
            cell(format_number(cost["before"]), numeric=True),
            _origin(cost["origin_before"]),
            cell(format_number(cost["after"]), numeric=True),
            cell("" if cost["unit"] == "1" else cost["unit"]),
            _origin(cost["origin"]),
            cell(cost["source"]),
        ]
        for cost in change["costs"]
    ]
    moved = sum(len(move["operators"]) for move in change["moves"])
    inner = (
        table(moves, headings=["pass", "moved", "why"]) if moves else "<p>No operator moved.</p>"
    )
    headings = ["cost", "was", "origin", "is", "", "origin", "from"]
    summary = f"Round {change['round']}: {len(costs)} costs changed, {moved} operators moved"
    return disclosure(summary, inner + table(costs, headings=headings))


def _flows(switch: Mapping[str, Any]) -> str:
    without = {each["movement"]: each for each in switch["without"]}
    rows = [
        [
            cell(f"{each['source']} to {each['target']}"),
            cell(each["movement"]),
            cell(f"{each['messages']:,}", numeric=True),
            cell(format_number(round(without[each["movement"]]["latency_ns"], 2)), numeric=True),
            cell(format_number(round(each["latency_ns"], 2)), numeric=True),
            cell(format_number(round(each["bandwidth_gib"], 2)), numeric=True),
            _origin(switch["origin"]),
        ]
        for each in switch["links"]
    ]
    headings = ["link", "movement", "lines", "ns without policies", "ns with", "GiB/s", "origin"]
    return table(rows, headings=headings)


def _placement(document: Mapping[str, Any]) -> str:
    passes = document["rounds"][document["best"] - 1]["placement"]
    kinds = list(dict.fromkeys(kind for places in passes.values() for kind in places))
    rows = [
        [cell(kind), *(cell(_counts(places.get(kind, {}))) for places in passes.values())]
        for kind in kinds
    ]
    return table(rows, headings=["operators", *passes])


def _counts(places: Mapping[str, int]) -> str:
    return ", ".join(f"{device} {count}" for device, count in places.items())


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        [
            cell(row["case"].removeprefix(MOVEMENT)),
            cell(row["metric"]),
            cell(format_number(row["value"]), numeric=True),
            cell("" if row["unit"] == "1" else row["unit"]),
            _origin(row["origin"]),
        ]
        for row in rows
    ]
    return table(cells, headings=["number", "metric", "value", "unit", "origin"])
