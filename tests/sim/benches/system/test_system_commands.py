"""``fanweave system run`` of scenarios, and ``fanweave bench system``."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from fanweave.golden.cxl.island_config import IslandConfig
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.fabric.scenario import load_scenario
from fanweave.sim.benches.system import bench, window
from fanweave.sim.benches.system.commands import system
from fanweave.sim.benches.system.report import best_static, system_rows
from fanweave.sim.benches.system.window import check_window
from fanweave.sw.system.run import FlowResult, SystemResult
from fanweave.sw.system.setups import COMPILED, prepare

#: A prefill of a few thousand messages.
SMALL = """
name = "small"
[prefill]
model = "smollm2-135m"
layers = 1
tokens = 64
chunks = 2
tenants = ["a"]
scale = 32
flops = { gpu0 = 100_000, gpu1 = 100_000 }
[homes]
kv_a = "near1"
attention_weights = "near0"
ffn_weights = "far0"
ffn_weights_b = "far1"
hidden_in = "near0"
hidden_out = "near0"
[hosts]
gpu0 = 64
gpu1 = 128
dpu0 = 32
[memories]
near0 = { latency = 60, read = 1, write = 1 }
far0 = { latency = 150, read = 2, write = 2, turn = 4 }
near1 = { latency = 60, read = 1, write = 1 }
far1 = { latency = 150, read = 2, write = 2, turn = 4 }
[[static]]
name = "bulk_16"
outstanding = { gpu1 = 16 }
[policies]
page_bytes = 1048576
homes = { ffn_weights = "far1" }
copies = { ffn_weights = "far0", ffn_weights_b = "far0" }
answers_skip = 63
[[policies.goals]]
kind = "isolate_tenants"
[[policies.goals]]
kind = "spread_reads"
objects = ["ffn_weights", "ffn_weights_b"]
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def call(*arguments):
    return CliRunner().invoke(system, ["run", *map(str, arguments)], catch_exceptions=False)


def test_a_table_and_rows(scenario, tmp_path):
    rows_file = tmp_path / "rows.json"
    outcome = call(scenario, "--json", rows_file)
    assert outcome.exit_code == 0
    for name in ("off", "bulk_16", "compiled", "its engine said "):
        assert name in outcome.stdout
    rows = json.loads(rows_file.read_text())["rows"]
    cases = {row["case"].split(", ")[1] for row in rows}
    assert cases == {"off", "bulk_16", "compiled"}
    assert {row["origin"] for row in rows} == {"model"}
    goals = {(row["case"], row["metric"]) for row in rows if row["goal"] is not None}
    assert goals == {("small, compiled", "cycles"), ("small, compiled, attention", "p99_cycles")}


def test_pages_that_moved_are_listed(tmp_path):
    rows_file = tmp_path / "rows.json"
    outcome = call(
        *("hot_kv", "--layers", 1, "--setting", "off", "--setting", "compiled"), "--json", rows_file
    )
    assert "compiled: 4 pages moved, 0 given up, 0 promotions dropped; requests" in outcome.stdout
    assert "off: " not in outcome.stdout
    moved = [line.split() for line in outcome.stdout.splitlines() if "  kv_a  " in line]
    assert [row[:5] for row in moved] == [
        ["island1", "island0", "kv_a", hex(0x1_0040_0000 + 4096 * number), "near1"]
        for number in range(4)
    ]
    rows = json.loads(rows_file.read_text())["rows"]
    counted = {row["case"]: row["value"] for row in rows if row["metric"] == "moved_pages"}
    assert counted == {"hot_kv, compiled, island1": 4}


def test_settings_can_be_chosen(scenario):
    outcome = call(scenario, "--setting", "compiled", "--setting", "off")
    assert "off *" in outcome.stdout
    assert "compiled" in outcome.stdout
    assert "bulk_16" not in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["balancd"], "'balancd' is neither a scenario nor a loop; use a .toml file or one of"),
        (["nowhere.toml"], "nowhere.toml"),
        (
            ["balanced", "--setting", "kv_nera"],
            "setting 'kv_nera' is not known; did you mean",
        ),
        (["balanced", "--setting", "compiled"], "compiled alone has nothing to be compared with"),
        (["smollm2-sparse", "--setting", "off"], "--setting is an option of a scenario"),
        (["balanced", "--layers", "31"], "layers = 31 must be from 1 to 30"),
        (["balanced", "--json", "none/rows.json"], "does not exist; create it first"),
        (["balanced", "--start-costs", "wrong"], "--start-costs is an option of a loop"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        call(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('kv_a = "near1"', 'kv_a = "moon"', "object 'kv_a' needs a home"),
        ('copies = { ffn_weights = "far0"', 'copies = { kv_a = "far0"', "'kv_a' is not one of the"),
        ('homes = { ffn_weights = "far1" }', 'homes = { ffn_weights = "far0" }', "not its home"),
        ("latency = 60", "latency = 0", "latency = 0 of a device must be an integer from 1"),
    ],
)
def test_a_bad_scenario_is_refused(before, after, message, scenario):
    scenario.write_text(SMALL.replace(before, after, 1))
    with pytest.raises(InputError, match=message):
        call(scenario)


def test_refusals_have_the_exit_status_of_bad_input(scenario, capsys):
    from fanweave.sim.command.main import main

    scenario.write_text(SMALL.replace("chunks = 2", "chunks = 0"))
    with pytest.raises(SystemExit) as ended:
        main(["system", "run", str(scenario)])
    assert ended.value.code == 2
    assert "chunks = 0 must be an integer of at least 1" in capsys.readouterr().err


def flows(p99):
    flow = FlowResult(messages=9, p50=70.0, p99=p99, most=400, bytes_per_cycle=1.0)
    return {"attention": flow}


def result(name, cycles, p99):
    return SystemResult(
        setting=name, cycles=cycles, messages=9, flows=flows(p99), ports={}, counts={}, actions={}
    )


def test_the_best_static_setting_is_the_fastest_and_then_the_one_with_the_shortest_tail():
    results = [
        *(result("slow", 1200, 1.0), result("long", 1000, 300.0), result("equal", 1009, 200.0)),
        result(COMPILED, 900, 250.0),
    ]
    assert best_static(results).setting == "equal"
    rows = {(row.metric, row.case): row for row in system_rows("x", results) if row.goal}
    time, tail = rows["cycles", "x, compiled"], rows["p99_cycles", "x, compiled, attention"]
    assert (time.goal, time.met) == (1009, True)
    assert (tail.goal, tail.met) == (200.0, False)


@pytest.mark.verilator
def test_a_small_window_agrees(scenario):
    loaded = load_scenario(str(scenario))
    for setting in (loaded.settings[0], None):
        seen = check_window(prepare(loaded, setting), IslandConfig(), window=1500)
        assert seen.messages == 1500
        assert (seen.verdicts > 500) is (setting is None)
        assert seen.maps == (0 if setting else 7)


@pytest.mark.verilator
def test_a_window_in_which_pages_move_agrees():
    """Two pages move while their host reads them; the window ends before the third does."""
    prepared = prepare(load_scenario("hot_kv").with_layers(1), None)
    seen = check_window(prepared, IslandConfig(), window=5000)
    assert seen.pages == 2
    assert [move.whole for move in seen.run.result.moves] == [True, True]


@pytest.mark.verilator
def test_what_is_denied_agrees(scenario):
    """A host writes what it may only read: its program denies that, the port of errors answers."""
    prepared = prepare(load_scenario(str(scenario)), None)
    for row, name in zip(prepared.plan.flows, prepared.plan.movements, strict=True):
        if name == "gpu0_reads_attention_weights":
            row[3] = 1
    seen = check_window(prepared, IslandConfig(), window=2000)
    counts = seen.run.result.counts
    assert counts["island0"]["denied"] > 100
    assert seen.run.result.actions["island0"]["DENY"] > 1


@pytest.mark.verilator
def test_a_difference_is_a_fault(scenario, monkeypatch):
    """Golden that is off by a cycle for one message, and one that misses a verdict."""
    prepared = prepare(load_scenario(str(scenario)), None)
    right = window.run_golden

    def later(*arguments, **more):
        golden = right(*arguments, **more)
        golden.system.traffic.done[700] += 1
        return golden

    def other(*arguments, **more):
        golden = right(*arguments, **more)
        told = golden.system.traffic.told
        told[np.flatnonzero(told[:, 2])[40], 4] ^= 1
        return golden

    for wrong, message in (
        (later, "1 of 1500 messages are answered in another cycle .* is message 700 of"),
        (other, r"island\d: verdict \d+ of \d+ .* instead of"),
    ):
        monkeypatch.setattr(window, "run_golden", wrong)
        with pytest.raises(FaultError, match=message):
            check_window(prepared, IslandConfig(), window=1500)


@pytest.mark.verilator
def test_rows_of_the_benchmark(monkeypatch, scenario):
    monkeypatch.setattr(bench, "scenario_names", lambda: ["small"])
    monkeypatch.setattr(bench, "load_scenario", lambda _: load_scenario(str(scenario)))
    rows = bench.rows(quick=True, seed=1)
    seen = {row.case: row.value for row in rows if row.metric == "messages_as_golden"}
    assert seen == {"small, off, window": 1000, "small, compiled, window": 1000}
    assert {row.origin for row in rows} == {"model", "rtl"}
    with pytest.raises(InputError, match="part 'large' is no scenario; choose one of small"):
        bench.rows(quick=True, seed=1, part="large")
