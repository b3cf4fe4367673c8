"""One HTML page about a placement, which needs nothing else: no script, font or style from afar."""

import html
from collections.abc import Iterable, Mapping, Sequence

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.dops.registry import Request
from fanweave.golden.dops.schedule import Schedule
from fanweave.sim.placement.pictures import GROUPS, bars, roofline, timeline
from fanweave.sim.placement.report import pass_name, placement
from fanweave.sim.placement.roofline import roofline_points
from fanweave.sim.report.html_parts import (
    LANES_HELP,
    LANES_SCRIPT,
    cell,
    colour_key,
    document,
    lane_style,
    table,
)

__all__ = ["place_page"]

_STYLE = """
.heat { background: rgb(0 114 178 / calc(var(--s) * 55%)); }
.chosen { font-weight: 700; } .over { stroke: #c00; stroke-width: 2; }
"""


def place_page(request: Request, result: Schedule, others: Mapping[str, Schedule]) -> str:
    """The page: times, schedulers, placement, timeline, roofline, rules.

    Parameters
    ----------
    request, result
        What was asked for, and what came out.
    others : mapping of str to Schedule
        Results of the schedulers to compare, the result's own among them.
    """
    work = request.workload
    title = f"{request.model.name} on {result.platform.name}"
    record = f" of record {result.record}" if result.record else ""
    colours = {name: colour for name, (colour, _) in GROUPS.items()}
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{html.escape(result.scheduler)}, mode {result.mode}{record}; batch {work.batch}, "
        f"{work.prefill} tokens in, {work.decode} out, {html.escape(request.elements)}.</p>",
        _times(result),
        _energy(result),
        "<h2>Schedulers</h2>",
        "<p>Prefill in blue, decode in green.</p>",
        bars(
            {
                name: (each.prefill / PICOSECONDS, (each.total - each.prefill) / PICOSECONDS)
                for name, each in others.items()
            },
            result.scheduler,
        ),
        "<h2>Placement</h2>",
        _placements(result),
        "<h2>Timeline</h2>",
        LANES_HELP,
        colour_key(colours),
        *_timelines(result),
        "<h2>Roofline</h2>",
        *_roofline(request, result),
        "<h2>Rules</h2>",
        _list("Held in every pass", result.checked),
        _list("Waived by the mode", result.waived),
    ]
    style = _STYLE + lane_style(colours.values())
    return document(title, parts, style=style, script=LANES_SCRIPT)


def _times(result: Schedule) -> str:
    times = {
        "prefill": result.prefill,
        "decode": result.total - result.prefill,
        "total": result.total,
        "lower bound": result.lower_bound,
    }
    return table(
        [f"<td>{name}</td>", f'<td class="n">{time / PICOSECONDS:.6f} s</td>']
        for name, time in times.items()
    )


def _energy(result: Schedule) -> str:
    report = result.energy
    if report is None:
        return ""
    rows = [
        [
            cell(part.name),
            *(
                cell(f"{joules:.4g}", numeric=True)
                for joules in (part.operations, part.memory, part.idle, part.total)
            ),
            cell(part.origin),
        ]
        for part in report.parts
    ]
    without = f", without {', '.join(report.unknown)}" if report.unknown else ""
    headings = ("", "operations J", "memory J", "idle J", "total J", "origin")
    words = f"{report.total:.4g} J, {report.per_token:.4g} J for each generated token{without}."
    return f"<h2>Energy</h2><p>{html.escape(words)}</p>{table(rows, headings=headings)}"


def _placements(result: Schedule) -> str:
    """Kinds by devices, a pass after the other; the darker, the more of a kind run there."""
    devices = [
        device.name for device in result.platform.devices if device.type not in ("cpu", "memory")
    ]
    columns = [(kept, device) for kept in result.kept for device in devices]
    counts = {id(kept): placement(result, kept) for kept in result.kept}
    rows = []
    for kind in next(iter(counts.values())):
        cells = [f"<td>{html.escape(kind)}</td>"]
        for kept, device in columns:
            count = counts[id(kept)][kind].get(device, 0)
            share = count / sum(counts[id(kept)][kind].values())
            cells.append(f'<td class="n heat" style="--s:{share:.3f}">{count or ""}</td>')
        rows.append(cells)
    headings = ["", *(f"{device}, {pass_name(kept)}" for kept, device in columns)]
    return table(rows, headings=headings)


def _timelines(result: Schedule) -> Iterable[str]:
    for kept in result.kept:
        yield f"<h3>{pass_name(kept)}</h3>{timeline(result, kept)}"


def _roofline(request: Request, result: Schedule) -> Iterable[str]:
    points = roofline_points(request, result)
    over = sum(point.count for point in points if point.over)
    count = sum(point.count for point in points)
    yield (
        f"<p>{count:,} operators of {len(result.kept)} passes, equal ones as one mark, with the "
        "time of loading weights in theirs. Circles and squares tell types of devices apart. "
        f"{over:,} are above their device's roofline, which no device can be; they are outlined "
        "in red.</p>"
    )
    yield roofline(result.platform.devices, points)


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<p>{title}:</p><ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>"
