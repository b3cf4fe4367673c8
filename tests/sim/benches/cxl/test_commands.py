"""``fanweave sim switch``."""

import json

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.benches.commands import sim
from fanweave.sim.benches.cxl import soak
from fanweave.sim.benches.cxl.checker import DifferenceError

pytestmark = pytest.mark.verilator


def call(*arguments):
    chosen = ["switch", "--config", "tiny", "--requests", "200", *map(str, arguments)]
    return CliRunner().invoke(sim, chosen, catch_exceptions=False)


def test_a_table_and_the_same_as_json(tmp_path):
    file = tmp_path / "switch.json"
    outcome = call("--snoops", 20, "--json", file)
    assert outcome.exit_code == 0
    assert "as the model says: " in outcome.stdout
    document = json.loads(file.read_text())
    assert document["config"] == "tiny"
    answered = sum(flow["requests"] for flow in document["flows"])
    assert 350 < answered <= 400
    assert document["messages"]["snooped"] > 20
    reads = next(flow for flow in document["flows"] if flow["opcode"] == "MEM_RD")
    assert 7 < reads["mean"] <= reads["p99"] <= reads["most"]


def test_bad_arguments_are_refused(tmp_path):
    for arguments, message in (
        (("--config", "huge"), "unknown preset 'huge' of unit switch"),
        (("--json", tmp_path / "none" / "x.json"), "does not exist; create it first"),
        (("--waves", "9:3"), "window '9:3' is empty"),
    ):
        with pytest.raises(InputError, match=message):
            call(*arguments)


def test_a_difference_is_a_fault(monkeypatch):
    def gives(self, port, came):
        raise DifferenceError("not so")

    monkeypatch.setattr(soak.TrafficChecker, "gives", gives)
    with pytest.raises(FaultError, match=r"cycle \d+: not so"):
        call()
