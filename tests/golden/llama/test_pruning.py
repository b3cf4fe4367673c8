"""Pruning of a whole model."""

import dataclasses

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.config import projection_name
from fanweave.golden.llama.model import KeyValueCache
from fanweave.golden.llama.pruning import Method, Pruning, prune

TOKENS = np.random.default_rng(5).integers(0, 256, 120).tolist()
METHODS = [Method.MAGNITUDE, Method.WANDA, Method.DUOGPT]


def _states(model) -> np.ndarray:
    return model.forward(TOKENS, KeyValueCache(model.config))


@pytest.mark.parametrize("method", METHODS)
def test_weights_and_activations_get_the_sparsity_asked_for(tiny_llama, method):
    pruning = Pruning(method=method, weight_sparsity=0.5, activation_sparsity=0.4)
    pruned = prune(tiny_llama, TOKENS, pruning)
    shares = {}

    def record(name, x):
        shares[name] = float((np.abs(x) <= pruned.thresholds[name]).mean())
        return pruned.project(name, x)

    pruned.forward(TOKENS, KeyValueCache(pruned.config), record)
    for name, weight in pruned.weights.items():
        assert (weight == 0).mean() == pytest.approx(0.5, abs=0.01), name
        assert shares[name] == pytest.approx(0.4, abs=0.01), name


@pytest.mark.parametrize("method", METHODS)
def test_blocks_run_along_the_outputs(tiny_llama, method):
    pruned = prune(tiny_llama, TOKENS, Pruning(method=method, n=2, m=4))
    weight = pruned.weights[projection_name(1, "gate_proj")]
    counts = (weight != 0).reshape(-1, 4, weight.shape[1]).sum(axis=1)
    assert (counts == 2).all()
    assert not pruned.thresholds


def test_what_knows_the_inputs_is_nearer_to_the_dense_model(tiny_llama):
    # Gains that differ make some inputs loud: magnitude cannot see that, Wanda can.
    loud = np.exp(np.random.default_rng(6).standard_normal(32)).astype(np.float32)
    tiny_llama = dataclasses.replace(tiny_llama, norms=((loud, loud), (loud, loud)))
    dense = _states(tiny_llama)
    distance = {}
    for method in METHODS:
        pruning = Pruning(method=method, weight_sparsity=0.5, activation_sparsity=0.3)
        distance[method] = np.linalg.norm(_states(prune(tiny_llama, TOKENS, pruning)) - dense)
    assert distance[Method.DUOGPT] < 0.9 * distance[Method.WANDA]
    assert distance[Method.WANDA] < 0.9 * distance[Method.MAGNITUDE]


def test_no_pruning_changes_nothing_and_progress_is_told(tiny_llama):
    done: list[int] = []
    pruned = prune(tiny_llama, TOKENS, Pruning(), done.append)
    np.testing.assert_array_equal(_states(pruned), _states(tiny_llama))
    assert done == [0, 1]


def test_labels_say_what_was_done():
    assert Pruning().label == "none, activations 0%"
    half = Pruning(method=Method.DUOGPT, weight_sparsity=0.5, activation_sparsity=0.5)
    assert half.label == "duogpt 50%, activations 50%"
    assert Pruning(method=Method.WANDA, n=2, m=4).label == "wanda 2:4, activations 0%"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"method": Method.WANDA, "weight_sparsity": 1.0},
            "pruning: weight_sparsity must be at least 0 and below 1, got 1.0",
        ),
        (
            {"activation_sparsity": -0.1},
            "pruning: activation_sparsity must be at least 0 and below 1, got -0.1",
        ),
        (
            {"method": Method.WANDA, "n": 3, "m": 2},
            "pruning: n:m needs 1 <= n <= m <= 32, got 3:2",
        ),
        (
            {"method": Method.WANDA, "n": 1, "m": 2, "weight_sparsity": 0.5},
            "pruning: choose 1:2 or a weight sparsity, not both (got 0.5)",
        ),
        (
            {"weight_sparsity": 0.5},
            "pruning: method 'none' does not go with weight sparsity 0.5 and n:m 0:0; "
            "give a method and a sparsity, or neither",
        ),
    ],
)
def test_contradictions_are_refused(fields, message):
    with pytest.raises(InputError) as refused:
        Pruning(**fields)
    assert str(refused.value) == message
