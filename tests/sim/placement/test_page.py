import pytest
from click.testing import CliRunner

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.registry import Request, place
from fanweave.golden.dops.simulate import Workload
from fanweave.sim.command.main import cli
from fanweave.sim.placement.pictures import GROUPS, bars, group_of
from fanweave.sim.placement.roofline import roof, roofline_points


def request(record, *, batch=4, prefill=256):
    return Request(
        model=load_model("qwen-1.8b"),
        platform=load_platform("hp32"),
        workload=Workload(batch=batch, prefill=prefill, decode=2),
        record=load_record(record),
        scheduler="PD",
    )


def test_the_page_stands_alone_and_has_every_part(tmp_path, read_page):
    file = tmp_path / "page.html"
    sizes = ["--prefill", "64", "--decode", "2"]
    arguments = ["place", "--model", "qwen-1.8b", "--platform", "hp32", *sizes, "--html", str(file)]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    text = file.read_text()
    assert "http" not in text
    page = read_page(text)
    assert not page.links
    for heading in ("Schedulers", "Placement", "Timeline", "Roofline", "Rules"):
        assert heading in page.words
    # Three passes, schedulers and roofline.
    assert page.counts["svg"] == 5
    # Every operator that takes time stands on a timeline.
    assert page.counts["rect"] > 2 * 28 * 30


def test_fast_costs_stay_below_the_roofline_and_the_surrogates_do_not():
    for record, above in (("log", False), ("trace", True)):
        # With so many rows the surrogates' products are quicker than the peak allows.
        asked = request(record, batch=16, prefill=2048)
        points = roofline_points(asked, place(asked, "imitation"))
        npu = [point for point in points if point.device == "NPU0"]
        assert npu
        assert any(point.over for point in npu) is above


def test_every_operator_that_computes_is_counted():
    asked = request("log")
    result = place(asked, "imitation")
    points = roofline_points(asked, result)
    # Of 32 operators of a layer two are sums over pieces and four store keys and values.
    assert sum(point.count for point in points) == 3 * 28 * 26


def test_a_roof_has_a_slope_and_a_top():
    device = load_platform("hp32").devices[1]
    assert roof(device, 1e9) == pytest.approx(280e12)
    assert roof(device, 1.0) == pytest.approx(819.2 * 2**30)


def test_groups_cover_all_and_bars_are_in_order():
    assert group_of("QK") == "attention"
    assert group_of("what is new") == list(GROUPS)[-1] == "links"
    drawn = bars({"slow": (1.0, 2.0), "<quick>": (0.5, 0.5)}, "slow")
    assert drawn.index("&lt;quick&gt;") < drawn.index("slow")
