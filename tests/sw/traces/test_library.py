"""The traces that come with the package."""

import json
from importlib import resources

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.config import PROJECTIONS
from fanweave.sw.traces import Layout, open_trace
from fanweave.sw.traces.library import SHIPPED
from fanweave.sw.traces.synthesize import synthesize


def test_shipped_traces_are_at_most_five_megabytes():
    folder = resources.files("fanweave.sw.traces") / "data"
    files = {entry.name: len(entry.read_bytes()) for entry in folder.iterdir()}
    assert set(files) == set(SHIPPED.values())
    assert sum(files.values()) <= 5_000_000


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_shipped_traces_say_where_they_come_from(name):
    metadata = open_trace(name).metadata
    assert metadata["origin"] == "captured"
    assert metadata["model"] == "SmolLM2-135M-Instruct (Q4_1)"
    assert metadata["license"] == "Apache-2.0"
    assert metadata["command"].startswith("fanweave trace capture --")
    assert SHIPPED[name] in metadata["command"]


def test_the_layer_has_all_projections_at_half_sparsity():
    operands = open_trace("smollm2-layer").operands
    assert [operand.name.split(".")[-1] for operand in operands] == list(PROJECTIONS)
    for operand in operands:
        assert operand.element_format is ElementFormat.FP16
        assert operand.layout is Layout.BITMASK
        assert operand.weight_sparsity == pytest.approx(0.5, abs=0.01)
        assert operand.phases == ("prefill",) * 8 + ("decode",) * 4
        assert 0.35 < operand.activation_sparsity < 0.65
    assert operands[-1].shape == (1536, 576)
    assert set(json.loads(open_trace("smollm2-layer").metadata["scales"])) == {
        operand.name for operand in operands
    }


def test_a_path_is_opened_and_an_unknown_name_lists_the_known(tmp_path):
    synthesize(projections=("k_proj",), rows=4, columns=4).save(tmp_path / "t")
    assert open_trace(tmp_path / "t").metadata["origin"] == "synthetic"
    with pytest.raises(InputError) as refused:
        open_trace("smollm3")
    assert str(refused.value) == (
        "trace 'smollm3': neither a file nor a shipped trace; "
        f"shipped are: {', '.join(sorted(SHIPPED))}"
    )
