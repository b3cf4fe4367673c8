import json
import sys
import types

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.report import BenchRow, commands


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Register a benchmark that notes what it was asked for."""
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path / "build"))
    calls = []

    def rows(quick, seed):
        calls.append((quick, seed))
        return [BenchRow(case="a", metric="cycles", value=3, unit="cycles", origin="rtl")]

    module = types.ModuleType("bench_of_this_test")
    module.rows = rows
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(commands.BENCHES, "example", "bench_of_this_test:rows")
    return calls


def call(*arguments):
    return CliRunner().invoke(commands.bench, arguments, catch_exceptions=False)


def test_a_bench_runs_and_writes_its_rows(asked, tmp_path):
    file = tmp_path / "rows.json"
    outcome = call("example", "--quick", "--seed", "7", "--json", str(file))
    assert outcome.exit_code == 0
    assert asked == [(True, 7)]
    assert json.loads(file.read_text())["rows"][0]["value"] == 3
    assert "bench example, seed 7" in outcome.stdout


@pytest.mark.parametrize(("arguments", "stem"), [((), "example"), (("--quick",), "example.quick")])
def test_rows_are_kept_for_the_report(asked, tmp_path, arguments, stem):
    call("example", *arguments)
    document = json.loads((tmp_path / "build" / "bench" / f"{stem}.json").read_text())
    assert document["rows"][0]["value"] == 3


def test_json_alone_goes_to_standard_output(asked):
    outcome = call("example", "--json", "-")
    assert json.loads(outcome.stdout)["seed"] == asked[0][1]
    assert asked[0][0] is False
    assert "bench example" in outcome.stderr


def test_an_unknown_bench_is_refused_with_the_list():
    message = (
        r"benchmark 'nope' is not known; "
        r"choose one of cluster, core, dops, dops-optimum, ebpf, fp, serving, sim-speed, switch, "
        r"system, ventaglio"
    )
    with pytest.raises(InputError, match=message):
        call("nope")


def test_an_impossible_output_is_refused_before_the_run(asked, tmp_path):
    with pytest.raises(InputError, match="does not exist; create it first"):
        call("example", "--json", str(tmp_path / "missing" / "rows.json"))
    assert asked == []


def test_an_option_that_a_bench_does_not_take_is_refused():
    with pytest.raises(InputError, match="benchmark serving takes no --part"):
        CliRunner().invoke(commands.bench, ["serving", "--part", "x"], catch_exceptions=False)
