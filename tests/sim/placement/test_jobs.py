import os
from pathlib import Path

import pytest

from fanweave.golden.dops.simulate import Workload
from fanweave.golden.errors import FaultError
from fanweave.sim.placement.jobs import Job, Outcome, Variant, run_job, run_jobs

WORK = Workload(batch=1, prefill=64, decode=2)


def job(label="PD", scheduler="PD", **more):
    variant = Variant(label=label, scheduler=scheduler)
    return Job(model="qwen-1.8b", platform="hp32", workload=WORK, variants=(variant,), **more)


def die_once(asked: Job) -> Outcome:
    """Kill the worker the first time that a job is asked for."""
    mark = Path(asked.variants[0].label)
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return Outcome(job=asked)


def die_always(asked: Job) -> Outcome:
    os._exit(9)


def test_a_refused_variant_leaves_the_others():
    variants = (Variant(label="none", scheduler="none"), Variant(label="PD", scheduler="PD"))
    outcome = run_job(Job(model="qwen-1.8b", platform="hp32", workload=WORK, variants=variants))
    assert list(outcome.times) == ["PD"]
    assert "scheduler 'none' is not known" in outcome.refused["none"]


def test_outcomes_come_in_the_order_of_the_jobs():
    seen = []
    jobs = [job(elements=elements) for elements in ("fp16", "int8", "fp32")]
    outcomes = run_jobs(jobs, workers=2, done=lambda index, outcome: seen.append(index))
    assert [outcome.job.elements for outcome in outcomes] == ["fp16", "int8", "fp32"]
    assert sorted(seen) == [0, 1, 2]
    totals = [outcome.times["PD"].total for outcome in outcomes]
    assert totals[1] < totals[0] < totals[2]


def test_a_worker_that_dies_costs_nothing(tmp_path):
    jobs = [job(label=str(tmp_path / f"mark{index}")) for index in range(2)]
    assert len(run_jobs(jobs, workers=1, work=die_once)) == 2


def test_workers_that_always_die_end_the_run():
    with pytest.raises(FaultError, match="died 3 times without a job done in between; 1 jobs"):
        run_jobs([job()], workers=1, work=die_always)
