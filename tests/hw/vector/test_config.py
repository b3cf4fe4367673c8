"""Parameters of the vector unit."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.vector.config import PRESETS, VectorConfig


def test_words() -> None:
    config = VectorConfig()
    assert (config.word_bits, config.word_bytes, config.words) == (256, 32, 2)
    assert config.golden.vlen == 512


def test_presets_have_whole_registers() -> None:
    assert all(config.vlen % config.word_bits == 0 for config in PRESETS.values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vlen": 96}, "vlen is 96; expected a power of two from 128 to 4096"),
        ({"lanes": 3}, "lanes is 3; expected a power of two from 1 to 16"),
        ({"lanes": True}, "lanes is True; expected a power of two from 1 to 16"),
        ({"slots": 1}, "slots is 1; expected a power of two from 2 to 16"),
        ({"vlen": 128}, "lanes is 4; a register of 128 bits has at most 2"),
        ({"segments": 9}, "segments is 9; expected 1 to 8"),
        (
            {"ventaglio": VentaglioConfig(beat_bits=128, max_outputs=1)},
            "ventaglio has beat_bits = 128; expected 256 here",
        ),
        (
            {"ventaglio": VentaglioConfig()},
            "ventaglio has max_outputs = 4; expected 1 here",
        ),
        (
            {"ventaglio": VentaglioConfig(max_outputs=1, accumulators=1024)},
            "ventaglio has accumulators = 1024; expected 256 to 512 here",
        ),
    ],
)
def test_bad_parameters(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        VectorConfig(**settings)
    assert str(error.value) == message
