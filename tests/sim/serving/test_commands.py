import csv
import io
import json

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
        (("--requests", "azure-conversation", "--rate", 0), "must be over 0"),
        (("--requests", "azure-conversation", "--compare"), "has no measured times"),
        (("--requests", "azure-conversation", "--json", "no/such/file"), "does not exist"),
        (("--requests", "azure-conversation", "--tensor", 3), "must divide"),
        (("--requests", "azure-conversation", "--replicas", 0), "replicas = 0 is too small"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        run("serve", *arguments)


def test_a_rate_cannot_be_found_without_limits():
    result = run("serve", "--requests", "azure-conversation", "--first", 5, "--find-rate")
    assert result.exit_code == 2
    assert "needs a limit" in result.output
