"""Shapes of language models: named cards, Hugging Face ``config.json``, GGUF files."""

import functools
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from fanweave.golden.dops.tables import check_keys, nearest, number, text, whole
from fanweave.golden.errors import InputError

__all__ = ["ModelCard", "load_model", "model_from_config", "model_from_gguf", "model_names"]

#: ``model_type`` of config.json -> whether the feed-forward part has experts. All of them are
#: pre-norm decoders with rotary embedding and a gated feed-forward part.
_CONFIG_TYPES = {
    "llama": False,
    "mistral": False,
    "qwen2": False,
    "qwen3": False,
    "mixtral": True,
}
_GGUF_TYPES = ("llama", "qwen2", "qwen3")
#: Sizes of a model, and what no model is thought to exceed: a graph has several operators for
#: each layer and expert.
_MOST = {
    "layers": 10_000,
    "hidden": 1 << 24,
    "intermediate": 1 << 24,
    "heads": 1 << 16,
    "kv_heads": 1 << 16,
    "head_size": 1 << 16,
    "vocabulary": 1 << 28,
}
_MOST_EXPERTS = 4096


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Shape of a model.

    Parameters
    ----------
    name : str
        Its name.
    layers, hidden, intermediate, heads, kv_heads, head_size, vocabulary : int
        Sizes, positive; `heads` is a multiple of `kv_heads`.
    experts, experts_per_token : int
        Experts of a layer and how many see a token; 0 for a dense model.
    tied : bool
        Whether the output head is the embedding.
    weight_bits : float
        Mean bits of a stored weight, of the model as published.
    weight_density : float
        Share of the linear layers' weights that are not zero, over 0 and up to 1.
    activation_density : float
        The same of their inputs.
    source : str
        Where the sizes come from.

    Raises
    ------
    InputError
        If a size does not fit.
    """

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    source: str
    experts: int = 0
    experts_per_token: int = 0
    tied: bool = False
    weight_bits: float = 16.0
    weight_density: float = 1.0
    activation_density: float = 1.0

    def __post_init__(self) -> None:
        where = f"model {self.name}"
        for key in _MOST:
            whole(where, key, getattr(self, key), least=1, most=_MOST[key])
        if self.heads % self.kv_heads:
            raise InputError(
                f"{where}: heads = {self.heads} must be a multiple of kv_heads = {self.kv_heads}"
            )
        whole(where, "experts", self.experts, most=_MOST_EXPERTS)
        whole(where, "experts_per_token", self.experts_per_token)
        if bool(self.experts) != bool(self.experts_per_token) or (
            self.experts_per_token > self.experts
        ):
            raise InputError(
                f"{where}: experts_per_token = {self.experts_per_token} must be from 1 to "
                f"experts = {self.experts}, or both 0"
            )
        number(where, "weight_bits", self.weight_bits, strict=True)
        for key in ("weight_density", "activation_density"):
            if number(where, key, getattr(self, key), strict=True) > 1:
                raise InputError(f"{where}: {key} = {getattr(self, key)} must be at most 1")
        text(where, "source", self.source)

    @property
    def kv_elements(self) -> int:
        """Keys and values of one token of one sequence, all layers."""
        return 2 * self.layers * self.kv_heads * self.head_size

    @property
    def linear_elements(self) -> int:
        """Weights of the linear layers, all experts, without embedding and head."""
        attention = 2 * self.hidden * (self.heads + self.kv_heads) * self.head_size
        feed_forward = 3 * self.hidden * self.intermediate * max(1, self.experts)
        return self.layers * (attention + feed_forward + self.hidden * self.experts)


@functools.cache
def _cards() -> dict[str, ModelCard]:
    import tomllib

    raw = tomllib.loads(resources.files(__package__).joinpath("models.toml").read_text())
    return {
        name: _card_from_table(name, table)
        for group in ("published", "models")
        for name, table in raw[group].items()
    }


def _card_from_table(name: str, table: Mapping[str, Any]) -> ModelCard:
    names = [field.name for field in fields(ModelCard) if field.name != "name"]
    optional = tuple(field.name for field in fields(ModelCard) if field.default is not MISSING)
    check_keys(
        f"model {name}",
        table,
        required=[key for key in names if key not in optional],
        optional=optional,
    )
    return ModelCard(name=name, **table)


def model_names() -> list[str]:
    """Names of the cards that come with the package."""
    return sorted(_cards())


def load_model(name: str) -> ModelCard:
    """Find a model by the name of its card, or read a ``config.json`` or ``.gguf`` file.

    Raises
    ------
    InputError
        If there is no such card or file, or the file is not of the expected form.
    """
    if name in _cards():
        return _cards()[name]
    path = Path(name)
    if path.suffix == ".gguf":
        return model_from_gguf(path)
    if path.suffix == ".json" or path.is_dir():
        return model_from_config(path / "config.json" if path.is_dir() else path)
    raise InputError(
        f"model {name!r} is not known{nearest(name, _cards())}; use a config.json, a .gguf file "
        f"or one of {', '.join(model_names())}"
    )


def model_from_config(path: Path) -> ModelCard:
    """Read a Hugging Face ``config.json``.

    Raises
    ------
    InputError
        If it cannot be read, lacks a size, or names an architecture that is not known.
    """
    try:
        raw = json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path} must hold one JSON object")
    kind = raw.get("model_type")
    if not isinstance(kind, str) or kind not in _CONFIG_TYPES:
        raise InputError(
            f"{path}: model_type = {kind!r} is an architecture that is not known; "
            f"known are {', '.join(_CONFIG_TYPES)}"
        )
    where = str(path)

    def size(key: str, default: int | None = None) -> int:
        value = raw.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            raise InputError(f"{where}: key {key!r} is missing; a {kind} config.json has it")
        return whole(where, key, value, least=1)

    heads, hidden = size("num_attention_heads"), size("hidden_size")
    moe = _CONFIG_TYPES[kind]
    return ModelCard(
        name=path.parent.name if path.name == "config.json" and path.parent.name else path.stem,
        layers=size("num_hidden_layers"),
        hidden=hidden,
        intermediate=size("intermediate_size"),
        heads=heads,
        kv_heads=size("num_key_value_heads", heads),
        head_size=size("head_dim", hidden // heads),
        vocabulary=size("vocab_size"),
        experts=size("num_local_experts") if moe else 0,
        experts_per_token=size("num_experts_per_tok") if moe else 0,
        tied=bool(raw.get("tie_word_embeddings", False)),
        source=f"config.json ({path})",
    )


def model_from_gguf(path: Path) -> ModelCard:
    """Read the sizes of a GGUF file, and the mean bits of its linear weights.

    Raises
    ------
    InputError
        If it is no GGUF file, lacks a field, or names an architecture that is not known.
    """
    import gguf

    if not path.is_file():
        raise InputError(f"{path} does not exist; name a GGUF file")
    try:
        reader = gguf.GGUFReader(path)
    except Exception as error:  # the package raises whatever its parsing hits
        raise InputError(f"{path} is not a GGUF file: {error}") from error

    def field(key: str, default: int | None = None) -> Any:
        found = reader.get_field(key)
        if found is None:
            if default is not None:
                return default
            raise InputError(f"{path}: field {key!r} is missing")
        return found.contents()

    kind = field("general.architecture")
    if kind not in _GGUF_TYPES:
        raise InputError(
            f"{path}: general.architecture = {kind!r} is not known; "
            f"known are {', '.join(_GGUF_TYPES)}"
        )
    where = str(path)
    heads = whole(where, "heads", field(f"{kind}.attention.head_count"), least=1)
    hidden = whole(where, "hidden", field(f"{kind}.embedding_length"), least=1)
    shapes = {tensor.name: tensor for tensor in reader.tensors}
    embedding = shapes.get("token_embd.weight")
    if embedding is None:
        raise InputError(f"{path}: tensor 'token_embd.weight' is missing")
    linear = [t for name, t in shapes.items() if name.startswith("blk.") and len(t.shape) > 1]
    elements = sum(int(t.n_elements) for t in linear)
    experts = field(f"{kind}.expert_count", 0)
    return ModelCard(
        name=path.stem,
        layers=field(f"{kind}.block_count"),
        hidden=hidden,
        intermediate=field(f"{kind}.feed_forward_length"),
        heads=heads,
        kv_heads=field(f"{kind}.attention.head_count_kv", heads),
        head_size=field(f"{kind}.attention.key_length", hidden // heads),
        vocabulary=int(embedding.shape[1]),
        experts=experts,
        experts_per_token=field(f"{kind}.expert_used_count", 0) if experts else 0,
        tied="output.weight" not in shapes,
        weight_bits=8 * sum(int(t.n_bytes) for t in linear) / elements if elements else 16.0,
        source=f"GGUF ({path})",
    )
