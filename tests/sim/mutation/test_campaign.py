"""A campaign with a soak of this test's own."""

import json
import os

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.benches import soak_commands
from fanweave.sim.command.main import cli
from fanweave.sim.mutation import campaign
from fanweave.sim.mutation.campaign import CAMPAIGNS, run_campaign
from fanweave.sim.mutation.mutants import MutationRequest
from fanweave.sim.runner.converted import MUTATION, converted_design

#: Ends as a soak does: odd mutants are caught, the fourth one takes for ever.
SOAK = """
import json, os, sys, time
request = json.loads(os.environ["FANWEAVE_MUTATION"])
mutant = {{"mode": "inv", "module": "m", "place": "hw/x.py:1", "port": "A[0]", "fault": "x"}}
with open(request["listing"], "w") as file:
    json.dump([mutant | {{"number": n}} for n in range(1, request["count"] + 1)], file)
open(request["listing"].replace(".json", ".il"), "w").close()
number = int(open(request["selected"]).read(), 16)
if number == 4:
    time.sleep(60)
sys.exit({status})
"""


def with_soak(monkeypatch, status, equal=False):
    monkeypatch.setattr(campaign, "changes_nothing", lambda rtlil, fault: equal)
    monkeypatch.setattr(campaign, "_COMMAND", SOAK.format(status=status))
    monkeypatch.setattr(campaign, "_SECONDS", 0.5)


def test_what_the_soak_finds_is_caught(monkeypatch, tmp_path):
    with_soak(monkeypatch, "number % 2")
    trials = list(run_campaign("ventaglio", count=5, seed=1, folder=tmp_path / "a"))
    assert [trial.caught for trial in trials] == [True, False, True, True, True]


def test_a_soak_that_fails_anyway_is_a_fault(monkeypatch, tmp_path):
    with_soak(monkeypatch, "1")
    with pytest.raises(FaultError, match="soak ventaglio fails without any mutant"):
        list(run_campaign("ventaglio", count=1, seed=1, folder=tmp_path))


def test_a_refused_run_is_no_catch(monkeypatch, tmp_path):
    with_soak(monkeypatch, "2 if number else 0")
    with pytest.raises(FaultError, match="a run of the campaign was refused"):
        list(run_campaign("ventaglio", count=1, seed=1, folder=tmp_path))


def test_the_command_lists_survivors(monkeypatch, tmp_path):
    with_soak(monkeypatch, "number % 2")
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    arguments = ["mutate", "ventaglio", "--mutants", "3", "--seed", "5"]
    outcome = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "NOT CAUGHT" in outcome.stderr
    document = json.loads((tmp_path / "bench" / "mutation.ventaglio.json").read_text())
    assert document["rows"][0]["value"] == 2 / 3
    assert [survivor["number"] for survivor in document["survivors"]] == [2]


def test_what_is_proved_to_change_nothing_does_not_count(monkeypatch, tmp_path):
    with_soak(monkeypatch, "number % 2", equal=True)
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    arguments = ["mutate", "ventaglio", "--mutants", "3", "--seed", "5"]
    outcome = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert "NOT CAUGHT" not in outcome.stderr
    document = json.loads((tmp_path / "bench" / "mutation.ventaglio.json").read_text())
    assert document["rows"][0]["value"] == 1.0
    assert document["rows"][0]["case"] == "ventaglio, 3 mutants, 1 proved equal"
    assert document["survivors"] == []


def test_an_unknown_unit_is_refused():
    with pytest.raises(InputError, match="unit with mutants 'nope' is not known; choose one of"):
        list(run_campaign("nope", count=1, seed=1, folder=None))


def test_campaigns_name_soaks_and_folders_that_there_are():
    import fanweave

    root = os.path.dirname(fanweave.__file__)
    for each in CAMPAIGNS.values():
        assert each.soak in soak_commands.SOAKS
        assert all(os.path.isdir(os.path.join(root, folder)) for folder in each.sources)


def test_a_design_that_is_converted_gets_its_faults(monkeypatch, tmp_path):
    from amaranth import unsigned

    from fanweave.hw.stream.queue import Queue

    request = MutationRequest(
        sources=("hw/stream",),
        count=2,
        seed=1,
        selected=str(tmp_path / "selected"),
        listing=str(tmp_path / "listing"),
    )
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))

    def convert():
        return converted_design(
            lambda: Queue(shape=unsigned(2), depth=2), name="queue", key="", sources=()
        )

    plain = convert().sources[0].text
    monkeypatch.setenv(MUTATION, request.text())
    for _ in range(2):  # the second time from the cache
        (tmp_path / "listing").unlink(missing_ok=True)
        assert str(tmp_path / "selected") in convert().sources[0].text
        assert len(json.loads((tmp_path / "listing").read_text())) == 2
    monkeypatch.delenv(MUTATION)
    assert convert().sources[0].text == plain
