"""Consoles in documents: each command is run, and prints what the document shows."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fanweave.sim.command.main import cli

ROOT = Path(__file__).resolve().parents[2]
#: Documents whose consoles run from top to bottom, in one folder.
CONSOLES = ["docs/dops/tutorial.md"]
#: Files that a document gives: their name in a line of its own, then their text.
FILES = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
SHOWN = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
#: Any lines, in a console.
CUT = "..."


def calls(console):
    """Each command of a console with the lines that it is to print."""
    found = []
    for line in console.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:]), []))
        else:
            found[-1][1].append(line)
    return found


def matches(shown, printed):
    """Whether lines are those that are shown, where a cut stands for any."""
    parts = [re.escape(line) if line != CUT else None for line in shown]
    pattern = "".join("(?:[^\n]*\n)*?" if part is None else f"{part}\n" for part in parts)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def printed_by(words):
    result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    # Empty lines around tables are left out of documents.
    return [line for line in lines if line]


@pytest.mark.parametrize("document", CONSOLES)
def test_consoles_print_what_is_shown(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text()
    for name, content in FILES.findall(text):
        (tmp_path / name).write_text(content)
    count = 0
    for console in SHOWN.findall(text):
        for words, shown in calls(console):
            assert words[0] == "fanweave"
            printed = printed_by(words)
            assert matches(shown, printed), "\n".join([shlex.join(words), *printed])
            count += 1
    assert count > 5


def test_a_console_that_shows_something_else_is_found():
    assert matches(["a", "..."], ["a", "b", "c"])
    assert matches(["...", "c"], ["a", "b", "c"])
    assert matches(["a", "...", "c"], ["a", "c"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["a", "...", "d"], ["a", "b", "c"])
    assert not matches(["a.c"], ["abc"])
    assert calls("$ fanweave a \\\n  b\nc\n$ fanweave d\n") == [
        (["fanweave", "a", "b"], ["c"]),
        (["fanweave", "d"], []),
    ]
