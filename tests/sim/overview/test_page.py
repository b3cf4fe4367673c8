"""The page of results, from made-up results."""

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli
from fanweave.sim.overview.published import best_row, published_figures
from fanweave.sim.overview.results import load_results
from fanweave.sim.report import BenchRow
from fanweave.sim.report.commands import BENCHES


@pytest.fixture
def page(read_page):
    """Makes the page of a build folder; gives its text, and what it holds."""

    def made(root):
        outcome = CliRunner().invoke(cli, ["report"], catch_exceptions=False)
        assert outcome.exit_code == 0
        text = (root / "report" / "index.html").read_text()
        return text, read_page(text)

    return made


def test_the_page_stands_alone_and_has_every_part(root, page):
    text, found = page(root)
    assert "http" not in text
    for words in (
        "Beside published figures",
        "A sparse layer through Ventaglio",
        "Where the cycles went",
        "Gain over dense",
        "better: subnet: in the subnet",
        "ebpf (seed 1): 1 of 2 goals reached",
        "What the loop changed",
        "Round 2: 1 costs changed, 1 operators moved",
        "busy lanes alone; L0_Q on X0, 1 us before Y0, now on Y0, 2 us before X0",
    ):
        assert words in found.words
    assert "<up>" not in text
    assert "<model>" not in text
    for link in found.links:
        assert (root / "report" / link).resolve().is_file()
    assert "../sim/ventaglio/first.vcd" in found.links


def test_worse_than_published_is_said(root, bench, row, page):
    bench("ebpf", "ebpf", [row(value=42)])
    assert "worse: subnet: in the subnet" in page(root)[1].words


def test_a_quick_run_counts_only_alone(root, bench, row):
    bench("ebpf.quick", "ebpf", [row(value=1)])
    bench("core.quick", "core", [row(value=2)])
    results = load_results(root)
    assert [found.value for found in results.rows["ebpf"]] == [22, 50]
    assert results.seeds["core"] == ["seed 1, quick"]


def test_parts_of_a_benchmark_come_together(root, bench, row):
    bench("dops.a", "dops", [row(value=1)])
    bench("dops.b", "dops", [row(value=2)], seed=2)
    results = load_results(root)
    assert [found.value for found in results.rows["dops"]] == [1, 2]
    assert results.seeds["dops"] == ["seed 1", "seed 2"]


def test_an_empty_folder_gives_a_page(tmp_path, monkeypatch, page):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    _, found = page(tmp_path)
    assert "not measured yet: fanweave bench ebpf" in found.words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"name": "ebpf"}', "has no 'rows'"),
        ('{"name": "ebpf", "rows": [{"cases": 1}]}', "unexpected keyword argument 'cases'"),
    ],
)
def test_a_broken_result_is_named(root, text, message):
    (root / "bench" / "ebpf.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_results(root)


def test_a_broken_loop_is_named(root):
    (root / "system" / "loop.json").write_text('{"rounds": []}')
    with pytest.raises(InputError, match=r"loop.json has no 'changes'"):
        load_results(root)


def test_the_best_row_answers_a_figure():
    figure = next(each for each in published_figures() if each.better == "less")
    rows = [
        BenchRow(case=figure.case, metric=figure.metric, value=value, unit="cycles", origin="rtl")
        for value in (30, 20, 40)
    ]
    assert best_row(figure, {figure.bench: rows}).value == 20
    assert best_row(figure, {}) is None


def test_published_figures_name_benchmarks_that_there_are():
    # The cluster's has its figures here before it can be run.
    assert {figure.bench for figure in published_figures()} <= {*BENCHES, "cluster"}
