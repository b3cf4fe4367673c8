from xml.etree import ElementTree

import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.waves import Timebase, draw_svg, read_waveform

NAMES = ["top.clk", "top.in__payload", "top.unit.table[0]"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def picture(dump):
    waveform = read_waveform(dump, NAMES)
    text = draw_svg(waveform, NAMES, title="a < b", timebase=Timebase(period=10), marker=3)
    return ElementTree.fromstring(text)


def texts(picture, kind=None):
    return [item.text for item in picture.iter(SVG + "text") if item.get("class") == kind]


def test_names_title_and_axis(picture):
    assert texts(picture) == NAMES
    assert texts(picture, "title") == ["a < b"]
    assert texts(picture, "axis") == ["2", "3", "4", "5"]


def test_values_are_hexadecimal_and_unknown_ones_stand_out(picture):
    assert texts(picture, "value") == ["5", "6", "xxxxxxxx", "aa"]
    assert len(picture.findall(f".//{SVG}path[@class='unknown']")) == 1
    assert len(picture.findall(f".//{SVG}path[@class='bus']")) == 3


def test_a_wire_rises_and_falls_at_the_right_places(picture):
    (wire,) = picture.findall(f".//{SVG}path[@class='wire']")
    points = [tuple(map(float, point.split())) for point in wire.get("d")[1:].split(" L")]
    width = (points[-1][0] - points[0][0]) / 6  # six half periods from 20 to 50
    high, low = points[0][1], points[2][1]
    assert high < low
    for half in range(6):
        assert points[2 * half][0] == pytest.approx(points[0][0] + half * width, abs=0.2)
        assert points[2 * half][1] == (low if half % 2 else high)


def test_the_marker_stands_at_its_cycle(picture):
    (marker,) = picture.findall(f".//{SVG}line[@class='marker']")
    grid = picture.findall(f".//{SVG}line[@class='grid']")
    assert marker.get("x1") == grid[1].get("x1")


def test_nothing_to_draw_is_refused(dump):
    with pytest.raises(InputError, match="no signal was chosen"):
        draw_svg(read_waveform(dump, NAMES), [], title="", timebase=Timebase())
