"""What tests of several packages share: a tiny model, and a GGUF file that holds it."""

import os
from pathlib import Path

import gguf
import numpy as np
import pytest

from fanweave.golden.llama.config import LlamaConfig, projection_name
from fanweave.golden.llama.model import Llama
from fanweave.golden.llama.tokenizer import byte_alphabet

TENSORS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long tests out, with their reason, unless they are asked for."""
    if "FANWEAVE_LONG" in os.environ:
        return
    for item in items:
        if mark := item.get_closest_marker("long"):
            reason = f"{mark.args[0]}; FANWEAVE_LONG=1 runs it"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def tiny_llama() -> Llama:
    """Two layers of random weights, four query heads on two key heads, a byte vocabulary."""
    config = LlamaConfig(
        layers=2,
        hidden=32,
        intermediate=48,
        heads=4,
        kv_heads=2,
        head_size=8,
        vocabulary=260,
        rope_base=100.0,
        norm_epsilon=1e-5,
    )
    return Llama.random(config, seed=1)


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """A query or key weight in GGUF's row order: i and i + size/2 become neighbours."""
    size = weight.shape[0] // heads
    rows = []
    for head in range(heads):
        for pair in range(size // 2):
            rows += [head * size + pair, head * size + pair + size // 2]
    return weight[rows]


@pytest.fixture(scope="session")
def tiny_gguf(tiny_llama: Llama, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with a tokenizer of 256 bytes, three merges and one special token."""
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    config = tiny_llama.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.layers)
    writer.add_embedding_length(config.hidden)
    writer.add_feed_forward_length(config.intermediate)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_rope_dimension_count(config.head_size)
    writer.add_rope_freq_base(config.rope_base)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*byte_alphabet(), "th", "the", "Ġthe", "<|end|>"])
    writer.add_token_types([1] * 259 + [3])
    writer.add_token_merges(["t h", "th e", "Ġ the"])
    writer.add_tensor("token_embd.weight", tiny_llama.embedding)
    writer.add_tensor("output.weight", tiny_llama.output)
    writer.add_tensor("output_norm.weight", tiny_llama.output_norm)
    for layer in range(config.layers):
        for gain, name in zip(tiny_llama.norms[layer], ("attn_norm", "ffn_norm"), strict=True):
            writer.add_tensor(f"blk.{layer}.{name}.weight", gain)
        for projection, tensor in TENSORS.items():
            weight = tiny_llama.weights[projection_name(layer, projection)]
            if projection == "q_proj":
                weight = interleaved(weight, config.heads)
            elif projection == "k_proj":
                weight = interleaved(weight, config.kv_heads)
            writer.add_tensor(f"blk.{layer}.{tensor}.weight", np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
