from fanweave.golden.dops.optimum.instances import generate
from fanweave.golden.dops.published import published_cases
from fanweave.golden.dops.simulate import Workload
from fanweave.sim.benches.dops_optimum import gap_rows, measure, run_rows, speed_rows


def test_gaps_are_of_proved_problems_and_never_negative():
    small = [i for i in generate(24, 3) if len(i.flat.graph.operators) < 14][:4]
    cases = [measure(instance, 4.0) for instance in small]
    found = {(row.case, row.metric): row.value for row in gap_rows(cases)}
    proved = [case for case in cases if case.optimum.proved]
    assert proved
    assert found[f"problems proved, of {len(cases)}", "proved_share"] == len(proved) / len(cases)
    worst = max(c.ends["RHLS"] / c.optimum.makespan - 1 for c in proved)
    key = (f"RHLS, proved, {len(proved)} problems, max", "gap_to_optimum")
    assert found[key] == worst
    assert all(end >= c.optimum.makespan for c in proved for end in c.ends.values())


def test_whole_runs_are_never_slower_than_the_best_static_one():
    (case,) = published_cases()[:1]
    found = {
        row.metric: row.value for row in run_rows([case], [Workload(batch=1, prefill=8, decode=3)])
    }
    assert found["fallback_share"] == (found["time_ratio"] > 1)
    assert found["speedup_over_pd"] >= 1


def test_speed_rows_have_their_goals():
    found = {row.case: row for row in speed_rows(2)}
    assert set(found) == {f"{name}, 64 operators" for name in ("HEFT", "Bifocal", "RHLS")}
    assert all(row.value > 0 and row.goal for row in found.values())
