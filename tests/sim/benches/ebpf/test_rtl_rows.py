"""Cycles that the policy engine must keep to."""

import pytest

from fanweave.sim.benches.ebpf.rtl_rows import classic_rows, map_rows


@pytest.mark.parametrize("row", map_rows(), ids=lambda row: row.case)
def test_operations_of_maps_are_fast_enough(row):
    assert row.goal is None or row.value <= row.goal


def test_classic_programs_are_faster_than_published():
    rows = classic_rows()
    assert len(rows) == 7
    assert [row.case for row in rows if row.value >= row.goal] == []
