"""Cycles that the policy engine must keep to."""

from dataclasses import replace

import pytest

from fanweave.golden.errors import FaultError
from fanweave.sim.benches.ebpf.classic_load import classic_load
from fanweave.sim.benches.ebpf.rtl_rows import classic_rows, load_rows, map_rows
from fanweave.sw.ebpf.programs.cases import CASES


@pytest.mark.parametrize("row", map_rows(), ids=lambda row: row.case)
def test_operations_of_maps_are_fast_enough(row):
    assert row.goal is None or row.value <= row.goal


def test_classic_programs_are_faster_than_published():
    rows = classic_rows()
    assert len(rows) == 7
    assert [row.case for row in rows if row.value >= row.goal] == []


def test_classic_programs_keep_the_core_busy():
    rows = load_rows(events=16)
    assert [row.origin for row in rows] == ["rtl"] * 3 + ["literature"] * 2
    subnet, port, sack, least, most = (row.value for row in rows)
    # Shorter than its frame takes to come in: 9 instructions in 18 words.
    assert 0.3 < subnet < 9 / 18
    # At the beginning and in the end not all threads are at work.
    assert 0.85 < port < 1
    assert 0.9 < sack < 1
    assert (least, most) == (1.70, 2.83)


def test_a_frame_that_is_decided_otherwise_is_a_fault():
    case = next(case for case in CASES if case.program == "subnet")
    with pytest.raises(FaultError, match=f"gives something else than {case.r0 + 1}"):
        classic_load(replace(case, r0=case.r0 + 1), events=1)
