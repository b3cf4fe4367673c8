"""Shapes of models, and the messages for impossible ones."""

import dataclasses

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.config import LlamaConfig, projection_name, projection_shapes

LLAMA_3_8B = LlamaConfig(
    layers=32,
    hidden=4096,
    intermediate=14336,
    heads=32,
    kv_heads=8,
    head_size=128,
    vocabulary=128256,
    rope_base=500000.0,
    norm_epsilon=1e-5,
)


def test_projections_of_llama_3_8b_have_the_published_shapes():
    assert projection_shapes(LLAMA_3_8B) == {
        "q_proj": (4096, 4096),
        "k_proj": (1024, 4096),
        "v_proj": (1024, 4096),
        "o_proj": (4096, 4096),
        "gate_proj": (14336, 4096),
        "up_proj": (14336, 4096),
        "down_proj": (4096, 14336),
    }


def test_names_follow_hugging_face():
    assert projection_name(3, "q_proj") == "layers.3.self_attn.q_proj"
    assert projection_name(0, "down_proj") == "layers.0.mlp.down_proj"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "model: layers must be positive, got 0"),
        ({"rope_base": -1.0}, "model: rope_base must be positive, got -1.0"),
        ({"kv_heads": 5}, "model: heads must be a multiple of kv_heads 5, got 32"),
        ({"head_size": 7}, "model: head_size must be even, got 7"),
    ],
)
def test_impossible_sizes_are_refused(change, message):
    with pytest.raises(InputError) as refused:
        dataclasses.replace(LLAMA_3_8B, **change)
    assert str(refused.value) == message
