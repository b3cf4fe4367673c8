import importlib

import click
import pytest

from fanweave.golden.errors import FaultError, InputError
from fanweave.sim.command import main as entry
from fanweave.sim.command.main import COMMANDS, cli, main


def status_of(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_and_version_succeed(option, capsys):
    assert status_of(option) == 0
    assert "fanweave" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("bench",), ("bench", "nonsense"), ("bench", "--nonsense", "fp")],
)
def test_refused_input_ends_with_2_and_a_message(arguments, capsys):
    assert status_of(*arguments) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"), [(InputError("a: bad"), 2), (FaultError("a: differs"), 1)]
)
def test_exceptions_become_statuses(error, status, monkeypatch, capsys):
    @click.command()
    def broken():
        raise error

    monkeypatch.setattr(cli, "get_command", lambda context, name: broken)
    assert status_of("broken") == status
    assert capsys.readouterr().err == f"fanweave: {error}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name, capsys):
    assert status_of(name, "--help") == 0
    text = capsys.readouterr().out
    command = cli.get_command(click.Context(cli), name)
    if isinstance(command, click.Group):
        return
    assert f"fanweave {name}" in text.split("Options:")[-1]


def test_the_entry_point_is_the_one_that_is_installed():
    assert importlib.import_module("fanweave.sim.command").main is entry
