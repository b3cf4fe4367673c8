"""Turns a file of weights, and one of activations if there is any, into a trace."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces.build import LayoutChoice, Matrix, make_operand
from fanweave.sw.traces.importers.matrix_files import (
    read_matrix_market,
    read_scipy_npz,
    read_smtx,
)
from fanweave.sw.traces.importers.safetensors_weights import read_safetensors
from fanweave.sw.traces.importers.source import SourceMatrix
from fanweave.sw.traces.synthesize import random_activations
from fanweave.sw.traces.trace import Trace

__all__ = ["ORIENTATIONS", "ImportRequest", "import_trace"]

#: How a file may hold its weights.
ORIENTATIONS = ("out-in", "in-out")
_READERS: dict[str, Callable[[Path], SourceMatrix]] = {
    ".npz": read_scipy_npz,
    ".mtx": read_matrix_market,
    ".smtx": read_smtx,
}


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """How to read the weights, and where the activations come from.

    Parameters
    ----------
    orientation : str
        ``out-in``, as model files hold weights: they are transposed. ``in-out``: they are not.
    tensors : tuple of str
        Shell patterns of the tensors to take from a safetensors file; empty takes all weights.
    element_format : ElementFormat
    choice : LayoutChoice or None
        None takes the layout that fits the weights.
    activations : Path or None
        ``.npy`` [tokens, K] for every matrix, or ``.npz`` with an array for each by name.
        None draws random ones.
    activation_sparsity : float
        Of the random activations, 0 to 1.
    prefill, decode : int
        Tokens to draw. Of a file, the last `decode` rows count as decode, the others as
        prefill.
    seed : int
        For random activations and for the values of files that hold none.

    Raises
    ------
    InputError
        If a field is out of range.
    """

    orientation: str = "out-in"
    tensors: tuple[str, ...] = ()
    element_format: ElementFormat = ElementFormat.FP16
    choice: LayoutChoice | None = None
    activations: Path | None = None
    activation_sparsity: float = 0.5
    prefill: int = 2
    decode: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.orientation not in ORIENTATIONS:
            raise InputError(
                f"import: orientation must be {' or '.join(ORIENTATIONS)}, got {self.orientation!r}"
            )
        if not 0 <= self.activation_sparsity <= 1:
            raise InputError(
                f"import: activation sparsity must be from 0 to 1, got {self.activation_sparsity}"
            )
        for name in ("prefill", "decode", "seed"):
            if getattr(self, name) < 0:
                raise InputError(f"import: {name} must be 0 or more, got {getattr(self, name)}")


def _read_weights(path: Path, request: ImportRequest) -> list[SourceMatrix]:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".safetensors":
        return read_safetensors(path, request.tensors)
    if path.suffix not in _READERS:
        raise InputError(
            f"{path}: files ending in {path.suffix!r} cannot be imported; "
            f"expected .safetensors, {', '.join(_READERS)}"
        )
    if request.tensors:
        raise InputError(
            f"{path}: holds one matrix without a name; leave out the tensor patterns "
            f"{', '.join(request.tensors)}"
        )
    return [_READERS[path.suffix](path)]


def _load_activations(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a .npy or .npz file, or damaged ({error})") from error


def _activations_of(
    name: str,
    inputs: int,
    request: ImportRequest,
    loaded: np.ndarray | dict[str, np.ndarray] | None,
    random: np.random.Generator,
) -> tuple[np.ndarray, tuple[str, ...]]:
    if loaded is None:
        tokens = request.prefill + request.decode
        values = random_activations(random, tokens, inputs, request.activation_sparsity)
        return values, ("prefill",) * request.prefill + ("decode",) * request.decode
    if isinstance(loaded, dict):
        if name not in loaded:
            raise InputError(
                f"{request.activations}: holds no array for {name!r}; "
                f"there are: {', '.join(loaded) or 'none'}"
            )
        loaded = loaded[name]
    if loaded.ndim != 2 or loaded.shape[1] != inputs or loaded.dtype.kind not in "fiu":
        raise InputError(
            f"{request.activations}: activations of {name!r} must be real numbers of shape "
            f"[tokens, {inputs}], got {loaded.dtype} of shape {list(loaded.shape)}; "
            "is the orientation right?"
        )
    decode = min(request.decode, loaded.shape[0])
    phases = ("prefill",) * (loaded.shape[0] - decode) + ("decode",) * decode
    return loaded.astype(np.float64), phases


def _with_values(source: SourceMatrix, random: np.random.Generator) -> Matrix:
    if source.has_values:
        return source.matrix
    return replace(source.matrix, values=random.standard_normal(source.matrix.rows.size))


def import_trace(path: Path, request: ImportRequest) -> Trace:
    """Read weights from `path` and make a trace of them.

    Raises
    ------
    InputError
        If a file is unknown or damaged, or weights and activations do not fit each other.
    """
    sources = _read_weights(path, request)
    loaded = None if request.activations is None else _load_activations(request.activations)
    random = np.random.default_rng(request.seed)
    operands, scales = [], {}
    for source in sources:
        matrix = _with_values(source, random)
        if request.orientation == "out-in":
            matrix = matrix.transposed()
        activations, phases = _activations_of(source.name, matrix.shape[0], request, loaded, random)
        operand, scales[source.name] = make_operand(
            name=source.name,
            matrix=matrix,
            activations=activations,
            phases=phases,
            element_format=request.element_format,
            choice=request.choice,
        )
        operands.append(operand)
    drawn = f"random, seed {request.seed}"
    return Trace(
        operands=tuple(operands),
        metadata={
            "origin": "imported",
            "source": path.name,
            "weights": "from the file" if all(s.has_values for s in sources) else drawn,
            "activations": drawn if request.activations is None else request.activations.name,
            "scales": json.dumps(scales, sort_keys=True),
        },
    )
