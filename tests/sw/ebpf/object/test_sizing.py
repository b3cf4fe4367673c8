"""Engines that are as large as objects need."""

import pytest

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf import assemble
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap
from fanweave.sw.ebpf.object.sizing import sized_for
from fanweave.sw.policies.library import POLICIES, build_policy

DEFAULT = PRESETS["default"]


def with_map(kind, **fields):
    spec = MapSpec(kind=kind, name="map", key_size=8, value_size=8, **fields)
    program = Program.of(assemble("r0 = 0\nexit"))
    return ObjectFile.of_code(program, (ObjectMap(spec=spec, section=".maps"),))


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_fits_the_engine_that_is_made_for_it(name):
    loaded = build_policy(name).loaded
    config = sized_for([loaded], DEFAULT)
    lay_out([made.spec for made in loaded.maps], config)
    assert config.threads == DEFAULT.threads
    assert config.slots >= 2 * sum(len(each.program.slots) for each in loaded.programs)
    assert config.value_bytes <= DEFAULT.value_bytes


def test_several_objects_fit_one_at_a_time():
    names = ("hot_pages", "steering")
    both = sized_for([build_policy(name).loaded for name in names], DEFAULT)
    alone = [sized_for([build_policy(name).loaded], DEFAULT) for name in names]
    for field in ("value_bytes", "entries", "buckets", "prefixes", "slots"):
        assert getattr(both, field) == max(getattr(config, field) for config in alone)


def test_what_is_not_needed_is_as_small_as_it_can_be():
    config = sized_for([with_map(MapType.HASH, max_entries=100)], DEFAULT)
    assert (config.entries, config.buckets) == (128, 512)
    assert (config.prefixes, config.prefix_lanes) == (4, 4)


def test_a_trie_has_rows_of_its_own():
    config = sized_for([with_map(MapType.LPM_TRIE, max_entries=33, flags=1)], DEFAULT)
    assert (config.prefixes, config.prefix_lanes) == (64, 16)


def test_more_than_an_engine_can_have_is_refused():
    with pytest.raises(InputError, match="entries = 65536 is illegal"):
        sized_for([with_map(MapType.HASH, max_entries=40_000)], DEFAULT)
