"""Many events at once: no count is lost, and no event is lost or doubled by a new program."""

from dataclasses import replace

import pytest

from fanweave.golden.ebpf.config import PRESETS
from fanweave.sim.benches.ebpf.engine_design import SERVER_CONFIG
from fanweave.sim.benches.ebpf.engine_load import count_in_shared_maps, replace_under_load

#: Two engines; the small preset, because each has to be built.
SEVERAL = replace(PRESETS["tiny"], engines=2, threads=2, returns_context=True)


def test_engines_that_share_maps_lose_no_count():
    sums = count_in_shared_maps(SEVERAL, events=20, turns=12)
    events = 20 * SEVERAL.engines
    assert sums == {"in_array": [3 * events] * 4, "in_hash": [3 * events] * 4}


def test_threads_that_share_maps_lose_no_count():
    sums = count_in_shared_maps(SERVER_CONFIG, events=40, turns=8)
    assert sums == {"in_array": [80] * 4, "in_hash": [80] * 4}


@pytest.mark.parametrize("config", [SERVER_CONFIG, SEVERAL], ids=["one engine", "two engines"])
def test_a_program_is_replaced_under_load(config):
    done = replace_under_load(config, versions=12, events=25)
    assert len(done.results) == 12 * 25
    # An event runs the program that is bound when it is taken: never an older one than that of
    # an event before it, and never one that did not exist yet when the event was offered.
    for engine in range(config.engines):
        results = done.results[engine :: config.engines]
        assert list(results) == sorted(results)
    offered = [number // 25 for number in range(12 * 25)]
    assert all(found >= asked for found, asked in zip(done.results, offered, strict=True))
    assert len(set(done.results)) > 3
    assert done.images_left == 1
