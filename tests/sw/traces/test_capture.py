"""Captured operands against what the model itself computes."""

import dataclasses
import json

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fp import decode
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.evaluate import generate
from fanweave.golden.llama.model import KeyValueCache, sparsify
from fanweave.golden.llama.pruning import Method, Pruning, prune
from fanweave.sw.traces import Layout
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.capture import CaptureRequest, capture, layout_of_pruning

PROMPT = [10, 20, 30, 40, 50]


def _inputs(model, tokens):
    seen = {}

    def record(name, x):
        seen[name] = sparsify(x, model.thresholds.get(name, 0.0))
        return model.project(name, x)

    model.forward(tokens, KeyValueCache(model.config), record)
    return seen


def test_operands_are_what_the_model_multiplies(tiny_llama):
    pruning = Pruning(method=Method.WANDA, weight_sparsity=0.5, activation_sparsity=0.5)
    model = prune(tiny_llama, list(range(60)), pruning)
    request = CaptureRequest(
        layers=(0, 1),
        prefill=3,
        decode=2,
        element_format=ElementFormat.FP32,
        choice=layout_of_pruning(pruning),
    )
    trace = capture(model, PROMPT, request, {"model": "tiny"}.items())
    assert trace.metadata["origin"] == "captured"
    assert trace.metadata["model"] == "tiny"
    assert len(trace.operands) == 14
    # Decoding token by token computes the same as reading everything at once.
    answer = generate(model, PROMPT, 2)
    seen = _inputs(model, PROMPT + answer)
    for operand in trace.operands:
        assert operand.layout is Layout.BITMASK
        assert operand.phases == ("prefill",) * 3 + ("decode",) * 2
        np.testing.assert_array_equal(
            decode(operand.dense(), ElementFormat.FP32), model.weights[operand.name].T
        )
        activations = decode(operand.activations, ElementFormat.FP32)
        np.testing.assert_allclose(activations, seen[operand.name][2:], atol=1e-5)
        assert operand.activation_sparsity > 0.2


@pytest.mark.parametrize("element_format", list(ElementFormat), ids=lambda f: f.name)
def test_every_format_stays_near_with_its_scale(tiny_llama, element_format):
    request = CaptureRequest(layers=(0,), projections=("up_proj",), element_format=element_format)
    request = dataclasses.replace(request, prefill=5, decode=0, columns=20)
    trace = capture(tiny_llama, PROMPT, request, ())
    (operand,) = trace.operands
    assert operand.shape == (32, 20)
    scales = json.loads(trace.metadata["scales"])[operand.name]
    weights = decode(operand.dense(), element_format) * scales["weights"]
    expected = tiny_llama.weights[operand.name].T[:, :20]
    np.testing.assert_allclose(weights, expected, rtol=0.13, atol=0.01)
    activations = decode(operand.activations, element_format) * scales["activations"]
    np.testing.assert_allclose(
        activations, _inputs(tiny_llama, PROMPT)[operand.name], rtol=0.13, atol=0.02
    )


def test_the_layout_follows_the_pruning():
    block = layout_of_pruning(Pruning(method=Method.DUOGPT, n=2, m=4))
    assert block == LayoutChoice(layout=Layout.N_OF_M, n=2, m=4)
    assert layout_of_pruning(Pruning()) is None


def test_pruned_blocks_fit_their_layout(tiny_llama):
    pruning = Pruning(method=Method.DUOGPT, n=2, m=4, activation_sparsity=0.5)
    model = prune(tiny_llama, list(range(60)), pruning)
    request = CaptureRequest(
        layers=(1,), element_format=ElementFormat.E4M3, choice=layout_of_pruning(pruning), prefill=2
    )
    for operand in capture(model, PROMPT, request, ()).operands:
        assert operand.layout is Layout.N_OF_M
        assert operand.weight_sparsity == 0.5


def test_what_cannot_be_captured_is_refused(tiny_llama):
    with pytest.raises(InputError, match="capture: layer 2 does not exist, the model has 0 to 1"):
        capture(tiny_llama, PROMPT, CaptureRequest(layers=(2,)), ())
    with pytest.raises(InputError, match="prompt has 5 tokens, fewer than the 8 prefill tokens"):
        capture(tiny_llama, PROMPT, CaptureRequest(layers=(0,)), ())
    with pytest.raises(InputError, match="capture: projection 'qkv' is unknown, expected among q_"):
        CaptureRequest(layers=(0,), projections=("qkv",))
    with pytest.raises(InputError, match="capture: name at least one layer and one projection"):
        CaptureRequest(layers=())
    with pytest.raises(InputError, match="capture: columns must be 0 or more, got -1"):
        CaptureRequest(layers=(0,), columns=-1)
    with pytest.raises(InputError, match="prefill and decode are both 0"):
        CaptureRequest(layers=(0,), prefill=0, decode=0)
