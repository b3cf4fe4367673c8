"""Greedy generation, and perplexity on a text."""

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.llama.model import KeyValueCache, Llama

__all__ = ["generate", "perplexity"]


def generate(model: Llama, prompt: list[int], count: int, stop: tuple[int, ...] = ()) -> list[int]:
    """The `count` likeliest tokens after `prompt`, fewer if one of `stop` comes up."""
    cache = KeyValueCache(model.config)
    tokens: list[int] = []
    following = prompt
    while len(tokens) < count:
        hidden = model.forward(following, cache)
        best = int(np.argmax(model.logits(hidden[-1:])))
        if best in stop:
            break
        tokens.append(best)
        following = [best]
    return tokens


def perplexity(model: Llama, tokens: list[int], window: int = 512) -> float:
    """exp of the mean negative log-likelihood of each token given those before it.

    Parameters
    ----------
    model : Llama
    tokens : list of int
        The text; cut into pieces of `window` tokens, each of which starts afresh.
    window : int
        At least 2. The first token of a window is given, not predicted.

    Raises
    ------
    InputError
        If the text or the window has fewer than two tokens.
    """
    if min(window, len(tokens)) < 2:
        raise InputError(
            "perplexity needs a window and a text of at least 2 tokens, "
            f"got window {window} and {len(tokens)} tokens"
        )
    total, predicted = 0.0, 0
    for start in range(0, len(tokens) - 1, window):
        piece = tokens[start : start + window]
        if len(piece) < 2:
            break
        scores = model.logits(model.forward(piece, KeyValueCache(model.config))[:-1])
        scores = scores - scores.max(axis=1, keepdims=True)
        normaliser = np.log(np.exp(scores).sum(axis=1, dtype=np.float64))
        given = scores[np.arange(len(piece) - 1), piece[1:]].astype(np.float64)
        total += float((normaliser - given).sum())
        predicted += len(piece) - 1
    return float(np.exp(total / predicted))
