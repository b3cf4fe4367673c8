"""Captures the operands of a model's layers while it reads a prompt and answers."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.config import PROJECTIONS, projection_name
from fanweave.golden.llama.model import KeyValueCache, Llama, sparsify
from fanweave.golden.llama.pruning import Pruning
from fanweave.sw.traces.build import LayoutChoice, Matrix, make_operand
from fanweave.sw.traces.trace import Layout, Operand, Trace

__all__ = ["CaptureRequest", "capture", "layout_of_pruning"]


@dataclass(frozen=True, kw_only=True)
class CaptureRequest:
    """What to capture.

    Parameters
    ----------
    layers : tuple of int
    projections : tuple of str
        Among ``q_proj``, ``k_proj``, ``v_proj``, ``o_proj``, ``gate_proj``, ``up_proj``,
        ``down_proj``.
    prefill : int
        How many of the prompt's tokens to keep, the last ones.
    decode : int
        How many tokens to generate and keep.
    element_format : ElementFormat
    choice : LayoutChoice or None
        None takes the layout that fits the weights.
    columns : int
        Keep that many output columns; 0 keeps all.

    Raises
    ------
    InputError
        If a projection is unknown or a number out of range.
    """

    layers: tuple[int, ...]
    projections: tuple[str, ...] = tuple(PROJECTIONS)
    prefill: int = 8
    decode: int = 4
    element_format: ElementFormat = ElementFormat.FP16
    choice: LayoutChoice | None = None
    columns: int = 0

    def __post_init__(self) -> None:
        for projection in self.projections:
            if projection not in PROJECTIONS:
                raise InputError(
                    f"capture: projection {projection!r} is unknown, "
                    f"expected among {', '.join(PROJECTIONS)}"
                )
        if not self.layers or not self.projections:
            raise InputError("capture: name at least one layer and one projection")
        for name in ("prefill", "decode", "columns"):
            if getattr(self, name) < 0:
                raise InputError(f"capture: {name} must be 0 or more, got {getattr(self, name)}")
        if self.prefill + self.decode == 0:
            raise InputError("capture: prefill and decode are both 0; keep at least one token")


def layout_of_pruning(pruning: Pruning) -> LayoutChoice | None:
    """The layout that a pruning calls for; None where only the weights can tell."""
    if pruning.m:
        return LayoutChoice(layout=Layout.N_OF_M, n=pruning.n, m=pruning.m)
    if pruning.weight_sparsity:
        return LayoutChoice(layout=Layout.BITMASK)
    return None


def _record_activations(
    model: Llama, prompt: list[int], request: CaptureRequest
) -> dict[str, np.ndarray]:
    """Inputs of the wanted projections, sparsified, [tokens, in] each."""
    names = {
        projection_name(layer, projection)
        for layer in request.layers
        for projection in request.projections
    }
    recorded: dict[str, list[np.ndarray]] = {name: [] for name in names}
    keep = request.prefill

    def record(name: str, x: np.ndarray) -> np.ndarray:
        if name in recorded and keep:
            recorded[name].append(sparsify(x[-keep:], model.thresholds.get(name, 0.0)))
        return model.project(name, x)

    cache = KeyValueCache(model.config)
    hidden = model.forward(prompt, cache, record)
    keep = 1
    for _ in range(request.decode):
        following = int(np.argmax(model.logits(hidden[-1:])))
        hidden = model.forward([following], cache, record)
    return {name: np.concatenate(pieces) for name, pieces in recorded.items()}


def capture(
    model: Llama, prompt: list[int], request: CaptureRequest, metadata: Iterable[tuple[str, str]]
) -> Trace:
    """Run `model` on a prompt and keep what its projections multiply.

    Parameters
    ----------
    model : Llama
        Pruned and with thresholds, or not.
    prompt : list of int
        At least ``request.prefill`` tokens.
    request : CaptureRequest
    metadata : pairs of str
        Goes into the trace, beside ``origin`` and ``scales``.

    Raises
    ------
    InputError
        If a layer does not exist or the prompt is too short.
    """
    for layer in request.layers:
        if not 0 <= layer < model.config.layers:
            raise InputError(
                f"capture: layer {layer} does not exist, the model has 0 to "
                f"{model.config.layers - 1}"
            )
    if len(prompt) < request.prefill:
        raise InputError(
            f"capture: the prompt has {len(prompt)} tokens, fewer than the {request.prefill} "
            "prefill tokens to keep; give a longer prompt"
        )
    activations = _record_activations(model, prompt, request)
    phases = ("prefill",) * request.prefill + ("decode",) * request.decode
    operands: list[Operand] = []
    scales = {}
    for layer in request.layers:
        for projection in request.projections:
            name = projection_name(layer, projection)
            weights = model.weights[name].T
            operand, scales[name] = make_operand(
                name=name,
                matrix=Matrix.from_dense(weights[:, : request.columns or None]),
                activations=activations[name].astype(np.float64),
                phases=phases,
                element_format=request.element_format,
                choice=request.choice,
            )
            operands.append(operand)
    return Trace(
        operands=tuple(operands),
        metadata={
            **dict(metadata),
            "origin": "captured",
            "scales": json.dumps(scales, sort_keys=True),
        },
    )
