"""The forward pass against a reference of plain loops that shares nothing with it."""

import dataclasses
import math

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.config import PROJECTIONS, projection_name
from fanweave.golden.llama.model import KeyValueCache, Llama, sparsify

TOKENS = [5, 200, 17, 17, 91, 3, 255]


def _normalise(vector, gain, epsilon):
    mean_square = sum(float(v) ** 2 for v in vector) / len(vector)
    return [
        float(v) / math.sqrt(mean_square + epsilon) * float(g)
        for v, g in zip(vector, gain, strict=True)
    ]


def _multiply(weight, vector):
    return [sum(float(w) * v for w, v in zip(row, vector, strict=True)) for row in weight]


def _turn(vector, position, base):
    """Rotary embedding of one head by complex numbers."""
    half = len(vector) // 2
    turned = [0.0] * len(vector)
    for i in range(half):
        angle = position / base ** (2 * i / len(vector))
        value = complex(vector[i], vector[i + half]) * complex(math.cos(angle), math.sin(angle))
        turned[i], turned[i + half] = value.real, value.imag
    return turned


def _loop_reference(model: Llama, tokens: list[int]) -> np.ndarray:
    """Logits of every position, one token, head and element at a time, in binary64."""
    config, size = model.config, model.config.head_size
    states = [[float(v) for v in model.embedding[token]] for token in tokens]
    for layer in range(config.layers):
        weight = {p: model.weights[projection_name(layer, p)] for p in PROJECTIONS}
        queries, keys, values = [], [], []
        for position, state in enumerate(states):
            x = _normalise(state, model.norms[layer][0], config.norm_epsilon)
            q, k, v = (_multiply(weight[p], x) for p in ("q_proj", "k_proj", "v_proj"))
            base = config.rope_base
            queries.append(
                [_turn(q[h * size : (h + 1) * size], position, base) for h in range(config.heads)]
            )
            keys.append(
                [
                    _turn(k[h * size : (h + 1) * size], position, base)
                    for h in range(config.kv_heads)
                ]
            )
            values.append([v[h * size : (h + 1) * size] for h in range(config.kv_heads)])
        for position, state in enumerate(states):
            mixed: list[float] = []
            for head in range(config.heads):
                shared = head * config.kv_heads // config.heads
                scores = [
                    math.exp(
                        sum(
                            a * b
                            for a, b in zip(
                                queries[position][head], keys[past][shared], strict=True
                            )
                        )
                        / math.sqrt(size)
                    )
                    for past in range(position + 1)
                ]
                mixed += [
                    sum(s * values[past][shared][e] for past, s in enumerate(scores)) / sum(scores)
                    for e in range(size)
                ]
            state = [a + b for a, b in zip(state, _multiply(weight["o_proj"], mixed), strict=True)]
            x = _normalise(state, model.norms[layer][1], config.norm_epsilon)
            gate, up = _multiply(weight["gate_proj"], x), _multiply(weight["up_proj"], x)
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up, strict=True)]
            states[position] = [
                a + b for a, b in zip(state, _multiply(weight["down_proj"], inner), strict=True)
            ]
    normed = [_normalise(s, model.output_norm, config.norm_epsilon) for s in states]
    return np.array([_multiply(model.output, x) for x in normed])


def test_forward_agrees_with_plain_loops(tiny_llama):
    logits = tiny_llama.logits(tiny_llama.forward(TOKENS, KeyValueCache(tiny_llama.config)))
    np.testing.assert_allclose(logits, _loop_reference(tiny_llama, TOKENS), atol=2e-5)


def test_token_by_token_is_the_same_as_all_at_once(tiny_llama):
    whole = tiny_llama.forward(TOKENS, KeyValueCache(tiny_llama.config))
    cache = KeyValueCache(tiny_llama.config)
    pieces = [tiny_llama.forward(TOKENS[:3], cache)]
    pieces += [tiny_llama.forward([token], cache) for token in TOKENS[3:]]
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-5)
    assert cache.length(1) == len(TOKENS)


def test_a_later_token_does_not_change_an_earlier_one(tiny_llama):
    first = tiny_llama.forward([1, 2, 3], KeyValueCache(tiny_llama.config))
    other = tiny_llama.forward([1, 2, 200], KeyValueCache(tiny_llama.config))
    np.testing.assert_allclose(first[:2], other[:2], atol=1e-6)
    assert not np.allclose(first[2], other[2])


def test_sparsify_zeroes_what_is_small_and_keeps_the_rest():
    x = np.array([-2.0, -0.5, 0.0, 0.5, 0.6], dtype=np.float32)
    np.testing.assert_array_equal(sparsify(x, 0.5), np.float32([-2.0, 0, 0, 0, 0.6]))
    np.testing.assert_array_equal(sparsify(x, 0.0), x)


def test_thresholds_act_before_the_projection(tiny_llama):
    name = projection_name(0, "up_proj")
    x = np.linspace(-1, 1, tiny_llama.config.hidden, dtype=np.float32)[None]
    thresholded = dataclasses.replace(tiny_llama, thresholds={name: 0.4})
    expected = np.where(np.abs(x) > 0.4, x, 0) @ tiny_llama.weights[name].T
    np.testing.assert_array_equal(thresholded.project(name, x), expected)


@pytest.mark.parametrize("tokens", [[], [260], [-1, 2]])
def test_tokens_outside_the_vocabulary_are_refused(tiny_llama, tokens):
    with pytest.raises(InputError) as refused:
        tiny_llama.embed(tokens)
    assert str(refused.value) == f"tokens must be one or more numbers from 0 to 259, got {tokens}"


def test_missing_and_misshapen_weights_are_refused(tiny_llama):
    name = projection_name(1, "k_proj")
    others = {key: value for key, value in tiny_llama.weights.items() if key != name}
    with pytest.raises(InputError, match=r"model: weights 'layers\.1\.self_attn\.k_proj' are miss"):
        dataclasses.replace(tiny_llama, weights=others)
    wrong = {**others, name: np.zeros((3, 32), dtype=np.float32)}
    with pytest.raises(InputError, match=r"k_proj' must have shape \[16, 32\], got \[3, 32\]"):
        dataclasses.replace(tiny_llama, weights=wrong)
    with pytest.raises(InputError, match="model: 2 pairs of norms needed, got 1"):
        dataclasses.replace(tiny_llama, norms=tiny_llama.norms[:1])
