"""Generation and perplexity."""

import dataclasses
import math

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.evaluate import generate, perplexity
from fanweave.golden.llama.model import KeyValueCache


def test_generation_takes_the_likeliest_token_each_time(tiny_llama):
    prompt = [7, 8, 9]
    tokens = generate(tiny_llama, prompt, 4)
    for count, token in enumerate(tokens):
        seen = prompt + tokens[:count]
        logits = tiny_llama.logits(tiny_llama.forward(seen, KeyValueCache(tiny_llama.config)))
        assert token == int(np.argmax(logits[-1]))
    assert generate(tiny_llama, prompt, 4, stop=(tokens[2],))[:2] == tokens[:2]
    assert len(generate(tiny_llama, prompt, 4, stop=(tokens[0],))) == 0


def test_a_model_that_knows_nothing_has_the_vocabularys_perplexity(tiny_llama):
    ignorant = dataclasses.replace(tiny_llama, output=np.zeros_like(tiny_llama.output))
    assert perplexity(ignorant, list(range(50)), window=20) == pytest.approx(260)


def test_perplexity_agrees_with_its_definition(tiny_llama):
    tokens = [3, 1, 4, 1, 5, 9, 2]
    total = 0.0
    for start, stop in ((0, 4), (4, 7)):
        for position in range(start + 1, stop):
            seen = tokens[start:position]
            logits = tiny_llama.logits(tiny_llama.forward(seen, KeyValueCache(tiny_llama.config)))
            chances = np.exp(logits[-1].astype(np.float64))
            total -= math.log(chances[tokens[position]] / chances.sum())
    assert perplexity(tiny_llama, tokens, window=4) == pytest.approx(math.exp(total / 5), rel=1e-5)


def test_a_single_token_left_over_is_not_predicted(tiny_llama):
    assert perplexity(tiny_llama, [1, 2, 3, 4, 5], window=4) == perplexity(
        tiny_llama, [1, 2, 3, 4], window=4
    )


def test_too_little_text_is_refused(tiny_llama):
    with pytest.raises(InputError, match="at least 2 tokens, got window 512 and 1 tokens"):
        perplexity(tiny_llama, [1])
