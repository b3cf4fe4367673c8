"""Models from cards, a ``config.json`` and GGUF files."""

import json

import gguf
import numpy as np
import pytest

from fanweave.golden.dops.models import ModelCard, load_model, model_names
from fanweave.golden.errors import InputError

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
}
EXPERTS = {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
SIZES = ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_size", "vocabulary")


def config(tmp_path, **changes):
    file = tmp_path / "config.json"
    table = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    file.write_text(json.dumps(table))
    return load_model(str(file))


def sizes(card):
    return tuple(getattr(card, name) for name in SIZES)


def test_named_cards_are_of_every_family():
    for family in ("llama-7b", "llama-2-70b", "llama-3-8b", "qwen-14b", "qwen2-7b", "mixtral-8x7b"):
        assert load_model(family).name == family
    assert load_model("llama-2-70b").kv_heads == 8
    assert load_model("mixtral-8x7b-v0.1").experts_per_token == 2
    for name in model_names():
        assert load_model(name).source


@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3"])
def test_a_config_of_a_dense_model(tmp_path, kind):
    card = config(tmp_path, model_type=kind, tie_word_embeddings=True)
    assert sizes(card) == (2, 64, 96, 4, 2, 16, 100)
    assert (card.experts, card.tied, card.name) == (0, True, tmp_path.name)
    assert config(tmp_path, head_dim=32, num_key_value_heads=None).kv_elements == 2 * 2 * 4 * 32


def test_a_config_of_a_folder_with_experts(tmp_path):
    config(tmp_path, **EXPERTS)
    card = load_model(str(tmp_path))
    assert (card.experts, card.experts_per_token, card.tied) == (8, 2, False)
    assert card.linear_elements == 2 * (2 * 64 * (4 + 2) * 16 + 3 * 64 * 96 * 8 + 64 * 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "mamba"}, "'mamba' is an architecture that is not known; known are llama"),
        ({"model_type": None}, "model_type = None is an architecture"),
        ({"model_type": ["llama"]}, r"model_type = \['llama'\] is an architecture"),
        ({"hidden_size": None}, "key 'hidden_size' is missing; a llama config.json has it"),
        ({"hidden_size": -64}, "hidden_size = -64 must be an integer of at least 1"),
        ({"hidden_size": float("nan")}, "hidden_size = nan must be an integer"),
        ({"num_hidden_layers": 10**9}, "layers = 1000000000 must be .* at most 10000"),
        ({"num_attention_heads": 3}, "heads = 3 must be a multiple of kv_heads = 2"),
        ({"model_type": "mixtral"}, "key 'num_local_experts' is missing"),
        ({**EXPERTS, "num_experts_per_tok": 9}, "experts_per_token = 9 must be from 1 to"),
    ],
)
def test_a_config_that_does_not_fit(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        config(tmp_path, **changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe{", "is not JSON"),
        (b"[]", "must hold one JSON object"),
    ],
)
def test_a_file_that_is_no_config(tmp_path, content, message):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_model(str(file))


def written(path, architecture="qwen2", *, head=True, heads=4, leave_out=""):
    """A GGUF file of two layers, its products in Q8_0: 34 bytes for 32 weights."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in (
        ("block_count", 2),
        ("embedding_length", 64),
        ("feed_forward_length", 96),
        ("attention.head_count", heads),
        ("attention.head_count_kv", 2),
    ):
        if key != leave_out:
            writer.add_uint32(f"{architecture}.{key}", value)
    writer.add_tensor("token_embd.weight", np.zeros((100, 64), np.float16))
    if head:
        writer.add_tensor("output.weight", np.zeros((100, 64), np.float16))
    for layer in range(2):
        rows = gguf.quants.quantize(np.ones((96, 64), np.float32), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(
            f"blk.{layer}.ffn_up.weight", rows, raw_dtype=gguf.GGMLQuantizationType.Q8_0
        )
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def test_a_gguf_file_gives_sizes_and_the_bits_of_its_products(tmp_path):
    card = load_model(written(tmp_path / "small.gguf"))
    assert sizes(card) == (2, 64, 96, 4, 2, 16, 100)
    assert (card.name, card.tied) == ("small", False)
    assert card.weight_bits == 34 * 8 / 32
    assert load_model(written(tmp_path / "tied.gguf", head=False)).tied


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"architecture": "mamba"}, "general.architecture = 'mamba' is not known; known are llama"),
        ({"leave_out": "block_count"}, "field 'qwen2.block_count' is missing"),
        ({"heads": 0}, "heads = 0 must be an integer of at least 1"),
    ],
)
def test_a_gguf_file_that_does_not_fit(tmp_path, wrong, message):
    name = written(tmp_path / "wrong.gguf", **wrong)
    with pytest.raises(InputError, match=message):
        load_model(name)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"text", b"GGUF" + b"\xff" * 64])
def test_a_file_that_is_no_gguf(tmp_path, content):
    file = tmp_path / "wrong.gguf"
    file.write_bytes(content)
    with pytest.raises(InputError, match="is not a GGUF file"):
        load_model(str(file))
    with pytest.raises(InputError, match="does not exist"):
        load_model(str(tmp_path / "no.gguf"))


def test_densities_and_bits_that_mean_nothing():
    good = vars(load_model("llama-7b"))
    for key, value in (("weight_bits", 0), ("weight_density", 1.5), ("activation_density", -1)):
        with pytest.raises(InputError, match=f"{key} = {value}"):
            ModelCard(**{**good, key: value})
