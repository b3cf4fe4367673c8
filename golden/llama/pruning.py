"""Prunes a model's weights and calibrates the thresholds of its activations."""

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.llama.compensation import Compensation
from fanweave.golden.llama.masks import keep_largest, keep_largest_of_row, keep_n_of_m
from fanweave.golden.llama.model import KeyValueCache, Llama, sparsify

__all__ = ["Method", "Pruning", "prune"]


class Method(enum.Enum):
    """How weights are chosen.

    NONE keeps all. MAGNITUDE drops the smallest of a matrix. WANDA weighs each weight with the
    norm of its input and drops the smallest of each output (Sun et al., arXiv 2306.11695).
    DUOGPT chooses and compensates with sparsified activations
    (:mod:`fanweave.golden.llama.compensation`).
    """

    NONE = "none"
    MAGNITUDE = "magnitude"
    WANDA = "wanda"
    DUOGPT = "duogpt"


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """What to prune, and how much.

    Parameters
    ----------
    method : Method
    weight_sparsity : float
        Share of weights to drop, without structure; 0 up to, not including, 1.
    n, m : int
        Instead of `weight_sparsity`: keep n of each m consecutive outputs.
    activation_sparsity : float
        Share of each projection's inputs to zero on the calibration text; 0 up to 1, excluded.

    Raises
    ------
    InputError
        If a number is out of range, or both kinds of sparsity are asked for, or neither.
    """

    method: Method = Method.NONE
    weight_sparsity: float = 0.0
    n: int = 0
    m: int = 0
    activation_sparsity: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight_sparsity", "activation_sparsity"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"pruning: {name} must be at least 0 and below 1, got {getattr(self, name)}"
                )
        if (self.n or self.m) and not 1 <= self.n <= self.m <= 32:
            raise InputError(f"pruning: n:m needs 1 <= n <= m <= 32, got {self.n}:{self.m}")
        if self.m and self.weight_sparsity:
            raise InputError(
                f"pruning: choose {self.n}:{self.m} or a weight sparsity, not both "
                f"(got {self.weight_sparsity})"
            )
        pruned = bool(self.m or self.weight_sparsity)
        if pruned != (self.method is not Method.NONE):
            raise InputError(
                f"pruning: method {self.method.value!r} does not go with weight sparsity "
                f"{self.weight_sparsity} and n:m {self.n}:{self.m}; give a method and a sparsity, "
                "or neither"
            )

    @property
    def label(self) -> str:
        """For people, such as ``duogpt 50%, activations 50%``."""
        weights = f"{self.n}:{self.m}" if self.m else f"{self.weight_sparsity:.0%}"
        return (
            f"{self.method.value}{'' if self.method is Method.NONE else ' ' + weights}, "
            f"activations {self.activation_sparsity:.0%}"
        )


class _Inputs:
    """Inputs that some projections share, dense and as they are in the pruned model."""

    def __init__(self, x: np.ndarray, dense: np.ndarray, activation_sparsity: float) -> None:
        self.x = x
        self.dense = dense
        self.threshold = 0.0
        if activation_sparsity:
            self.threshold = float(np.quantile(np.abs(x), activation_sparsity))
        self.sparse = sparsify(x, self.threshold)

    @functools.cached_property
    def compensation(self) -> Compensation:
        return Compensation(self.dense, self.sparse)


def _prune_weight(weight: np.ndarray, inputs: _Inputs, pruning: Pruning) -> np.ndarray:
    """One projection [out, in], pruned for its inputs."""
    if pruning.method is Method.NONE:
        return weight
    if pruning.method is Method.DUOGPT:

        def choose(scores: np.ndarray) -> np.ndarray:
            if pruning.m:
                return keep_n_of_m(scores, pruning.n, pruning.m)
            return keep_largest(scores, pruning.weight_sparsity)

        restored = inputs.compensation.restore_target(weight)
        return inputs.compensation.prune(restored, choose)
    scores = np.abs(weight)
    if pruning.method is Method.WANDA:
        scores = scores * np.linalg.norm(inputs.sparse, axis=0)
    if pruning.m:
        keep = keep_n_of_m(scores, pruning.n, pruning.m)
    elif pruning.method is Method.WANDA:
        keep = keep_largest_of_row(scores, pruning.weight_sparsity)
    else:
        keep = keep_largest(scores, pruning.weight_sparsity)
    return np.where(keep, weight, np.float32(0))


def prune(
    model: Llama,
    tokens: list[int],
    pruning: Pruning,
    progress: Callable[[int], None] = lambda layer: None,
) -> Llama:
    """The pruned model, with a threshold for each projection's inputs.

    Layers are pruned in order, each seeing what the pruned and sparsified layers before it
    make of the calibration text.

    Parameters
    ----------
    model : Llama
        Dense; not changed.
    tokens : list of int
        The calibration text, taken as one sequence.
    pruning : Pruning
    progress : callable
        Called with the number of each layer that is done.
    """
    weights: dict[str, np.ndarray] = {}
    thresholds: dict[str, float] = {}
    dense_inputs: dict[str, np.ndarray] = {}
    latest: list[_Inputs] = []

    def record(name: str, x: np.ndarray) -> np.ndarray:
        dense_inputs[name] = x
        return model.project(name, x)

    def prune_here(name: str, x: np.ndarray) -> np.ndarray:
        dense = dense_inputs.pop(name)
        # Queries, keys and values are handed the same array, and so are gate and up.
        if not latest or latest[0].x is not x:
            latest[:] = [_Inputs(x, dense, pruning.activation_sparsity)]
        inputs = latest[0]
        if pruning.activation_sparsity:
            thresholds[name] = inputs.threshold
        weights[name] = _prune_weight(model.weights[name], inputs, pruning)
        return inputs.sparse @ weights[name].T

    dense_hidden = pruned_hidden = model.embed(tokens)
    for layer in range(model.config.layers):
        dense_hidden = model.block(layer, dense_hidden, KeyValueCache(model.config), record)
        pruned_hidden = model.block(layer, pruned_hidden, KeyValueCache(model.config), prune_here)
        progress(layer)
    return replace(model, weights=weights, thresholds=thresholds)
