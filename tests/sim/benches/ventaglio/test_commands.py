import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fanweave.sim.command import main
from fanweave.sw.traces.trace import Trace


def run(capsys, *arguments):
    """Run the command; returns its exit status and what it printed."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


@pytest.mark.verilator
def test_small_trace_is_bit_exact_under_stalls(capsys, tmp_path, small_trace):
    file = tmp_path / "result.json"
    status, out, err = run(
        capsys, "sim", "ventaglio", "--trace", small_trace, "--config", "tiny",
        "--stall", 90, "--seed", 3, "--json", file,
    )  # fmt: skip
    assert status == 0, err
    assert "q prefill" in out
    assert "1 decode tokens" in out
    assert "all 2 cases bit-exact" in out
    document = json.loads(file.read_text())
    assert document["bit_exact"] is True
    assert document["trace"]["origin"] == "synthetic"
    assert [row["phase"] for row in document["rows"]] == ["prefill", "decode"]
    for row in document["rows"]:
        assert 0 < row["roofline_share"] <= 1
        assert 0 < row["lanes_busy"] <= 1
        causes = [value for name, value in row["counters"].items() if name.startswith("cycles_")]
        assert sum(causes) == row["counters"]["cycles"]


@pytest.mark.verilator
def test_waves_of_a_window(capsys, small_trace):
    status, _, err = run(
        capsys, "sim", "ventaglio", "--trace", small_trace, "--config", "tiny",
        "--waves", "10:60",
    )  # fmt: skip
    assert status == 0, err
    save = next(word for word in err.split() if word.endswith(".gtkw"))
    text = Path(save).read_text()
    assert "-commands" in text
    assert "-scatter window" in text
    assert "Not in this dump" not in text
    dump = Path(save).with_suffix(".vcd").read_text()
    # Ten units a cycle, and reset edges before.
    times = [int(line[1:]) for line in dump.splitlines() if line.startswith("#")]
    assert max(times) <= 70 * 10


def test_junit_names_each_case(capsys, tmp_path, small_trace, monkeypatch):
    from fanweave.golden.errors import FaultError
    from fanweave.sim.benches.ventaglio import report

    def broken(*_, **__):
        raise FaultError("first difference: drain 0")

    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(report, "verify", broken)
    status, _, err = run(capsys, "sim", "ventaglio", "--trace", small_trace, "--config", "tiny")
    assert status == 1
    assert "2 of 2 cases failed" in err
    suite = ElementTree.parse(tmp_path / "build/sim/ventaglio/junit.xml").getroot()[0]
    assert suite.get("failures") == "2"
    assert [case.get("name").rsplit(".", 1)[-1] for case in suite] == ["prefill", "decode"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "huge"], "unknown preset 'huge' of unit ventaglio; choose one of"),
        (["--trace", "no-such-trace"], "no-such-trace"),
        (["--config", "tiny", "--only", "lm_head"], "no projection's name contains 'lm_head'"),
        (["--waves", "30:10"], "30:10"),
        (["--stall", "256"], "256"),
        (["--config", "fp32"], "element format FP16 is not built in this configuration"),
    ],
)
def test_bad_input_is_refused(capsys, arguments, message):
    status, out, err = run(capsys, "sim", "ventaglio", *arguments)
    assert status == 2
    assert message in err
    assert out == ""


def test_json_file_that_cannot_be_written_is_refused_before_the_run(capsys, tmp_path):
    status, _, err = run(
        capsys, "sim", "ventaglio", "--config", "tiny", "--json", tmp_path / "no" / "x.json"
    )
    assert status == 2
    assert "x.json" in err


def test_damaged_trace_is_refused(capsys, small_trace):
    data = small_trace.read_bytes()
    small_trace.write_bytes(data[: len(data) // 2])
    status, _, err = run(capsys, "sim", "ventaglio", "--trace", small_trace, "--config", "tiny")
    assert status == 2
    assert str(small_trace) in err


def test_small_trace_is_what_the_tests_think(small_trace):
    operand = Trace.load(small_trace).operands[0]
    assert operand.shape == (24, 72)
    assert operand.phases == ("prefill",) * 3 + ("decode",)
