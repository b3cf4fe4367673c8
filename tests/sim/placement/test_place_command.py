import csv
import io
import json

import pytest
from click.testing import CliRunner

from fanweave.golden.dops.registry import scheduler_names
from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli

SMALL = ("--model", "qwen-1.8b", "--platform", "hp32", "--prefill", 64, "--decode", 4)
PLATFORM = """
name = "own"
topology = "fc"
link = {{ bandwidth_gib = 30.0 }}

[[devices]]
name = "CPU0"
type = "cpu"
peak_tflops = 0.001
bandwidth_gib = 100.0
capacity_gib = {host}
source = "test"

[[devices]]
name = "NPU0"
type = "npu"
peak_tflops = 280.0
bandwidth_gib = 819.2
capacity_gib = {npu}
source = "test"
{more}
"""


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)


def test_the_document_has_the_times_and_what_was_checked():
    result = run("place", *SMALL, "--scheduler", "pd", "--json", "-")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["scheduler"] == "PD"
    assert (document["mode"], document["record"]) == ("imitation", "log")
    assert 0 < document["lower_bound_s"] < document["total_s"]
    total = document["prefill_s"] + document["decode_s"]
    assert document["total_s"] == pytest.approx(total, abs=1e-12)
    assert "bytes are conserved" in document["checked_rules"]
    assert "a token follows the one before" in document["waived_rules"]
    assert document["placement"]["token 3"]["QK"] == {"PIM0": 28, "PIM1": 28}
    assert "passes" not in document
    assert "waived by the mode" in result.stderr
    assert max(map(len, result.stderr.splitlines())) <= 100


def test_every_operator_goes_to_the_csv(tmp_path):
    file = tmp_path / "operators.csv"
    assert run("place", *SMALL, "--csv", file).exit_code == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == 3 * 28 * 32
    words = ["prefill", "0", "L0_LN", "LN", "0", "0", "NPU0", "0.000000000000"]
    assert list(rows[0].values())[:-1] == words
    assert len(rows[0]["finish_s"]) == 14


def test_operators_in_the_document_are_those_of_the_csv(tmp_path):
    file = tmp_path / "result.json"
    result = run("place", *SMALL, "--json", file, "--operators", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    passes = json.loads(file.read_text())["passes"]
    in_json = [row for each in passes for row in each["operators"]]
    assert [row["operator"] for row in rows] == [row["operator"] for row in in_json]
    assert [row["device"] for row in rows] == [row["device"] for row in in_json]


def test_the_timeline_has_devices_links_and_memory(tmp_path):
    file = tmp_path / "trace.json"
    assert run("place", *SMALL, "--scheduler", "PD", "--timeline", file).exit_code == 0
    events = json.loads(file.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"devices", "links", "memory", "NPU0", "PIM1", "CPU0 to NPU0"} <= names
    operators = [e for e in events if e["ph"] == "X" and e["pid"] == 1 and "layer" in e["args"]]
    assert len(operators) == 3 * 28 * 32
    counters = [e for e in events if e["ph"] == "C"]
    # After prefill every weight is on the NPU.
    most = max(e["args"]["weights"] for e in counters if e["name"] == "NPU0")
    layer = 2 * 1536 * (12 + 2) * 128 + 3 * 1536 * 8960
    assert most == 2 * 28 * layer
    by_row = {}
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: e["ts"]):
        row = event["pid"], event["tid"]
        if event["dur"]:
            assert event["ts"] >= by_row.get(row, 0) - 1e-6
            by_row[row] = event["ts"] + event["dur"]


def test_all_schedulers_side_by_side():
    result = run("place", *SMALL, "--compare", "--json", "-")
    document = json.loads(result.stdout)
    assert set(document["schedulers"]) == set(scheduler_names())
    assert document["schedulers"]["Bifocal"]["total_s"] == document["total_s"]
    assert "over the best" in result.stderr


def test_an_operator_is_explained():
    result = run(
        *("place", *SMALL, "--explain", "L3_QK_s0", "--token", 3, "--json", "-"),
    )
    explanation = json.loads(result.stdout)["explanation"]
    # Token 3 repeats the plan of token 2.
    assert explanation["token"] == 2
    offers = {each["device"]: each for each in explanation["alternatives"]}
    assert offers["PIM1"]["refused"] == "of the PIMs, only PIM0 has its keys and values"
    chosen = offers[explanation["device"]]
    for other in offers.values():
        if not other["refused"]:
            assert chosen["terms_s"]["score"] <= other["terms_s"]["score"] + 1e-9
    assert "chosen" in result.stderr


def test_the_explained_device_is_the_one_of_the_schedule(tmp_path):
    for scheduler in ("Bifocal", "PD", "HEFT", "PEFT"):
        result = run(
            *("place", *SMALL, "--scheduler", scheduler, "--operators", "--json", "-"),
            *("--explain", "L9_FFN_W1_s1", "--token", 0),
        )
        document = json.loads(result.stdout)
        rows = {row["operator"]: row for row in document["passes"][1]["operators"]}
        explained = document["explanation"]
        assert explained["device"] == rows["L9_FFN_W1_s1"]["device"]
        offers = {each["device"]: each for each in explained["alternatives"]}
        finish = offers[explained["device"]]["finish_s"]
        assert finish == pytest.approx(rows["L9_FFN_W1_s1"]["finish_s"], abs=1e-12)


def test_an_operator_of_a_sound_schedule_is_explained():
    for scheduler in ("Bifocal", "PD", "HEFT", "PEFT"):
        result = run(
            *("place", *SMALL, "--mode", "sound", "--scheduler", scheduler, "--operators"),
            *("--explain", "L9_FFN_W1_s1", "--token", 0, "--json", "-"),
        )
        document = json.loads(result.stdout)
        rows = {row["operator"]: row for row in document["passes"][1]["operators"]}
        explained = document["explanation"]
        assert explained["device"] == rows["L9_FFN_W1_s1"]["device"]
        offers = {each["device"]: each for each in explained["alternatives"]}
        assert offers[explained["device"]]["finish_s"] > document["prefill_s"]


def test_parameters_of_bifocal():
    totals = [
        json.loads(run("place", *SMALL, *more, "--json", "-").stdout)["total_s"]
        for more in ((), ("--set", "amortise=0", "--set", "horizon=1"))
    ]
    assert totals[0] != totals[1]


def test_names_are_listed():
    result = run("place", "--list")
    assert result.exit_code == 0
    assert "schedulers: PD, AF" in result.output
    assert "hp128" in result.output


def test_a_lone_npu_keeps_what_it_sent_to_its_host():
    result = run(
        *("place", "--model", "qwen-1.8b", "--platform", "hp0", "--prefill", 64, "--decode", 2),
        *("--scheduler", "all-NPU", "--json", "-"),
    )
    assert json.loads(result.stdout)["link_s"]["spill"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "qwen-7"), "did you mean 'qwen-7b'"),
        (("--platform", "hp33"), "did you mean 'hp32'"),
        (("--scheduler", "bifocl"), "did you mean 'Bifocal'"),
        (("--mode", "imitatio"), "did you mean 'imitation'"),
        (("--record", "trac"), "did you mean 'trace'"),
        (("--batch", 0), "batch = 0 must be"),
        (("--decode", -1), "decode = -1 must be"),
        (("--pieces", 5), "cannot be cut into 5 pieces"),
        (("--set", "gama=1"), "did you mean 'gamma'"),
        (("--set", "gamma"), "must be KEY=INTEGER"),
        (("--set", "gamma=1001"), "from 0 to 1000"),
        (("--scheduler", "PD", "--set", "gamma=1"), "has no parameters"),
        (("--elements", "fp12"), "element format 'fp12' is not known"),
        (("--explain", "L3_QK"), "did you mean 'L3_QK_s"),
        (("--explain", "L3_QK_s0", "--token", 9), "token 9 is not decoded"),
        (("--json", "no/such/file"), "does not exist"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        run("place", *SMALL, *arguments)


@pytest.mark.parametrize(
    ("host", "npu", "more", "message"),
    [
        (64, 16, "colour = 1", "unknown key 'colour'"),
        (64, 16, "capacity = 1", "did you mean 'capacity_gib'"),
        (64, 0.001, "", "NPU0 has 0.001 GiB beside .* missing"),
        (1, 16, "", "GiB for weights .* at host CPU0, which has 1.000 GiB: .* missing"),
        (64, -1, "", "capacity_gib = -1 must be"),
        (64, "nan", "", "capacity_gib = nan must be"),
    ],
)
def test_a_platform_that_does_not_fit_is_refused(tmp_path, host, npu, more, message):
    file = tmp_path / "own.toml"
    file.write_text(PLATFORM.format(host=host, npu=npu, more=more))
    with pytest.raises(InputError, match=message):
        run("place", "--model", "qwen-1.8b", "--platform", file, "--decode", 1)


def test_an_architecture_that_is_not_known_is_refused(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "mamba"}')
    with pytest.raises(InputError, match="'mamba' is an architecture that is not known"):
        run("place", "--model", file, "--platform", "hp32")


def test_two_files_cannot_be_standard_output():
    with pytest.raises(InputError, match="two outputs go to standard output"):
        run("place", *SMALL, "--json", "-", "--csv", "-")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--token", 0), "--token does nothing without --explain"),
        (("--operators",), "--operators does nothing without --json"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(arguments, words):
    result = run("place", *SMALL, *arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_sound_mode(tmp_path):
    file = tmp_path / "trace.json"
    more = ("--mode", "Sound", "--scheduler", "PD", "--timeline", file, "--json", "-")
    result = run("place", *SMALL, *more)
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["mode"], document["record"]) == ("sound", "")
    assert 0 < document["lower_bound_s"] < document["total_s"]
    assert "nothing is above a peak" in document["checked_rules"]
    assert "a token follows the one before" not in document["waived_rules"]
    assert document["placement"]["prefill"]["Embedding"] == {"CPU0": 1}
    assert json.loads(file.read_text())["traceEvents"]


def test_layouts_of_weights():
    asked = (*SMALL, "--record", "trace", "--scheduler", "PD", "--json", "-")
    linear, npu = (
        json.loads(run("place", *asked, "--layouts", name).stdout) for name in ("linear", "npu")
    )
    assert npu["prefill_s"] < linear["prefill_s"]
    assert (linear["layouts"], npu["layouts"]) == ({"linear": 392}, {"npu": 392})
    with pytest.raises(InputError, match="layouts 'nup' are not known; did you mean 'npu'"):
        run("place", *asked, "--layouts", "nup")
    with pytest.raises(InputError, match="mode sound knows no costs of conversions"):
        run("place", *SMALL, "--mode", "sound", "--layouts", "npu")


def test_zeros_make_a_ventaglio_cluster_quicker(tmp_path):
    """In mode sound, on the platform that has one; without zeros it costs what others do."""
    times = {}
    for density in (("1", "1"), ("0.5", "0.5")):
        file = tmp_path / "out.json"
        outcome = CliRunner().invoke(
            cli,
            [
                *("place", "--model", "smollm2-135m", "--platform", "sparse-edge"),
                *("--prefill", "64", "--decode", "2", "--scheduler", "RHLS", "--mode", "sound"),
                *("--density", *density, "--json", str(file)),
            ],
            catch_exceptions=False,
        )
        assert outcome.exit_code == 0
        times[density] = json.loads(file.read_text())["prefill_s"]
    assert times["0.5", "0.5"] < times["1", "1"]


def test_a_density_above_one_is_refused():
    with pytest.raises(InputError, match=r"weight_density = 1.5 must be at most 1"):
        CliRunner().invoke(
            cli,
            [*("place", "--model", "smollm2-135m", "--platform", "hp32", "--density", "1.5", "1")],
            catch_exceptions=False,
        )
