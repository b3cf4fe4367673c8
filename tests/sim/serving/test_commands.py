import csv
import io
import json
import re

import pytest
from click.testing import CliRunner

from fanweave.golden.dops.calibration.profile import data_folder
from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)


def test_calibrate_prints_errors_on_held_out_data(tmp_path):
    file = tmp_path / "fit.json"
    measured = data_folder() / "llmcompass_matmul_A100.csv"
    result = run("calibrate", measured, "--processors", 108, "--json", file)
    assert result.exit_code == 0
    assert "all products" in result.output
    assert "shapes" in result.output
    rows = json.loads(file.read_text())["rows"]
    assert {row["held_out"] for row in rows} == {"rows", "shapes"}
    assert rows[0]["parameters"]["flops_per_s"] > 2e14
    assert rows[0]["mean_error"] <= rows[0]["goal"]


def test_calibrate_with_the_document_on_standard_output(tmp_path):
    file = tmp_path / "own.csv"
    lines = [f"proj,{m},512,256,{3 + m / 100}" for m in range(1, 40)]
    file.write_text("\n".join(["operator,m,n,k,time_us", *lines, lines[0]]))
    result = run("calibrate", file, "--json", "-")
    assert json.loads(result.stdout)["repeated_rows"] == 1
    assert "1 rows at sizes that stood there before" in result.stderr


def test_serve_writes_metrics_and_times(tmp_path):
    trace, metrics, times = (tmp_path / name for name in ("trace.csv", "m.json", "t.csv"))
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,100,5\n0.001,200,1\n")
    result = run("serve", "--requests", trace, "--ttft", 10, "--json", metrics, "--csv", times)
    assert result.exit_code == 0
    document = json.loads(metrics.read_text())
    assert document["requests"] == 2
    assert document["attained"] == 1.0
    assert document["latencies_s"]["ttft"]["count"] == 2
    assert document["latencies_s"]["tpot"]["count"] == 1
    rows = list(csv.DictReader(io.StringIO(times.read_text())))
    assert rows[1]["arrival_s"] == "0.001000000000"
    assert rows[1]["first_token_s"] == rows[1]["last_token_s"]


def test_serve_beside_measured_times():
    result = run("serve", "--requests", "measured-server", "--compare", "--json", "-")
    rows = json.loads(result.stdout)["comparison"]
    assert len(rows) == 24
    assert "trivial" in result.stderr
    assert "errors of single requests" in result.stderr


def test_serve_with_everything_at_once():
    result = run(
        *("serve", "--requests", "azure-conversation", "--first", 60, "--rate", 20),
        *("--tensor", 2, "--pipeline", 2, "--prefill-replicas", 1, "--decode-replicas", 2),
        *("--kv-bits", 8, "--no-graphs", "--synchronous", "--tpot", 0.1, "--find-rate"),
    )
    assert result.exit_code == 0
    assert "warning: 100.0% of the steps lie outside" in result.stderr
    assert "highest rate within the limits" in result.output
    assert "link utilisation, 0 to 1" in result.output


def test_launches_without_graphs_take_longer():
    times = []
    for graphs in ("--graphs", "--no-graphs"):
        result = run(
            *("serve", "--requests", "azure-conversation", "--first", 20, graphs),
            *("--kernel-us", 100, "--json", "-"),
        )
        times.append(json.loads(result.stdout)["latencies_s"]["itl"]["p50"])
    assert times[1] > 2 * times[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--requests", "none.csv"), "cannot be read"),
        (("--requests", "azure-conversation", "--profile", "h100"), "profile 'h100' is not known"),
        (("--requests", "azure-conversation", "--kv-blocks", 5), "tokens are missing"),
        (("--requests", "azure-conversation", "--decode-replicas", 1), "give both, or neither"),
        (("--requests", "azure-conversation", "--rate", 0), "must be a finite number over 0"),
        (("--requests", "azure-conversation", "--compare"), "has no measured times"),
        (("--requests", "azure-conversation", "--json", "no/such/file"), "does not exist"),
        (("--requests", "azure-conversation", "--tensor", 3), "must divide"),
        (("--requests", "azure-conversation", "--replicas", 0), "replicas = 0 must be at least 1"),
        (("--requests", "azure-conversation", "--block-tokens", 0), "block_tokens = 0"),
        (("--requests", "azure-conversation", "--kernel-us", "nan"), "--kernel-us = nan"),
        (("--requests", "azure-conversation", "--eager-us", "inf"), "--eager-us = inf"),
        (
            ("--requests", "azure-conversation", "--json", "one", "--csv", "./one"),
            "two outputs go to .*one; give each",
        ),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        run("serve", *arguments)


def test_a_rate_cannot_be_found_without_limits():
    result = run("serve", "--requests", "azure-conversation", "--first", 5, "--find-rate")
    assert result.exit_code == 2
    assert "--find-rate does nothing without --ttft or --tpot or --end-to-end" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--platform", "hp32", "--compare"), "--compare does not go with --platform"),
        (("--platform", "hp32", "--tensor", 2), "--tensor does not go with --platform"),
        (("--platform", "hp32", "--kv-bits", 8), "--kv-bits does not go with --platform"),
        (
            ("--platform", "hp32", "--no-graphs"),
            "--graphs/--no-graphs does not go with --platform: it is for measured devices",
        ),
        (("--compare", "--max-sequences", 5), "--max-sequences does not go with --compare"),
        (("--scheduler", "PD"), "--scheduler does nothing without --platform"),
        (("--model", "qwen-7b"), "--model does nothing without --platform"),
        (("--explain", "L0_QK_s0"), "--explain does nothing without --platform"),
        (("--platform", "hp32", "--explain-phase", "prefill"), "without --explain"),
        (("--no-cache-hits",), "does nothing without --compare"),
        (("--share", 0.5), "--share does nothing without --ttft"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(tmp_path, arguments, words):
    file = tmp_path / "metrics.json"
    result = run("serve", "--requests", "measured-server", "--json", file, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", " ").split())
    assert not file.exists()


def test_serve_beside_measured_times_with_and_without_cache_hits(tmp_path):
    known = run("serve", "--requests", "measured-server", "--first", 70, "--compare")
    assert re.search(r"^[1-4] requests found a part of their prompts", known.output, re.MULTILINE)
    blind = run(
        "serve", "--requests", "measured-server", "--first", 70, "--compare", "--no-cache-hits"
    )
    assert "found a part" not in blind.output
    # A trace of which no steps can be counted: two equal requests with other numbers of tokens.
    twins = tmp_path / "twins.jsonl"
    times = {"queued_ts": 1.0, "scheduled_ts": 1.1, "first_token_ts": 1.2, "last_token_ts": 2.0}
    rows = [{"request_id": str(n), "input_toks": 50, "output_toks": n, **times} for n in (20, 30)]
    twins.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("serve", "--requests", twins, "--compare")
    assert result.exit_code == 0
    assert "what the server found in its cache is not known: " in result.stderr


def test_serve_against_another_run(tmp_path):
    trace, before = tmp_path / "trace.csv", tmp_path / "before.json"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,100,50\n0.001,200,40\n")
    assert run("serve", "--requests", trace, "--json", before).exit_code == 0
    same = run("serve", "--requests", trace, "--against", before)
    assert "against the other run" in same.output
    assert "%" not in same.output.split("against the other run")[1]
    slow = run("serve", "--requests", trace, "--intake-us", 1000, "--against", before)
    (line,) = [each for each in slow.output.splitlines() if each.strip().startswith("ttft p50")]
    kept = json.loads(before.read_text())["latencies_s"]["ttft"]["p50"]
    name, number, was, now, difference, relative = line.split()
    assert (name, number) == ("ttft", "p50")
    assert float(was) == pytest.approx(kept, rel=1e-3)
    assert float(now) - float(was) == pytest.approx(float(difference), abs=1e-4)
    assert float(difference) > 0.0004
    assert relative.startswith("+")


def test_serve_against_what_cannot_be_compared(tmp_path):
    trace, other = tmp_path / "trace.csv", tmp_path / "other.json"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,100,5\n")
    for text, words in (
        ("{", "is no JSON"),
        ("{}", "has no 'latencies_s'; give a file that 'fanweave serve --json' wrote"),
        ('{"latencies_s": {}, "trace": "x"}', "differ in trace: 'x' and"),
    ):
        other.write_text(text)
        with pytest.raises(InputError, match=words):
            run("serve", "--requests", trace, "--against", other)
    with pytest.raises(InputError, match="no cannot be read"):
        run("serve", "--requests", trace, "--against", tmp_path / "no")


def test_serve_on_a_platform_whose_steps_are_placed(tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,60,4\n0.001,40,3\n")
    common = ("serve", "--requests", trace, "--platform", "hp32", "--max-sequences", 2)
    result = run(*common, "--json", "-")
    document = json.loads(result.stdout)
    assert document["requests"] == 2
    assert document["extrapolated_share"] == 1.0
    assert "passes were placed by HEFT" in result.stderr
    assert "costs of hp32 come from its cards" in " ".join(result.stderr.split())


def test_the_highest_rate_of_a_platform(tmp_path):
    trace, metrics = tmp_path / "trace.csv", tmp_path / "m.json"
    rows = "".join(f"{i},{200 + 50 * (i % 3)},{20 + i % 5}\n" for i in range(12))
    trace.write_text("arrival_s,input_tokens,output_tokens\n" + rows)
    server = ("--platform", "a100-pim", "--model", "qwen-1.8b", "--max-sequences", 4)
    limits = ("--ttft", 0.05, "--share", 0.9)
    result = run("serve", "--requests", trace, *server, *limits, "--find-rate", "--json", metrics)
    rate = json.loads(metrics.read_text())["highest_rate"]
    assert f"highest rate within the limits: {rate:.4g}" in result.output
    for factor, keeps in ((0.98, True), (1.02, False)):
        run(
            "serve",
            "--requests",
            trace,
            *server,
            *limits,
            "--rate",
            rate * factor,
            "--json",
            metrics,
        )
        assert (json.loads(metrics.read_text())["attained"] >= 0.9) is keeps
