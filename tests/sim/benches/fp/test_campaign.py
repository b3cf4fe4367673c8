# amaranth: UnusedElaboratable=no
import numpy as np
import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.fp import MultiplyAccumulate
from fanweave.sim.benches.fp import check_golden, rows, run
from fanweave.sim.benches.fp.pipelines import build, run_vectors

ORIGINS = {"rtl", "model", "literature", "measured", "assumed"}


@pytest.mark.verilator
def test_rtl_agrees_with_golden_in_verilator():
    results = run(20_000, seed=1)
    assert {result.case for result in results} == {
        *(f"rtl multiply-accumulate {item.name}" for item in ElementFormat),
        *(f"rtl convert to {item.name}" for item in ElementFormat),
        "rtl convert to raw",
    }
    assert all(result.vectors >= 20_000 for result in results)
    assert [result for result in results if result.mismatches] == []


@pytest.mark.verilator
def test_a_wrong_result_is_seen_and_placed():
    pipeline = MultiplyAccumulate(formats=tuple(ElementFormat), latency=3)
    two = np.full(10, 0x40000000, dtype=np.uint32)
    expected = np.full(10, 0x40C00000, dtype=np.uint32)
    expected[[4, 7]] += 1
    outcome = run_vectors(build(pipeline), pipeline, (two, two, two), 0, expected)
    assert outcome.vectors == 10
    assert outcome.mismatches == 2
    assert outcome.first_mismatches == ((4, 0x40C00000), (7, 0x40C00000))


@pytest.mark.verilator
def test_rows_have_the_form_of_every_benchmark():
    table = rows(quick=True, seed=3)
    for row in table:
        assert set(row) == {"case", "metric", "value", "unit", "goal", "origin"}
        assert row["origin"] in ORIGINS
    mismatches = [row["value"] for row in table if row["metric"] == "mismatches"]
    assert len(mismatches) == 18
    assert not any(mismatches)


def test_golden_is_counted_and_a_mismatch_described(monkeypatch):
    from fanweave.sim.benches.fp import campaign

    def wrong(accumulator, a, b, element_format):
        return accumulator

    assert sum(result.vectors for result in check_golden(1000, seed=4)) == 5000
    monkeypatch.setattr(campaign, "multiply_accumulate", wrong)
    part = campaign._check_golden_chunk(ElementFormat.FP16, 0, 0, 1000)
    assert part.mismatches > 500
    assert "SoftFloat" in part.example
