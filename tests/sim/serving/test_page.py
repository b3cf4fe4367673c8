"""The page of a serving run: it stands alone, holds what the run holds, and runs in a browser."""

import json
import re

import pytest
from click.testing import CliRunner

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.metrics import measure
from fanweave.golden.timing.request_files import read_requests
from fanweave.golden.timing.serving import ServerOptions, serve
from fanweave.sim.command.main import cli
from fanweave.sim.serving import pictures
from fanweave.sim.serving.page import serve_page

TRACE = "arrival_s,input_tokens,output_tokens\n0,100,5\n0.001,200,1\n0.3,600,20\n"
PLACED = ("--platform", "a100-cxl", "--model", "qwen-1.8b")


@pytest.fixture(scope="module")
def run():
    trace = read_requests("azure-conversation").first(60)
    options = ServerOptions(deployment=Deployment(pipeline=2))
    return serve(trace, load_profile("rtxpro6000"), options, keep_steps=True)


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    return str(file)


def invoke(*arguments):
    return CliRunner().invoke(cli, ["serve", *map(str, arguments)], catch_exceptions=False)


def test_the_page_stands_alone_and_has_every_part(trace, tmp_path, read_page):
    file = tmp_path / "page.html"
    result = invoke("--requests", trace, *PLACED, "--ttft", 1, "--explain", "L3_O", "--html", file)
    assert result.exit_code == 0
    text = file.read_text()
    assert "http" not in text
    page = read_page(text)
    assert not page.links
    for heading in ("Latency", "Totals", "Timeline", "Requests", "Utilisation", "Memory"):
        assert heading in page.words
    words = " ".join(page.words)
    assert "Why it is there" in words
    # The explanation is the terminal's, title and numbers.
    title = next(word.strip() for word in page.words if word.strip().startswith("L3_O, token"))
    assert ": GPU0; us after " in title
    said = result.output.split()
    assert title in " ".join(said)
    offers = text[text.index(title) :].partition("</table>")[0]
    numbers = [number for number in re.findall(r'<td class="n">([^<]*)<', offers) if number]
    assert len(numbers) >= 2
    assert set(numbers) <= set(said)
    assert "a memory computes nothing" in words
    assert "goodput" in words
    assert "energy, assumed" in words
    # The times that the terminal has, too.
    assert format(measure_first(text), "") in result.output


def measure_first(text):
    """The mean time to first token on the page."""
    return re.search(r'<td>ttft</td><td class="n">([^<]*)<', text)[1]


def test_a_comparison_is_on_the_page(run):
    from fanweave.golden.timing.comparison import compare
    from fanweave.golden.timing.measured_server import MEASURED_SERVER

    measured = serve(
        read_requests("measured-server").first(20),
        load_profile("rtxpro6000"),
        MEASURED_SERVER,
        keep_steps=True,
    )
    page = serve_page(measured, measure(measured), compared=compare(measured))
    assert page.count("requests 1-128</td>") == 12
    assert "Against the measured server" not in serve_page(run, measure(run))


def test_boxes_are_the_work_of_every_stage(run):
    boxes = list(pictures._boxes(run))
    whole = max(run.recorder.last_at) - run.trace.requests[0].arrival
    for stage, busy in enumerate(run.recorder.uses[0].busy):
        mine = [box for box in boxes if box.row == f"replica 0, stage {stage}"]
        assert sum(box.share for box in mine) == pytest.approx(busy / whole)
        assert len(mine) == run.recorder.uses[0].steps
    assert {box.group for box in boxes} <= set(pictures.KINDS)


def test_many_steps_become_few_boxes_of_the_same_work(run, monkeypatch):
    every = list(pictures._boxes(run))
    monkeypatch.setattr(pictures, "_MOST_BOXES", 50)
    boxes = list(pictures._boxes(run))
    assert len(boxes) < len(every) / 3
    # Nothing is lost: a step lies within a box of its kind, and no box is long.
    assert max(box.share for box in boxes) <= max(1 / 50, max(box.share for box in every))
    for step in every[::97]:
        assert any(
            box.row == step.row
            and box.group == step.group
            and box.start <= step.start + 1e-12
            and step.start + step.share <= box.start + box.share + 1e-12
            for box in boxes
        )
    counts = [re.match(r"([\d,]+) steps, \w+, busy (\d+)%", box.title) for box in boxes]
    total = sum(int(found[1].replace(",", "")) if found else 1 for found in counts)
    assert total == len(every)
    assert all(0 < int(found[2]) <= 100 for found in counts if found)


def test_utilisation_over_time_is_that_of_the_run(run, monkeypatch):
    drawn = {}
    monkeypatch.setattr(pictures, "line_chart", lambda label, lines, **more: drawn.update(lines))
    pictures.utilisation(run)
    whole = max(run.recorder.last_at) - run.trace.requests[0].arrival
    for stage, busy in enumerate(run.recorder.uses[0].busy):
        _, shares = drawn[f"replica 0, stage {stage}"]
        assert sum(shares) / len(shares) == pytest.approx(busy / whole, abs=1e-6)
        assert min(shares) >= 0
        assert max(shares) <= 1 + 1e-9
    pictures.requests(run)
    assert drawn["running"][1][-1] == drawn["waiting"][1][-1] == 0
    assert max(drawn["running"][1]) <= 60
    pictures.latencies(run)
    for name in ("queue_wait", "ttft", "tpot", "end_to_end"):
        xs, ys = drawn[name]
        assert xs == sorted(xs)
        assert ys[-1] == 1.0
    assert drawn["ttft"][0][-1] == pytest.approx(
        max(
            first - request.arrival
            for first, request in zip(run.recorder.first_at, run.trace.requests, strict=True)
        )
        / 1e12
    )


def test_the_page_runs_in_a_browser_without_a_fault(run, tmp_path, browse):
    wheel = """<script>
      const svg = document.querySelector("svg.timeline"), before = svg.viewBox.baseVal.width;
      svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -300, cancelable: true}));
      document.body.dataset.found = JSON.stringify([before, svg.viewBox.baseVal.width,
        document.documentElement.scrollWidth <= document.documentElement.clientWidth]);
    </script></body>"""
    page = serve_page(run, measure(run)).replace("</body>", wheel)
    (tmp_path / "page.html").write_text(page)
    outcome = browse(tmp_path, "page.html")
    assert "CONSOLE" not in outcome.stderr, outcome.stderr
    found = json.loads(re.search(r'data-found="([^"]*)"', outcome.stdout)[1].replace("&quot;", '"'))
    assert found[0] == 1000
    assert found[1] < 600
    assert found[2]


@pytest.mark.parametrize("scheduler", ["HEFT", "Bifocal", "PEFT"])
def test_an_operator_is_explained_where_the_server_puts_it(trace, tmp_path, scheduler):
    file = tmp_path / "m.json"
    arguments = ("--requests", trace, *PLACED[2:], "--platform", "a100-pim")
    result = invoke(*arguments, "--scheduler", scheduler, "--explain", "L3_QK_s0", "--json", file)
    assert "a mean step" in result.output
    explained = json.loads(file.read_text())["explanation"]
    assert (explained["operator"], explained["phase"]) == ("L3_QK_s0", "decode")
    # 12 of 26 tokens are those of the third request, behind 600 of its prompt.
    assert explained["batch"] == 1
    assert 400 < explained["context"] < 620
    offers = {each["device"]: each for each in explained["alternatives"]}
    assert set(offers) == {"CPU0", "GPU0", *(f"PIM{i}" for i in range(5))}
    chosen = offers[explained["device"]]
    assert not chosen["refused"]
    others = [each for each in offers.values() if each["finish_s"] is not None]
    if scheduler == "HEFT":
        assert chosen["finish_s"] == min(each["finish_s"] for each in others)
    assert ("score" in chosen["terms_s"]) is (scheduler == "Bifocal")
    prefill = invoke(*arguments, "--explain", "L3_QK_s0", "--explain-phase", "prefill")
    assert "prefill of 1 sequences at 300 tokens, a mean step" in prefill.output


def test_what_cannot_be_explained(trace):
    refused = invoke("--requests", trace, "--explain", "L3_O")
    assert refused.exit_code == 2
    assert "--explain does nothing without --platform" in refused.output
    unknown = CliRunner().invoke(cli, ["serve", "--requests", trace, *PLACED, "--explain", "L3_QO"])
    assert "operator 'L3_QO' is not known; did you mean 'L3_Q" in str(unknown.exception)
