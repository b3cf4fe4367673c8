"""Forward pass of a LLaMA-architecture model in float32.

Sources: Touvron et al., *LLaMA*, arXiv 2302.13971 (the architecture); Su et al., *RoFormer*,
arXiv 2104.09864 (rotary embedding); Ainslie et al., *GQA*, arXiv 2305.13245; Shazeer, *GLU
variants improve transformer*, arXiv 2002.05202 (SwiGLU).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.llama.config import (
    PROJECTIONS,
    LlamaConfig,
    projection_name,
    projection_shapes,
)

__all__ = ["Apply", "KeyValueCache", "Llama", "rms_norm", "rotate", "sparsify"]

#: Evaluates one projection: (full name, x [tokens, in]) -> y [tokens, out].
Apply = Callable[[str, np.ndarray], np.ndarray]


def rms_norm(x: np.ndarray, gain: np.ndarray, epsilon: float) -> np.ndarray:
    """Root-mean-square normalisation over the last axis; shape of `x`."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(epsilon)) * gain


def rotate(x: np.ndarray, positions: np.ndarray, base: float) -> np.ndarray:
    """Rotary embedding that pairs element i with i + head_size/2.

    Parameters
    ----------
    x : ndarray [tokens, heads, head_size]
    positions : ndarray [tokens]
        Position of each token in the sequence.
    base : float
        Pair i turns by ``position * base ** (-2 i / head_size)``.
    """
    half = x.shape[-1] // 2
    frequencies = base ** (-np.arange(half, dtype=np.float64) / half)
    angles = (positions[:, None] * frequencies)[:, None, :]
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate((first * cosine - second * sine, second * cosine + first * sine), axis=-1)


def sparsify(x: np.ndarray, threshold: float) -> np.ndarray:
    """`x` with every element of magnitude `threshold` or less set to zero.

    A threshold of 0 changes nothing.
    """
    return np.where(np.abs(x) <= threshold, np.float32(0), x)


class KeyValueCache:
    """Keys and values of the tokens seen so far, for each layer."""

    def __init__(self, config: LlamaConfig) -> None:
        empty = np.zeros((config.kv_heads, 0, config.head_size), dtype=np.float32)
        self._keys = [empty] * config.layers
        self._values = [empty] * config.layers

    def length(self, layer: int) -> int:
        """Tokens that `layer` has seen."""
        return self._keys[layer].shape[1]

    def extend(
        self, layer: int, keys: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Append [kv_heads, tokens, head_size] each; returns all keys and values of the layer."""
        self._keys[layer] = np.concatenate((self._keys[layer], keys), axis=1)
        self._values[layer] = np.concatenate((self._values[layer], values), axis=1)
        return self._keys[layer], self._values[layer]


@dataclass(frozen=True, kw_only=True, eq=False)
class Llama:
    """Weights of a model, and how to evaluate it.

    Parameters
    ----------
    config : LlamaConfig
    embedding, output : ndarray, float32 [vocabulary, hidden]
        The same array where the model ties them.
    output_norm : ndarray, float32 [hidden]
    norms : tuple of (attention, feed-forward) gains, float32 [hidden] each, one pair a layer
    weights : dict of str to ndarray, float32 [out, in]
        By full name, such as ``layers.0.self_attn.q_proj``.
    thresholds : dict of str to float
        Activations of that magnitude or less count as zero before the named projection.

    Raises
    ------
    InputError
        If an array is missing or has another shape.
    """

    config: LlamaConfig
    embedding: np.ndarray
    output: np.ndarray
    output_norm: np.ndarray
    norms: tuple[tuple[np.ndarray, np.ndarray], ...]
    weights: Mapping[str, np.ndarray]
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config = self.config
        wanted: list[tuple[str, np.ndarray | None, tuple[int, ...]]] = [
            ("embedding", self.embedding, (config.vocabulary, config.hidden)),
            ("output", self.output, (config.vocabulary, config.hidden)),
            ("output_norm", self.output_norm, (config.hidden,)),
        ]
        if len(self.norms) != config.layers:
            raise InputError(f"model: {config.layers} pairs of norms needed, got {len(self.norms)}")
        shapes = projection_shapes(config)
        for layer, pair in enumerate(self.norms):
            wanted += [(f"layers.{layer}.norms", gain, (config.hidden,)) for gain in pair]
            for projection in PROJECTIONS:
                name = projection_name(layer, projection)
                wanted.append((name, self.weights.get(name), shapes[projection]))
        for name, array, shape in wanted:
            if array is None:
                raise InputError(f"model: weights {name!r} are missing")
            if array.shape != shape:
                raise InputError(
                    f"model: {name!r} must have shape {list(shape)}, got {list(array.shape)}"
                )

    @classmethod
    def random(cls, config: LlamaConfig, seed: int) -> "Llama":
        """A model of normally distributed weights, for tests; it says nothing sensible."""
        random = np.random.default_rng(seed)

        def matrix(*shape: int) -> np.ndarray:
            return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

        def gain() -> np.ndarray:
            return (1 + 0.1 * random.standard_normal(config.hidden)).astype(np.float32)

        weights = {
            projection_name(layer, projection): matrix(*shape)
            for layer in range(config.layers)
            for projection, shape in projection_shapes(config).items()
        }
        return cls(
            config=config,
            embedding=matrix(config.vocabulary, config.hidden),
            output=matrix(config.vocabulary, config.hidden),
            output_norm=gain(),
            norms=tuple((gain(), gain()) for _ in range(config.layers)),
            weights=weights,
        )

    def project(self, name: str, x: np.ndarray) -> np.ndarray:
        """Projection `name` of `x` [tokens, in], sparsified if the model has a threshold."""
        if name in self.thresholds:
            x = sparsify(x, self.thresholds[name])
        return x @ self.weights[name].T

    def block(
        self,
        layer: int,
        hidden: np.ndarray,
        cache: KeyValueCache,
        apply: Apply | None = None,
    ) -> np.ndarray:
        """One layer: hidden state in and out, float32 [tokens, hidden].

        `apply` evaluates the projections, in the order of their use; by default
        :meth:`project`. Pruning and capture step in there.
        """
        apply = apply or self.project
        attention_gain, feed_forward_gain = self.norms[layer]
        x = rms_norm(hidden, attention_gain, self.config.norm_epsilon)
        attended = self._attend(layer, x, cache, apply)
        hidden = hidden + apply(projection_name(layer, "o_proj"), attended)
        x = rms_norm(hidden, feed_forward_gain, self.config.norm_epsilon)
        gate = apply(projection_name(layer, "gate_proj"), x)
        up = apply(projection_name(layer, "up_proj"), x)
        # The clip keeps exp() finite; the sigmoid is 0 to float32 precision far before it.
        activated = gate / (1 + np.exp(-np.clip(gate, -80, None))) * up
        return hidden + apply(projection_name(layer, "down_proj"), activated)

    def _attend(self, layer: int, x: np.ndarray, cache: KeyValueCache, apply: Apply) -> np.ndarray:
        """Causal grouped-query attention before its output projection; [tokens, heads * size]."""
        config, tokens = self.config, x.shape[0]
        past = cache.length(layer)
        positions = np.arange(past, past + tokens)

        def heads(projection: str) -> np.ndarray:
            y = apply(projection_name(layer, projection), x)
            return y.reshape(tokens, -1, config.head_size)

        queries = rotate(heads("q_proj"), positions, config.rope_base)
        keys = rotate(heads("k_proj"), positions, config.rope_base)
        values = heads("v_proj")
        all_keys, all_values = cache.extend(
            layer, keys.transpose(1, 0, 2), values.transpose(1, 0, 2)
        )
        # Consecutive query heads share a key head: [kv_heads, group * tokens, head_size].
        group = config.heads // config.kv_heads
        by_group = queries.reshape(tokens, config.kv_heads, group, config.head_size)
        grouped = by_group.transpose(1, 2, 0, 3).reshape(config.kv_heads, -1, config.head_size)
        scores = grouped @ all_keys.transpose(0, 2, 1) / np.float32(np.sqrt(config.head_size))
        future = np.arange(past + tokens)[None, :] > positions[:, None]
        scores[:, np.tile(future, (group, 1))] = -np.inf
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ all_values).reshape(config.kv_heads, group, tokens, config.head_size)
        return mixed.transpose(2, 0, 1, 3).reshape(tokens, -1)

    def embed(self, tokens: list[int]) -> np.ndarray:
        """Hidden state before the first layer, float32 [tokens, hidden].

        Raises
        ------
        InputError
            If a token is outside the vocabulary or there is none.
        """
        if not tokens or min(tokens) < 0 or max(tokens) >= self.config.vocabulary:
            raise InputError(
                f"tokens must be one or more numbers from 0 to {self.config.vocabulary - 1}, "
                f"got {tokens[:8]}"
            )
        return self.embedding[np.asarray(tokens)]

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        """Scores of the next token, float32 [tokens, vocabulary], from the last layer's state."""
        return rms_norm(hidden, self.output_norm, self.config.norm_epsilon) @ self.output.T

    def forward(
        self, tokens: list[int], cache: KeyValueCache, apply: Apply | None = None
    ) -> np.ndarray:
        """Last layer's hidden state for `tokens`, which follow what `cache` has seen.

        Returns
        -------
        ndarray, float32 [tokens, hidden]
            To be passed, whole or in part, to :meth:`logits`.
        """
        hidden = self.embed(tokens)
        for layer in range(self.config.layers):
            hidden = self.block(layer, hidden, cache, apply)
        return hidden
