import pytest
from click.testing import CliRunner

from fanweave.golden.errors import FaultError
from fanweave.sim.runner import commands
from fanweave.sim.runner.doctor import Check


def test_doctor_is_content_here():
    outcome = CliRunner().invoke(commands.doctor, catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "everything is there" in outcome.stdout


def test_doctor_names_what_is_missing_and_its_mend(monkeypatch, capsys):
    checks = [
        Check(name="make", found="/usr/bin/make"),
        Check(name="perl", found="", mend="apt-get install -y perl"),
    ]
    monkeypatch.setattr(commands, "examine", lambda: checks)
    with pytest.raises(FaultError, match="missing: perl"):
        commands.doctor.main([], standalone_mode=False)
    assert "MISSING   to mend: apt-get install -y perl" in capsys.readouterr().out
