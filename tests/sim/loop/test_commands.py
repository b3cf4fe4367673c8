"""``fanweave system run`` with loops, its report and its section of the page."""

import json
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.sim.command.main import cli
from fanweave.sim.loop.document import loop_document
from fanweave.sim.loop.page import loop_section
from fanweave.sim.loop.report import ending_words, print_loop, summary
from fanweave.sim.report.bench_rows import BenchRow
from fanweave.sim.report.table import WIDTH


def run(*arguments):
    return CliRunner().invoke(
        cli, ["system", "run", *(str(each) for each in arguments)], catch_exceptions=False
    )


@pytest.fixture(scope="module")
def wrong(closed):
    """Document of the loop from wrong costs, as JSON has it."""
    return json.loads(json.dumps(loop_document(closed("wrong")), allow_nan=False))


def test_a_loop_from_a_file(tmp_path, monkeypatch, measured):
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path / "build"))
    file, out = tmp_path / "mine.toml", tmp_path / "out.json"
    file.write_text(
        '[loop]\nmodel = "smollm2-135m"\nplatform = "sparse-pair"\nmeasure = "model"\n'
        "density = [0.5, 0.5]\nmessages = 256\n"
    )
    result = run(file, "--rounds", 1, "--scheduler", "heft", "--json", out)
    assert result.exit_code == 0
    document = json.loads(out.read_text())
    assert (document["name"], document["scheduler"]) == ("mine", "HEFT")
    assert (document["ending"], len(document["rounds"])) == ("bound", 1)
    assert "Not settled after 1 rounds" in result.output
    kept = json.loads((tmp_path / "build" / "system" / "loop.json").read_text())
    assert kept == document
    places = tmp_path / "build" / "place"
    assert "VENTAGLIO0" in (places / "loop.html").read_text()
    assert json.loads((places / "loop.perfetto.json").read_text())["traceEvents"]
    assert {row["origin"] for row in document["rows"]} == {"model", "literature", "assumed"}
    for row in document["rows"]:
        BenchRow(**row)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "'nothing' is neither a scenario nor a loop; use a .toml file or one of "),
        ((), "--model is missing: a loop needs --model and --platform"),
        (("--model", "smollm2-135m"), "--platform is missing"),
        (("balanced", "--rounds", 2), "--rounds is an option of a loop; leave it out here"),
        (("balanced", "--density", 1, 1), "--density is an option of a loop"),
        (("smollm2-sparse", "--layers", 1), "--layers is an option of a scenario"),
        (("smollm2-sparse", "--start-costs", "bad"), "start costs 'bad' are not known"),
        (("smollm2-sparse", "--json", "/nowhere/x"), "folder /nowhere does not exist"),
        (("--model", "m", "--platform", "sparse-pair"), "model 'm' is not known"),
        (("smollm2-sparse", "--elements", "fp9"), "elements 'fp9' are no format"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError) as refused:
        run(*arguments)
    assert message in str(refused.value)


def test_tables_fit_their_width_and_tell_origins_apart(wrong, capsys):
    print_loop(wrong)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    text = "\n".join(lines)
    for words in (
        "costs begin with: wrong",
        "busy lanes alone",
        "the first 10 of",
        "a fixpoint.",
        "the switch without and with its policies",
    ):
        assert words in text
    origins = [row[2] for row in summary(wrong)]
    assert set(origins) == {"model", "measured", "literature", "assumed"}


def test_endings_are_told(wrong):
    rounds = wrong["rounds"][:3]
    cycle = {**wrong, "rounds": rounds, "ending": "cycle", "first": 2, "best": 3}
    assert "Rounds 2 to 3 would come again and again: a cycle. Round 3" in ending_words(cycle)
    alone = {**wrong, "rounds": wrong["rounds"][:1]}
    assert ending_words(alone).startswith("Nothing changed")


class Words(HTMLParser):
    """Collects text, and checks that what is opened is closed."""

    VOID = ("meta", "path", "rect")

    def __init__(self):
        super().__init__()
        self.open, self.words = [], ""

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_the_section_of_the_page(wrong):
    wrong = {**wrong, "model": "<model>"}
    text = "".join(loop_section(wrong))
    parser = Words()
    parser.feed(text)
    assert not parser.open
    for words in ("What the loop changed", "Flows through the switch", "<model> on sparse-pair"):
        assert words in parser.words
    assert "<model>" not in text
    for origin in ("model", "assumed", "literature", "measured"):
        assert f'class="{origin}"' in text
    assert text.count("round ") >= len(wrong["rounds"])
