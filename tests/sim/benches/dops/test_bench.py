import math

import pytest

from fanweave.golden.dops.published import (
    ABLATIONS,
    grid,
    latin_square,
    parameter_sets,
    published_cases,
)
from fanweave.golden.dops.records import load_record, record_names
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import InputError
from fanweave.sim.benches.dops import ablations, bench
from fanweave.sim.benches.dops.grid import case_jobs, gains, geometric_mean, set_variants
from fanweave.sim.placement.jobs import Outcome, Times, run_job
from fanweave.sim.report.commands import find_bench


def test_the_published_study_as_data():
    cases = published_cases()
    assert len(cases) == 7
    assert [case.gain for case in cases][:3] == [2.23, 1.36, 1.44]
    assert (cases[5].model, cases[5].elements, cases[5].platform) == (
        "mixtral-8x7b",
        "int8",
        "hp128",
    )
    assert len(set(grid())) == 64
    square = latin_square()
    for one, other in (("batch", "prefill"), ("batch", "decode"), ("prefill", "decode")):
        assert len({(getattr(w, one), getattr(w, other)) for w in square}) == 16


def test_the_newest_set_is_that_of_the_records():
    newest = parameter_sets()["newest"]
    assert all(load_record(name).bifocal == newest for name in record_names())
    assert len(parameter_sets()) == 6


def test_gains_are_ratios_of_totals():
    (case, *_) = published_cases()
    work = Workload(batch=16, prefill=128, decode=8)
    (job,) = case_jobs(case, "trace", [work], set_variants(["newest", "older"]))
    outcome = run_job(job)
    assert list(outcome.times) == ["PD", "newest", "older"]
    (gain,) = gains([outcome], "newest")
    assert gain == outcome.times["PD"].total / outcome.times["newest"].total
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isfinite(gain)


def test_parts_that_are_not_there_are_refused(tmp_path):
    assert find_bench("dops") is bench.rows
    with pytest.raises(InputError, match="part 'grd' is not known; use one of log"):
        bench.rows(True, 1, part="grd")
    with pytest.raises(InputError, match=r"log\.csv cannot be read"):
        bench.rows(True, 1, part="log", reference=tmp_path)


def test_ablations_of_every_case_and_record(monkeypatch):
    asked = []

    def outcomes(jobs):
        asked.extend((job.model, job.record, len(job.variants)) for job in jobs)
        return [run_fast(job) for job in jobs]

    def run_fast(job):
        times = {
            variant.label: Times(prefill=1, total=100 + 10 * index, lower_bound=1)
            for index, variant in enumerate(job.variants)
        }
        return Outcome(job=job, times=times)

    monkeypatch.setattr(ablations, "run_jobs", outcomes)
    rows = bench.rows(False, 1, part="ablations")
    assert len(rows) == 7 * 3 * len(ABLATIONS)
    assert {(model, record) for model, record, _ in asked} == {
        (case.model, record) for case in published_cases() for record in record_names()
    }
    # The base has all terms and not PD: it is the second variant.
    assert rows[0].value == pytest.approx(120 / 110 - 1)
    found = bench.rows(False, 1, part="ablations:mixtral-8x7b-int8:trace")
    assert [row.value for row in found] == [row.value for row in rows[:3]]
    assert all(row.case.startswith("mixtral-8x7b-int8 on hp128, trace, ") for row in found)
