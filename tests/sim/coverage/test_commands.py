import json
from collections import Counter

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli
from fanweave.sim.coverage.store import record


def invoke(*arguments):
    outcome = CliRunner().invoke(cli, ["coverage", *arguments], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_holes_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    record("ebpf", {"events": Counter({("NONE",): 3, ("WATCHDOG",): 1})})
    shown = invoke("ebpf", "--json", str(tmp_path / "x.json"))
    assert "holes of ebpf events:" in shown
    assert "  CALL_DEPTH\n" in shown
    assert "  WATCHDOG\n" not in shown
    assert "more lines: --holes" not in invoke("ebpf", "--holes")
    results = json.loads((tmp_path / "x.json").read_text())
    events = next(each for each in results if each["cross"] == "events")
    assert (events["met"], len(events["holes"])) == (2, events["cells"] - 2)


def test_an_unknown_unit_is_refused():
    with pytest.raises(InputError, match="unit 'gpu' is not known; choose one of ventaglio"):
        invoke("gpu")
