"""Pictures of a placement as SVG: timeline, roofline, bars."""

import html
import math
from collections.abc import Mapping, Sequence

from fanweave.golden.dops.passlog import PURPOSES
from fanweave.golden.dops.platforms import Device
from fanweave.golden.dops.schedule import KeptPass, Schedule
from fanweave.sim.placement.roofline import RooflinePoint, roof
from fanweave.sim.report.html_parts import Box, lanes, plot

__all__ = ["GROUPS", "bars", "group_of", "roofline", "timeline"]

#: Groups of kinds with their colours, which people with colour blindness can tell apart.
GROUPS: dict[str, tuple[str, frozenset[str]]] = {
    "projections": ("#0072b2", frozenset({"Q", "K", "V", "O"})),
    "attention": ("#d55e00", frozenset({"QK", "Softmax", "SV"})),
    "feed-forward": ("#009e73", frozenset({"FFN_W1", "FFN_W2", "FFN_W3", "Router"})),
    "element-wise": ("#e69f00", frozenset({"LN", "Add", "SwiGLU"})),
    "keys and values": ("#cc79a7", frozenset({"K_write", "V_write", "read history"})),
    "links": ("#777777", frozenset({"AllReduce", "Reduce", "Scatter", *PURPOSES})),
}
_LEFT, _TOP, _PLOT_W, _PLOT_H = 70, 15, 640, 380
_MARKS = ("circle", "square", "diamond", "triangle")


def group_of(kind: str) -> str:
    """The group of a kind of operator or message; the last one if it has none."""
    for group, (_, kinds) in GROUPS.items():
        if kind in kinds:
            return group
    return list(GROUPS)[-1]


def timeline(result: Schedule, kept: KeptPass) -> str:
    """A pass: one row a device, then one a link in use."""
    log, operators = kept.log, result.flat.graph.operators
    names = [device.name for device in result.platform.devices]
    found: list[tuple[str, str, str, int, int]] = []
    for index, operator in enumerate(operators):
        row = result.device(kept, index)
        times = int(log.start[index]), int(log.finish[index])
        found.append((row, operator.kind.value, operator.name, *times))
    for operator_index, device, start, finish in log.reads.tolist():
        name = operators[operator_index].name
        found.append((names[device], "read history", f"history of {name}", start, finish))
    for purpose, operator_index, source, target, start, finish in log.messages.tolist():
        name = f"{PURPOSES[purpose]} of {operators[operator_index].name}"
        row = f"{names[source]} to {names[target]}"
        found.append((row, PURPOSES[purpose], name, start, finish))
    taking = [each for each in found if each[4] > each[3]]
    used = {row for row, *_ in taking}
    rows = [name for name in (*names, "links") if name in used]
    rows += sorted(used - set(rows))
    begin = min(start for *_, start, _ in taking)
    span = max(finish for *_, finish in taking) - begin
    boxes = [
        Box(
            row=row,
            group=group_of(kind),
            title=f"{name}, ends at {finish / 1e9:.6f} ms",
            start=(start - begin) / span,
            share=(finish - start) / span,
        )
        for row, kind, name, start, finish in taking
    ]
    return lanes(boxes, GROUPS, rows=rows)


def roofline(devices: Sequence[Device], points: Sequence[RooflinePoint]) -> str:
    """Rooflines of the devices that have points, and all points, on logarithmic axes."""
    used = sorted({point.device_index for point in points})
    low_x, high_x = _decades([point.intensity for point in points])
    rates = [point.rate for point in points]
    rates += [roof(devices[index], 10**high_x) for index in used]
    low_y, high_y = _decades(rates)

    def x(value: float) -> float:
        return _LEFT + (math.log10(value) - low_x) / (high_x - low_x) * _PLOT_W

    def y(value: float) -> float:
        return _TOP + (high_y - math.log10(value)) / (high_y - low_y) * _PLOT_H

    drawn = []
    for decade in range(low_x, high_x + 1):
        at, foot = x(10.0**decade), _TOP + _PLOT_H
        drawn.append(f'<path class="grid" d="M{at:.1f} {_TOP}V{foot}"/>')
        drawn.append(f'<text x="{at:.1f}" y="{foot + 16}" class="mid">1e{decade}</text>')
    for decade in range(low_y, high_y + 1):
        at = y(10.0**decade)
        drawn.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{_LEFT + _PLOT_W}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" class="end">1e{decade}</text>')
    seen: dict[tuple[float, float], str] = {}
    for index in used:
        device = devices[index]
        seen.setdefault((device.peak_tflops, device.bandwidth_gib), device.name)
    for (peak, bandwidth), name in seen.items():
        device = next(d for d in devices if d.name == name)
        knee = peak * 1e12 / (bandwidth * (1 << 30))
        corners = [10.0**low_x, min(max(knee, 10.0**low_x), 10.0**high_x), 10.0**high_x]
        path = " ".join(f"{x(c):.1f} {y(max(roof(device, c), 10.0**low_y)):.1f}" for c in corners)
        drawn.append(f'<polyline class="roof" points="{path}"/>')
        top = y(roof(device, corners[-1]))
        drawn.append(f'<text x="{_LEFT + _PLOT_W}" y="{top - 5:.1f}" class="end">{name}</text>')
    types = list(dict.fromkeys(devices[index].type for index in used))
    for point in points:
        mark = _MARKS[types.index(devices[point.device_index].type) % len(_MARKS)]
        drawn.append(_mark(point, mark, x(point.intensity), y(point.rate)))
    foot = _TOP + _PLOT_H + 34
    drawn.append(f'<text x="{_LEFT + _PLOT_W / 2}" y="{foot}" class="mid">operations a byte</text>')
    drawn.append(
        f'<text transform="translate(16 {_TOP + _PLOT_H / 2}) rotate(-90)" class="mid">'
        "operations a second</text>"
    )
    return plot("roofline", _LEFT + _PLOT_W + 20, foot + 8, drawn)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _mark(point: RooflinePoint, mark: str, x: float, y: float) -> str:
    when = "prefill" if point.phase == "prefill" else f"token {point.token}"
    title = (
        f"{point.count} x {point.kind} on {point.device}, {when}: {point.intensity:.4g} operations "
        f"a byte, {point.rate:.4g} a second, {point.share:.1%} of the roofline"
    )
    over = " over" if point.over else ""
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"',
        "square": f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
        "diamond": f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"',
        "triangle": f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"',
    }
    tag = shapes[mark][1:].split()[0]
    group = f"g{list(GROUPS).index(group_of(point.kind))}{over}"
    return f'{shapes[mark]} class="{group}"><title>{title}</title></{tag}>'


def bars(totals: Mapping[str, tuple[float, float]], chosen: str) -> str:
    """Prefill and decode of several schedulers, the quickest first, in seconds."""
    most = max(prefill + decode for prefill, decode in totals.values())
    drawn = []
    ordered = sorted(totals.items(), key=lambda item: sum(item[1]))
    for row, (name, (prefill, decode)) in enumerate(ordered):
        y, scale = row * 26, 560 / most
        weight = ' class="end chosen"' if name == chosen else ' class="end"'
        drawn.append(f'<text x="92" y="{y + 17}"{weight}>{html.escape(name)}</text>')
        drawn.append(
            f'<rect class="g0" x="100" y="{y + 4}" height="18" width="{prefill * scale:.2f}"/>'
        )
        drawn.append(
            f'<rect class="g2" x="{100 + prefill * scale:.2f}" y="{y + 4}" height="18" '
            f'width="{decode * scale:.2f}"/>'
        )
        end = 106 + (prefill + decode) * scale
        drawn.append(f'<text x="{end:.1f}" y="{y + 17}">{prefill + decode:.4f} s</text>')
    return plot("schedulers", 760, 26 * len(ordered), drawn)
