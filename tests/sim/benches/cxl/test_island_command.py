"""``fanweave sim island``: a policy of the user's own."""

import json

import pytest
from click.testing import CliRunner

from fanweave.golden.cxl.island_config import PRESETS
from fanweave.golden.errors import InputError
from fanweave.sim.benches.commands import sim
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object import sizing

from .conftest import ISLAND

#: Denies requests for odd pages.
POLICY = """
    r0 = 0
    r2 = *(u64 *)(r1 + 0)
    r2 &= 4096
    if r2 == 0 goto out
    r0 = 3
out:
    exit
"""


def call(*arguments):
    chosen = ["island", "--config", "tiny", "--requests", "60", *map(str, arguments)]
    return CliRunner().invoke(sim, chosen, catch_exceptions=False)


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "policy.bin"
    file.write_bytes(b"".join(each.encode() for each in assemble(POLICY)))
    return file


@pytest.mark.verilator
def test_a_policy_decides_and_golden_agrees(policy, tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS, "tiny", ISLAND)
    monkeypatch.setattr(sizing, "sized_for", lambda objects, engine: ISLAND.engine)
    file = tmp_path / "island.json"
    outcome = call("--policy", policy, "--json", file)
    assert outcome.exit_code == 0, outcome.output
    assert "events, verdicts, messages and maps are golden's" in outcome.stdout
    document = json.loads(file.read_text())
    assert document["maps_equal"]
    verdicts = document["verdicts"]
    assert sum(verdicts.values()) == 120
    assert verdicts["DENY"] > 20
    assert verdicts["PASS"] > 20
    # Denied requests reach no device.
    assert document["messages"]["delivered"] <= 120 - verdicts["DENY"]


def test_bad_policies_are_refused(policy, tmp_path):
    endless = tmp_path / "endless.bin"
    endless.write_bytes(b"".join(each.encode() for each in assemble("again: goto again")))
    for arguments, message in (
        (("--policy", "p.c"), "p.c is a source: build it first, with fanweave ebpf build p.c"),
        (("--policy", tmp_path / "none.o"), "none.o cannot be read"),
        (("--policy", policy, "--config", "huge"), "unknown preset 'huge' of unit island"),
        (("--policy", policy, "--waves", "9:3"), "window '9:3' is empty"),
        (("--policy", endless), "endless.bin"),
    ):
        with pytest.raises(InputError, match=message):
            call(*arguments)
