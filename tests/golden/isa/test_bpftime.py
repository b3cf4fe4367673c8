"""Numbers of bpftime, as its public sources have them."""

from fanweave.golden.isa.bpftime import DEVICE_HELPERS, DEVICE_MAPS
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType


def test_numbers_of_the_public_sources():
    maps = {row.name: row.number for row in DEVICE_MAPS}
    assert maps["PERGPUTD_ARRAY_MAP"] == 1502
    assert maps["GPU_ARRAY_MAP"] == 1503
    assert maps["GPU_RINGBUF_MAP"] == 1527
    helpers = {row.name: row.number for row in DEVICE_HELPERS}
    assert (helpers["get_globaltimer"], helpers["get_thread_idx"]) == (502, 505)
    assert helpers["get_lane_id"] == 511


def test_each_number_is_there_once_and_is_none_of_linux():
    for rows, own in ((DEVICE_MAPS, set(MapType)), (DEVICE_HELPERS, set(HELPERS))):
        numbers = [row.number for row in rows]
        assert numbers == sorted(set(numbers))
        assert not own & set(numbers)


def test_what_stands_for_a_helper_takes_as_many_arguments():
    by_name = {helper.name: helper for helper in HELPERS.values()}
    for row in DEVICE_HELPERS:
        if row.stands_for:
            assert len(by_name[row.stands_for].arguments) == row.arguments
