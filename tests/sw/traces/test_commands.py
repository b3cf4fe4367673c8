"""``fanweave trace`` as a user types it."""

import json

import numpy as np
import pytest
import scipy.sparse
from click.testing import CliRunner

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sim.command.main import cli, main
from fanweave.sw.traces import Layout, Trace


def _run(*words, fails_with=None):
    result = CliRunner().invoke(cli, ["trace", *map(str, words)])
    if fails_with:
        assert isinstance(result.exception, InputError), result.output
        assert fails_with in str(result.exception)
    else:
        assert result.exit_code == 0, result.output or result.exception
    return result.output


@pytest.mark.parametrize("command", ["capture", "synth", "import", "show"])
def test_help_has_an_example(command):
    assert f"fanweave trace {command}" in _run(command, "--help").split("Example:")[1]


def test_synth_writes_a_trace_and_shows_it_as_synthetic(tmp_path):
    path = tmp_path / "t.safetensors"
    words = ("--projection", "q_proj", "--rows", 32, "--columns", 24, "--seed", 3)
    shown = _run("synth", *words, "--layout", "1:4", "--format", "int8", "-o", path)
    assert "layers.0.self_attn.q_proj" in shown
    assert "32 x 24" in shown
    assert "synthetic" in shown
    (operand,) = Trace.load(path).operands
    assert (operand.layout, operand.n, operand.m) == (Layout.N_OF_M, 1, 4)
    assert operand.element_format is ElementFormat.INT8
    assert _run("show", path).split("\n", 1)[1] == shown.split("\n", 1)[1]


def test_capture_records_how_it_was_made(tmp_path, tiny_gguf):
    path = tmp_path / "t.safetensors"
    shown = _run(
        *("capture", "--model", tiny_gguf, "--layer", 1, "--projection", "up_proj"),
        *("--prompt", "the weaver and the loom", "--method", "duogpt", "--weights", "2:4"),
        *("--calibration-tokens", 200, "--format", "e4m3", "--prefill", 3, "-o", path),
    )
    assert "captured" in shown
    trace = Trace.load(path)
    assert trace.metadata["model"] == "tiny.gguf"
    assert trace.metadata["pruning"] == "duogpt 2:4, activations 50%"
    assert trace.metadata["calibration"] == "200 tokens"
    assert "license" not in trace.metadata
    assert trace.metadata["command"] == (
        "fanweave trace capture --model tiny.gguf --calibration-tokens 200 --layer 1 "
        "--projection up_proj --prompt 'the weaver and the loom' --prefill 3 --weights 2:4 "
        "--format e4m3 --output t.safetensors"
    )
    (operand,) = trace.operands
    assert operand.shape == (32, 48)
    assert operand.phases == ("prefill",) * 3 + ("decode",) * 4
    assert 0.3 < operand.activation_sparsity < 0.7


def test_import_transposes_and_records_the_command(tmp_path):
    weights = np.eye(5, 7)
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(weights))
    np.save(tmp_path / "x.npy", np.ones((2, 7)))
    shown = _run(
        *("import", tmp_path / "w.npz", "--activations", tmp_path / "x.npy"),
        *("--layout", "bitmask", "-o", tmp_path / "t"),
    )
    assert "7 x 5" in shown
    assert "imported" in shown
    assert Trace.load(tmp_path / "t").metadata["command"] == (
        "fanweave trace import w.npz --activations x.npy --layout bitmask --output t"
    )


def test_show_lists_the_shipped_traces_and_prints_metadata(tmp_path):
    assert "smollm2-layer" in _run("show").split()
    metadata = json.loads(_run("show", "smollm2-layer", "--json"))
    assert metadata["origin"] == "captured"
    assert metadata["license"] == "Apache-2.0"


def test_refused_input_leaves_no_file(tmp_path):
    (tmp_path / "w.smtx").write_text("3, 4, 5\n0 2 2 5\n1 3 0 2 4")
    out = tmp_path / "t.safetensors"
    _run("import", tmp_path / "w.smtx", "-o", out, fails_with="out of range for 4; the file is d")
    _run("synth", "--weights", 2, "-o", out, fails_with="synth: weight sparsity must be from 0 to")
    _run("synth", "--format", "fp4", "-o", out, fails_with="format 'fp4' is unknown")
    _run("capture", "--weights", "5:4", "-o", out, fails_with="'5:4' is no N:M sparsity")
    _run("capture", "--model", tmp_path / "none", "-o", out, fails_with="no such model file")
    _run("capture", "-o", tmp_path / "a" / "t", fails_with="a is no folder; create it")
    _run("show", out, fails_with="neither a file nor a shipped trace; shipped are: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.smtx"]


def test_refused_input_ends_with_status_two(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["trace", "show", "nothing"])
    assert ended.value.code == 2
    assert (
        "fanweave: trace 'nothing': neither a file nor a shipped trace" in capsys.readouterr().err
    )
