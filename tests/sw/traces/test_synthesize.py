"""Random traces: shapes, sparsities, seeds, and their mark."""

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces import Layout
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.synthesize import synthesize


def test_shapes_are_the_models_and_the_origin_is_told():
    trace = synthesize(projections=("k_proj", "o_proj"), weight_sparsity=0.97, prefill=1, decode=1)
    assert [operand.shape for operand in trace.operands] == [(4096, 1024), (4096, 4096)]
    assert trace.metadata["origin"] == "synthetic"
    assert trace.metadata["model"] == "llama-3-8b (shapes only)"


def test_sparsities_are_those_asked_for():
    trace = synthesize(
        projections=("down_proj",),
        weight_sparsity=0.6,
        activation_sparsity=0.4,
        columns=64,
        prefill=3,
        decode=2,
    )
    (operand,) = trace.operands
    assert operand.shape == (14336, 64)
    assert operand.weight_sparsity == pytest.approx(0.6, abs=0.005)
    assert operand.activation_sparsity == pytest.approx(0.4, abs=0.005)
    assert operand.phases == ("prefill",) * 3 + ("decode",) * 2


def test_blocks_hold_exactly_n():
    trace = synthesize(
        projections=("q_proj",),
        choice=LayoutChoice(layout=Layout.N_OF_M, n=3, m=8),
        rows=20,
        columns=64,
        element_format=ElementFormat.E4M3,
    )
    (operand,) = trace.operands
    assert (operand.n, operand.m) == (3, 8)
    assert operand.weight_sparsity == pytest.approx(5 / 8)


def test_a_seed_gives_the_same_trace_and_another_does_not():
    first, again, other = (
        synthesize(projections=("k_proj",), rows=30, columns=30, seed=seed).operands[0]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.dense(), again.dense())
    np.testing.assert_array_equal(first.activations, again.activations)
    assert not np.array_equal(first.dense(), other.dense())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "gpt-2"}, "synth: model 'gpt-2' is unknown, expected llama-3-8b, smollm2-135m"),
        (
            {"projections": ("qkv",)},
            "synth: projection 'qkv' is unknown, expected among q_proj, k_proj, v_proj, o_proj, "
            "gate_proj, up_proj, down_proj",
        ),
        ({"weight_sparsity": 1.1}, "synth: weight sparsity must be from 0 to 1, got 1.1"),
        ({"activation_sparsity": -1}, "synth: activation sparsity must be from 0 to 1, got -1"),
        ({"rows": -1}, "synth: rows must be 0 or more, got -1"),
    ],
)
def test_bad_requests_are_refused(arguments, message):
    with pytest.raises(InputError) as refused:
        synthesize(**arguments)
    assert str(refused.value) == message
