import pytest

from fanweave.golden.cxl import island_config
from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.ventaglio.config import PRESETS, VentaglioConfig, preset
from fanweave.hw.generate.settings import as_data, with_settings


def test_values_are_read_by_the_type_of_their_field():
    config = with_settings(preset("tiny"), ["accumulators=128", "formats=FP16, BF16", "window=4"])
    assert config == VentaglioConfig(
        formats=(ElementFormat.FP16, ElementFormat.BF16),
        beat_bits=64,
        accumulators=128,
        banks=8,
        window=4,
        mask_columns=32,
    )


def test_nothing_set_is_the_preset():
    assert with_settings(preset("fp16"), []) == preset("fp16")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["accumulators"], "setting 'accumulators' is not of the form FIELD=VALUE"),
        (["lanes=3"], "unknown parameter 'lanes'; choose one of formats, beat_bits"),
        (["window=two"], "parameter window: 'two' is not of type int"),
        (["formats=FP12"], "parameter formats: 'FP12' is unknown; choose from FP32, FP16"),
        (["window=1", "window=2"], "parameter 'window' is set twice"),
        (["window=3"], "window = 3 is illegal; it must be a power of two from 1 to 4"),
    ],
)
def test_a_bad_setting_is_refused(settings, message):
    with pytest.raises(InputError) as refused:
        with_settings(preset("default"), settings)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", PRESETS)
def test_data_of_a_configuration_makes_it_again(name):
    data = as_data(preset(name))
    data["formats"] = tuple(ElementFormat[format_name] for format_name in data["formats"])
    assert VentaglioConfig(**data) == preset(name)


def test_fields_of_parts_are_set_together():
    island = island_config.PRESETS["tiny"]
    changed = with_settings(island, ["engine.prefixes=32", "engine.prefix_lanes=32"])
    assert changed.switch == island.switch
    assert (changed.engine.prefixes, changed.engine.prefix_lanes) == (32, 32)
    assert as_data(changed)["engine"]["prefixes"] == 32


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("engine=1", "unknown parameter 'engine'; choose one of switch.upstream"),
        ("switch.lanes=3", "unknown parameter 'switch.lanes'; choose one of switch.upstream"),
        ("engine.context_bytes=32", "context_bytes = 32: an event has 64"),
        ("engine.returns_context=true", "returns_context is set; nothing in an island takes"),
    ],
)
def test_a_bad_setting_of_a_part_is_refused(setting, message):
    with pytest.raises(InputError) as refused:
        with_settings(island_config.PRESETS["tiny"], [setting])
    assert message in str(refused.value)
