import pytest

from fanweave.golden.dops.calibration.profile import load_profile
from fanweave.golden.errors import InputError


def test_the_shipped_profile_holds_every_layer():
    profile = load_profile("rtxpro6000")
    assert profile.card.name == "llama-3.1-8b"
    assert sorted(profile.per_sequence) == ["lm_head", "sampler"]
    assert {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"} <= profile.dense.keys()
    assert profile.dense["qkv_proj"].tiled
    assert not profile.dense["layernorm"].tiled
    # 302.965 us at 2048 tokens stand in the file.
    assert profile.dense["qkv_proj"].time_ps(2048) == 302_965_000


def test_a_profile_that_is_none():
    with pytest.raises(InputError, match="'nope' is not known; choose one of rtxpro6000"):
        load_profile("nope")
