"""``fanweave ebpf policies``."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.cxl_event import Verdict, VerdictAction
from fanweave.sw.ebpf.commands import ebpf
from fanweave.sw.ebpf.object.loader import load_object
from fanweave.sw.policies import measure
from fanweave.sw.policies.library import POLICIES, build_policy
from fanweave.sw.policies.scenarios import SCENARIOS


def call(*arguments):
    return CliRunner().invoke(ebpf, ["policies", *arguments])


def test_all_are_listed_with_their_worst_case():
    result = call()
    assert result.exit_code == 0
    for name in POLICIES:
        (line,) = (line for line in result.output.splitlines() if f" {name} " in line)
        cells = [cell.strip() for cell in line.strip("│ ").split("│")]
        assert cells[2] == str(build_policy(name).report.worst_case_instructions)


def test_numbers_as_json():
    result = call("steering", "--json", "-")
    (cost,) = json.loads(result.output)["policies"]
    events = sum(len(s.steps) for s in SCENARIOS if s.policy == "steering")
    assert (cost["policy"], cost["events"]) == ("steering", events)
    assert cost["instructions"]["most"] <= cost["worst_case_instructions"]
    # A route and a counter of traffic; the four fields of the route, and the counter itself.
    assert cost["map_calls"]["most"] == 2
    assert cost["value_accesses"]["most"] == 5
    assert 0 < cost["map_calls"]["mean"] < 2


def test_maps_and_objects(tmp_path):
    result = call("telemetry", "--maps", "-o", str(tmp_path / "new"))
    assert "telemetry: records samples and slow answers" in result.output
    assert "  the host sets .rodata.settings: sampling and what is slow\n" in result.output
    assert "  it finds records: samples; the host takes them\n" in result.output
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["telemetry.o"]
    loaded = load_object(tmp_path / "new" / "telemetry.o")
    assert [made.name for made in loaded.programs] == ["telemetry"]


def test_what_is_refused(tmp_path):
    assert isinstance(call("none").exception, InputError)
    (tmp_path / "file").write_text("")
    refused = call("steering", "-o", str(tmp_path / "file"))
    assert isinstance(refused.exception, InputError)
    assert "steering.o cannot be written" in str(refused.exception)


@pytest.mark.parametrize("name", ["steering"])
def test_a_wrong_verdict_is_a_fault(monkeypatch, name):
    scenario = next(s for s in SCENARIOS if s.policy == name)
    wrong = replace(scenario.steps[0], verdict=Verdict(action=VerdictAction.DENY))
    broken = replace(scenario, steps=(wrong, *scenario.steps[1:]))
    monkeypatch.setattr(measure, "SCENARIOS", (broken,))
    assert isinstance(call(name).exception, FaultError)
