"""Lines where they belong, on even and on logarithmic axes."""

import re

import pytest

from fanweave.sim.report.line_chart import COLOURS, line_chart

LEFT, WIDTH, TOP, HEIGHT = 60, 660, 10, 200


def paths(svg):
    return [
        re.findall(r"[MLHV]([\d.]+)(?: ([\d.]+))?", path)
        for path in re.findall(r'<path d="([^"]*)" fill="none"', svg)
    ]


def test_points_stand_where_their_values_say():
    (path,) = paths(line_chart("a", {"one": ([0, 5, 10], [0, 2, 1])}, unit="s", top=4.0))
    assert [float(x) for x, _ in path] == pytest.approx([LEFT, LEFT + WIDTH / 2, LEFT + WIDTH])
    assert [float(y) for _, y in path] == pytest.approx(
        [TOP + HEIGHT, TOP + HEIGHT / 2, TOP + 0.75 * HEIGHT]
    )


def test_decades_are_equally_wide():
    svg = line_chart("a", {"one": ([0.0, 0.1, 10.0], [0, 1, 1])}, unit="s", logarithmic=True)
    ((zero, _), (tenth, _), (ten, _)) = paths(svg)[0]
    # From 0.1 to 100: three decades.
    assert float(zero) == float(tenth) == LEFT
    assert float(ten) == pytest.approx(LEFT + WIDTH * 2 / 3, abs=0.1)


def test_steps_go_across_and_then_up():
    svg = line_chart("a", {"one": ([0, 10], [1, 2])}, unit="s", steps=True)
    assert re.search(r'd="M60\.0 110\.0H720\.0V10\.0"', svg)


def test_each_line_has_its_colour_and_its_name():
    svg = line_chart("a <b>", {"one": ([0, 1], [1, 1]), "<two>": ([], [])}, unit="s")
    assert "<two>" not in svg
    assert "&lt;two&gt;" in svg
    assert len(paths(svg)) == 1
    assert all(f"background:{colour}" in svg for colour in COLOURS[:2])
    assert "svg" not in line_chart("none", {"one": ([], [])}, unit="s")
