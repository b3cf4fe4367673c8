"""Reads a LLaMA-architecture model and its tokenizer from a GGUF file.

Source: the GGUF specification (ggml) and its Python package, which dequantises.
"""

from pathlib import Path
from typing import Any

import gguf
import numpy as np

from fanweave.golden.errors import InputError
from fanweave.golden.llama.config import LlamaConfig, projection_name, projection_shapes
from fanweave.golden.llama.model import Llama
from fanweave.golden.llama.tokenizer import Tokenizer

__all__ = ["load_gguf", "undo_rope_order"]

#: Projection -> name of its tensor inside a block.
_TENSORS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
#: ``token_type`` of control tokens and of tokens the user defined.
_SPECIAL_TYPES = (3, 4)


def undo_rope_order(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key weight [out, in] from GGUF's order to the one trained.

    GGUF interleaves each head so that the rotary embedding turns elements 2i and 2i+1; trained
    is the pairing of i with i + head_size/2.
    """
    size = weight.shape[0] // heads
    pairs = weight.reshape(heads, size // 2, 2, weight.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(weight.shape))


class _Reader:
    """Fields and tensors of one file, with messages that name it."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"{path}: no such model file; 'fanweave model fetch' brings one")
        self._path = path
        try:
            reader = gguf.GGUFReader(path)
            self._fields = {name: field.contents() for name, field in reader.fields.items()}
            self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        except (ValueError, IndexError, KeyError, OverflowError, OSError) as error:
            raise InputError(f"{path}: not a GGUF file, or damaged ({error})") from error

    def field(self, name: str) -> Any:
        if name not in self._fields:
            raise InputError(f"{self._path}: GGUF field {name!r} is missing")
        return self._fields[name]

    def optional(self, name: str, otherwise: Any) -> Any:
        return self._fields.get(name, otherwise)

    def has(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str) -> np.ndarray:
        if name not in self._tensors:
            raise InputError(f"{self._path}: GGUF tensor {name!r} is missing")
        tensor = self._tensors[name]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        return np.ascontiguousarray(values, dtype=np.float32)


def _config(reader: _Reader) -> LlamaConfig:
    architecture = reader.field("general.architecture")
    if architecture != "llama":
        raise InputError(f"model architecture must be 'llama', got {architecture!r}")
    hidden = reader.field("llama.embedding_length")
    heads = reader.field("llama.attention.head_count")
    return LlamaConfig(
        layers=reader.field("llama.block_count"),
        hidden=hidden,
        intermediate=reader.field("llama.feed_forward_length"),
        heads=heads,
        kv_heads=reader.optional("llama.attention.head_count_kv", heads),
        head_size=reader.optional("llama.rope.dimension_count", hidden // heads),
        vocabulary=len(reader.field("tokenizer.ggml.tokens")),
        rope_base=reader.optional("llama.rope.freq_base", 10000.0),
        norm_epsilon=reader.field("llama.attention.layer_norm_rms_epsilon"),
    )


def _tokenizer(reader: _Reader) -> Tokenizer:
    kind = reader.field("tokenizer.ggml.model")
    if kind != "gpt2":
        raise InputError(f"tokenizer must be byte-level BPE ('gpt2'), got {kind!r}")
    tokens = reader.field("tokenizer.ggml.tokens")
    types = reader.optional("tokenizer.ggml.token_type", [])
    special = [token for token, kind in zip(tokens, types, strict=False) if kind in _SPECIAL_TYPES]
    return Tokenizer(tokens, reader.field("tokenizer.ggml.merges"), special)


def load_gguf(path: str | Path) -> tuple[Llama, Tokenizer]:
    """Model and tokenizer of a GGUF file, dequantised to float32.

    Raises
    ------
    InputError
        If the file is missing, damaged, or of another architecture.
    """
    reader = _Reader(Path(path))
    config = _config(reader)
    weights: dict[str, np.ndarray] = {}
    norms = []
    for layer in range(config.layers):
        for projection in projection_shapes(config):
            weight = reader.tensor(f"blk.{layer}.{_TENSORS[projection]}.weight")
            if projection == "q_proj":
                weight = undo_rope_order(weight, config.heads)
            elif projection == "k_proj":
                weight = undo_rope_order(weight, config.kv_heads)
            weights[projection_name(layer, projection)] = weight
        norms.append(
            (
                reader.tensor(f"blk.{layer}.attn_norm.weight"),
                reader.tensor(f"blk.{layer}.ffn_norm.weight"),
            )
        )
    embedding = reader.tensor("token_embd.weight")
    output = reader.tensor("output.weight") if reader.has("output.weight") else embedding
    model = Llama(
        config=config,
        embedding=embedding,
        output=output,
        output_norm=reader.tensor("output_norm.weight"),
        norms=tuple(norms),
        weights=weights,
    )
    return model, _tokenizer(reader)
