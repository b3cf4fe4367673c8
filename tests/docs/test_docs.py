"""The documents stay right: links lead somewhere, commands parse, Python prints what is shown."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import click
import pytest

from fanweave.sim.command.main import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
LAYERS = ("golden", "hw", "sim", "sw")
#: Documents whose Python runs from top to bottom.
PROGRAMS = [
    "docs/cluster/kernels.md",
    "docs/ebpf/machine.md",
    "docs/ebpf/maps.md",
    "docs/fabric/graph.md",
    "docs/tutorial.md",
    "docs/ventaglio/programmers-guide.md",
]
TARGETS = set(re.findall(r"^([a-z][\w%-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
VARIABLES = set(re.findall(r"^([A-Z]+)\s*\??:?=", (ROOT / "Makefile").read_text(), re.MULTILINE))


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and its text."""

    language: str
    text: str


def blocks(document: Path) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", document.read_text(), re.M | re.S):
        yield Block(language=found[1], text=found[2])


def command_lines(document: Path, program: str) -> Iterator[list[str]]:
    """Words of each line in a block, fenced or indented, that calls `program`."""
    text = "".join(block.text for block in blocks(document) if block.language == "sh")
    text += "\n".join(re.findall(rf"^    {program} .*(?:\\\n.*)*", document.read_text(), re.M))
    for line in text.replace("\\\n", " ").splitlines():
        # A remark follows behind a # or some way to the right.
        call = re.sub(r"^\s*(?:\.venv/bin/)?", "", line)
        call = re.split(r"\s{3,}(?=[\w(])|\s+#", call)[0]
        if call.startswith(f"{program} "):
            yield shlex.split(call)[1:]


def name(value: object) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


def anchors(document: Path) -> set[str]:
    """What the headings of a document are called in links."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.M)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_relative_links_lead_somewhere(document):
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{document.name}: link to {target}"
        if anchor:
            assert anchor in anchors(file), f"{document.name}: {file.name} has no heading {anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_commands_are_understood(document):
    for arguments in command_lines(document, "fanweave"):
        try:
            understand(cli, arguments)
        except click.ClickException as error:
            pytest.fail(f"{document.name}: fanweave {shlex.join(arguments)}: {error}")


def understand(command: click.Command, arguments: list[str]) -> None:
    """Parse a command line as far as the last subcommand, without running it."""
    context = click.Context(command, info_name="fanweave")
    while isinstance(command, click.Group):
        if not arguments or arguments[0].startswith("-"):
            break
        found = command.get_command(context, arguments[0])
        if found is None:
            raise click.UsageError(f"no such command {arguments[0]!r}")
        command, arguments = found, arguments[1:]
        context = click.Context(command, parent=context)
    command.make_parser(context).parse_args(list(arguments))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_make_targets_exist(document):
    for arguments in command_lines(document, "make"):
        for word in arguments:
            variable, equals, _ = word.partition("=")
            if equals:
                assert variable in VARIABLES, f"{document.name}: make variable {variable}"
            else:
                known = word in TARGETS or ("bench-%" in TARGETS and word.startswith("bench-"))
                assert known, f"{document.name}: make target {word}"


@pytest.mark.parametrize("document", PROGRAMS)
def test_python_prints_what_is_shown(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": document}
    printed = ""
    shown = 0
    for block in blocks(ROOT / document):
        if block.language == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(block.text, document, "exec"), names)
            printed = stream.getvalue()
        elif block.language == "output":
            assert printed == block.text
            shown += 1
    assert shown


def test_messages_of_the_puzzled_page_exist():
    """The words between the dots of each symptom are in the sources of the program."""
    sources = [*ROOT.glob("*/**/*.py"), *ROOT.glob("sim/**/*.sh")]
    kept = [file for file in sources if file.relative_to(ROOT).parts[0] in LAYERS]
    # Neighbouring string literals are one message.
    program = re.sub(r'"\s+f?"', "", "\n".join(file.read_text() for file in kept))
    page = (ROOT / "docs/puzzled.md").read_text()
    symptoms = re.findall(r"^\| `([^`]+)` \|", page, re.M)
    assert len(symptoms) > 20
    for symptom in symptoms:
        if symptom.endswith("BROKEN"):  # import-linter's
            continue
        for words in re.split(r"\.\.\.|\b[A-Z_]{6,}\b|\d:\d", symptom):
            assert words.strip(" ,:;()") in program, f"puzzled.md: no message says {words!r}"


def test_images_are_xml():
    images = sorted((ROOT / "docs/images").glob("*.svg"))
    assert images
    for image in images:
        assert ElementTree.parse(image).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_command_that_is_wrong_is_found():
    for arguments in (["no-such"], ["sim", "ventaglio", "--no-such"], ["sim", "no-such"]):
        with pytest.raises(click.ClickException):
            understand(cli, arguments)
