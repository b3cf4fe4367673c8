"""Pictures of a trace's layers: shares of the roofline, causes of stalls, gain against zeros."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from fanweave.sim.report.html_parts import plot

__all__ = ["CAUSES", "gain_chart", "shares_chart", "stalls_chart"]

#: Counters of cycles by what the lanes did or waited for: name, words and colour.
CAUSES = {
    "cycles_issue": ("products", "#0072b2"),
    "cycles_conflict": ("bank conflicts", "#d55e00"),
    "cycles_hazard": ("hazards", "#cc79a7"),
    "cycles_order": ("order of a window", "#e69f00"),
    "cycles_drain": ("drain", "#56b4e9"),
    "cycles_activations": ("activations", "#009e73"),
    "cycles_rows": ("rows", "#f0e442"),
    "cycles_weights": ("weights", "#999999"),
    "cycles_indices": ("indices", "#666666"),
    "cycles_other": ("fill and commands", "#bbbbbb"),
}
_LEFT, _WIDTH, _ROW = 230, 520, 24


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['projection'].split('.')[-1]}, {row['phase']}"


def _labels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f'<text x="{_LEFT - 8}" y="{_ROW * at + 17}" class="end">{html.escape(_label(row))}</text>'
        for at, row in enumerate(rows)
    ]


def _bar(at: int, x: float, width: float, colour: str, title: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{_ROW * at + 4}" width="{width:.2f}" height="{_ROW - 8}" '
        f'fill="{colour}"><title>{html.escape(title)}</title></rect>'
    )


def shares_chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """Shares of the roofline as bars, one a layer and phase."""
    drawn = _labels(rows)
    for at, row in enumerate(rows):
        share = row["roofline_share"]
        title = f"{row['bound_cycles']:,.0f} of {row['cycles']:,} cycles"
        drawn.append(_bar(at, _LEFT, share * _WIDTH, "#0072b2", title))
        end = _LEFT + share * _WIDTH + 6
        drawn.append(f'<text x="{end:.1f}" y="{_ROW * at + 17}">{share:.1%}</text>')
    height = _ROW * len(rows) + 4
    drawn.append(f'<path class="grid" d="M{_LEFT + _WIDTH} 0V{height}"/>')
    return plot("share of the roofline", _LEFT + _WIDTH + 60, height, drawn)


def stalls_chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """What each layer's cycles went into, as parts of a bar."""
    drawn = _labels(rows)
    for at, row in enumerate(rows):
        counters = row["counters"]
        total, x = counters["cycles"], float(_LEFT)
        for counter, (words, colour) in CAUSES.items():
            width = counters[counter] / total * _WIDTH
            if width:
                title = f"{words}: {counters[counter]:,} of {total:,} cycles"
                drawn.append(_bar(at, x, width, colour, title))
            x += width
    return plot("causes of stalls", _LEFT + _WIDTH + 60, _ROW * len(rows) + 4, drawn)


def gain_chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """Gain over dense against the share of products that are left, with the ideal as a line."""
    width, height, left, foot = 560, 300, 60, 260
    most = max(2.0, *(row["speedup_over_dense"] for row in rows), *(_ideal(row) for row in rows))

    def x(kept: float) -> float:
        return left + (1 - kept) * width

    def y(gain: float) -> float:
        return foot - (gain - 1) / (most - 1) * (foot - 20)

    least = min(_kept(row) for row in rows)
    steps = [1 - (1 - least) * step / 40 for step in range(41)]
    curve = " ".join(f"{x(kept):.1f} {y(1 / kept):.1f}" for kept in steps)
    drawn = [f'<polyline class="roof" points="{curve}"/>']
    for tenth in range(0, 11, 2):
        at = x(1 - tenth / 10)
        drawn.append(f'<path class="grid" d="M{at:.1f} 20V{foot}"/>')
        drawn.append(f'<text x="{at:.1f}" y="{foot + 16}" class="mid">{tenth * 10}%</text>')
    for gain in range(1, int(most) + 1):
        drawn.append(f'<path class="grid" d="M{left} {y(gain):.1f}H{left + width}"/>')
        drawn.append(f'<text x="{left - 6}" y="{y(gain) + 4:.1f}" class="end">{gain}x</text>')
    for row in rows:
        title = f"{_label(row)}: {row['speedup_over_dense']:.2f}x of an ideal {_ideal(row):.2f}x"
        drawn.append(
            f'<circle cx="{x(_kept(row)):.1f}" cy="{y(row["speedup_over_dense"]):.1f}" r="4" '
            f'fill="#0072b2"><title>{html.escape(title)}</title></circle>'
        )
    middle = left + width / 2
    drawn.append(f'<text x="{middle}" y="{foot + 34}" class="mid">products left out</text>')
    return plot("gain over dense against zeros", left + width + 20, height, drawn)


def _kept(row: Mapping[str, Any]) -> float:
    """Share of the dense products that are left."""
    kept: float = (1 - row["weight_sparsity"]) * (1 - row["activation_sparsity"])
    return kept


def _ideal(row: Mapping[str, Any]) -> float:
    return 1 / _kept(row)
