"""Random traces with the shapes of known models; always marked as synthetic."""

import json
from collections.abc import Sequence

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.config import (
    PROJECTIONS,
    LlamaConfig,
    projection_name,
    projection_shapes,
)
from fanweave.golden.llama.masks import keep_n_of_m
from fanweave.sw.traces.build import LayoutChoice, Matrix, make_operand
from fanweave.sw.traces.trace import Layout, Trace

__all__ = ["MODELS", "random_activations", "synthesize"]

#: Models whose shapes can be asked for. Sources: the models' published configurations.
MODELS = {
    "llama-3-8b": LlamaConfig(
        layers=32,
        hidden=4096,
        intermediate=14336,
        heads=32,
        kv_heads=8,
        head_size=128,
        vocabulary=128256,
        rope_base=500000.0,
        norm_epsilon=1e-5,
    ),
    "smollm2-135m": LlamaConfig(
        layers=30,
        hidden=576,
        intermediate=1536,
        heads=9,
        kv_heads=3,
        head_size=64,
        vocabulary=49152,
        rope_base=100000.0,
        norm_epsilon=1e-5,
    ),
}


def random_activations(
    random: np.random.Generator, tokens: int, inputs: int, sparsity: float
) -> np.ndarray:
    """Normally distributed numbers with `sparsity` of each token's set to zero.

    Returns
    -------
    ndarray, float64 [tokens, inputs]
    """
    values = random.standard_normal((tokens, inputs))
    zeros = round(sparsity * inputs)
    order = np.argsort(random.random((tokens, inputs)), axis=1)[:, :zeros]
    np.put_along_axis(values, order, 0.0, axis=1)
    return values


def _random_matrix(
    random: np.random.Generator,
    shape: tuple[int, int],
    sparsity: float,
    choice: LayoutChoice,
) -> Matrix:
    scores = random.random(shape)
    if choice.layout is Layout.N_OF_M:
        # keep_n_of_m blocks along axis 0; here the outputs are axis 1.
        keep = keep_n_of_m(scores.T, choice.n, choice.m).T
    else:
        keep = scores >= sparsity
    rows, columns = np.nonzero(keep)
    values = random.standard_normal(rows.size) / np.sqrt(shape[0])
    return Matrix(shape=shape, rows=rows, columns=columns, values=values)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"synth: {name} must be from 0 to 1, got {value}")


def synthesize(
    *,
    model: str = "llama-3-8b",
    projections: Sequence[str] = tuple(PROJECTIONS),
    weight_sparsity: float = 0.5,
    activation_sparsity: float = 0.5,
    choice: LayoutChoice | None = None,
    element_format: ElementFormat = ElementFormat.FP16,
    prefill: int = 2,
    decode: int = 1,
    rows: int = 0,
    columns: int = 0,
    seed: int = 0,
) -> Trace:
    """Random operands with a model's shapes and given sparsities.

    Parameters
    ----------
    model : str
        A key of :data:`MODELS`.
    projections : sequence of str
        Such as ``("q_proj", "down_proj")``.
    weight_sparsity, activation_sparsity : float
        Share of zeros, 0 to 1. The layouts n_of_m and dense determine the weights' by themselves.
    choice : LayoutChoice or None
        Layout of the weights; bitmask by default.
    element_format : ElementFormat
    prefill, decode : int
        Tokens of each phase.
    rows, columns : int
        Limits of K and N, to keep a trace small; 0 takes the model's.
    seed : int
        Equal seeds give equal traces.

    Raises
    ------
    InputError
        If a name is unknown or a number out of range.
    """
    if model not in MODELS:
        raise InputError(f"synth: model {model!r} is unknown, expected {', '.join(MODELS)}")
    shapes = projection_shapes(MODELS[model])
    for projection in projections:
        if projection not in shapes:
            raise InputError(
                f"synth: projection {projection!r} is unknown, expected among {', '.join(shapes)}"
            )
    _check_share("weight sparsity", weight_sparsity)
    _check_share("activation sparsity", activation_sparsity)
    for name, value in {
        "prefill": prefill,
        "decode": decode,
        "rows": rows,
        "columns": columns,
        "seed": seed,
    }.items():
        if value < 0:
            raise InputError(f"synth: {name} must be 0 or more, got {value}")
    choice = choice or LayoutChoice(layout=Layout.BITMASK)
    if choice.layout is Layout.DENSE:
        weight_sparsity = 0.0
    operands, scales = [], {}
    for projection in projections:
        outputs, inputs = shapes[projection]
        shape = (min(inputs, rows or inputs), min(outputs, columns or outputs))
        name = projection_name(0, projection)
        random = np.random.default_rng([seed, *projection.encode()])
        operand, scales[name] = make_operand(
            name=name,
            matrix=_random_matrix(random, shape, weight_sparsity, choice),
            activations=random_activations(random, prefill + decode, shape[0], activation_sparsity),
            phases=("prefill",) * prefill + ("decode",) * decode,
            element_format=element_format,
            choice=choice,
        )
        operands.append(operand)
    return Trace(
        operands=tuple(operands),
        metadata={
            "origin": "synthetic",
            "model": f"{model} (shapes only)",
            "seed": str(seed),
            "scales": json.dumps(scales, sort_keys=True),
        },
    )
