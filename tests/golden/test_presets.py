import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.presets import find_preset

PRESETS = {"small": 1, "large": 2}


def test_a_preset_by_its_name():
    assert find_preset("thing", "large", PRESETS) == 2


def test_another_name_is_refused_with_those_that_there_are():
    with pytest.raises(InputError) as refused:
        find_preset("thing", "huge", PRESETS)
    assert str(refused.value) == (
        "unknown preset 'huge' of unit thing; choose one of large, small "
        "(fanweave verilog --list describes them)"
    )
