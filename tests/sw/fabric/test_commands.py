"""``fanweave fabric``."""

import json
from importlib import resources

import pytest
from click.testing import CliRunner

from fanweave.golden import fabric as golden_fabric
from fanweave.golden.errors import InputError
from fanweave.sw.fabric.commands import fabric


def call(*arguments):
    return CliRunner().invoke(fabric, [str(argument) for argument in arguments])


@pytest.fixture
def changed(tmp_path):
    """The shipped graph as a file, with some words replaced."""

    def make(old, new):
        source = resources.files(golden_fabric).joinpath("graphs/prefill_decode.toml").read_text()
        assert old in source
        file = tmp_path / "changed.toml"
        file.write_text(source.replace(old, new, 1))
        return file

    return make


def test_check_names_devices_and_states():
    result = call("check", "prefill_decode")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "prefill-decode: 10 places, 5 objects, 11 movements, 6 goals"
    assert "dpu0 (dputime): transfers" in lines
    assert lines[-1] == "state phases of gpu1, read by island1"


def test_draw(tmp_path):
    assert call("draw", "prefill_decode", "-o", tmp_path / "x.svg").exit_code == 0
    assert (tmp_path / "x.svg").read_text() == call("draw", "prefill_decode", "-o", "-").output


def test_compile_and_run(tmp_path):
    result = call("compile", "prefill_decode", "-o", tmp_path / "out")
    assert result.exit_code == 0
    assert result.output == (tmp_path / "out" / "report.txt").read_text()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"island0.o", "gpu1.maps.json", "attach.dputime.json", "report.json"} <= names
    result = call("run", "prefill_decode", "--lines", 4, "--json", tmp_path / "run.json")
    assert "island1, kv_requests: 4 MIRROR" in result.output
    assert "hand_over_a: queue 2, held 0 times\n" in result.output
    document = json.loads((tmp_path / "run.json").read_text())
    assert document == json.loads(call("run", "prefill_decode", "--lines", 4, "--json", "-").output)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "dpu"', 'kind = "dpuu"', "did you mean 'dpu'"),
        ("first = 0x10_0400_0000", 'first = 0x10_0000_0000\ntenant = "a"\n#', "is not TOML"),
        ("first = 0x20_0000_0000", "first = 0x10_0400_0000", "overlap; begin 'ffn_weights' at"),
        ('consumer = "gpu0"', 'consumer = "gpu7"', "'gpu7' is no place; did you mean 'gpu"),
        ('after = ["prefill_writes_kv_a"]', 'after = ["decode_reads_kv_a"]', "in a circle"),
        ('kind = "island"', 'kind = "island"\ninstructions = 100', "takes up to 170 instructions"),
    ],
)
def test_bad_graphs_are_refused_and_nothing_is_written(changed, tmp_path, old, new, message):
    result = call("compile", changed(old, new), "-o", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["changed.toml"]


def test_a_graph_without_goals_has_nothing_to_compile(tmp_path, changed):
    file = changed("[[goals]]", "[[goals]]")
    text = file.read_text()
    file.write_text(text[: text.index("[[goals]]")])
    assert call("check", file).exit_code == 0
    result = call("compile", file, "-o", tmp_path / "out")
    assert "no goal needs a program at any device; add goals" in str(result.exception)


def test_one_graph_must_be_named(tmp_path):
    for arguments in ((), ("prefill_decode", "--from-placement", tmp_path / "p.json")):
        result = call("check", *arguments)
        assert "name either a graph or --from-placement FILE" in str(result.exception)
    result = call("check", "--from-placement", tmp_path / "p.json")
    assert "p.json cannot be read" in str(result.exception)
