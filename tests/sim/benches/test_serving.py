from fanweave.sim.benches.serving import rows


def test_rows_cover_operators_requests_cache_and_speed():
    found = rows(quick=True, seed=3)
    cases = {(row.case, row.metric) for row in found}
    assert len(cases) == len(found)
    assert ("simulated, the rest, tpot p90", "latency_error") in cases
    assert ("operators alone, requests 1-128, end_to_end p50", "trivial_signed_error") in cases
    assert ("cache unknown, the rest, queue_wait p50", "signed_error") in cases
    assert any(row.metric == "uncut_share" and "33 to 64" in row.case for row in found)
    assert any(row.metric == "signed_error_mean" for row in found)
    assert any(row.case.startswith("a100") and "shapes" in row.case for row in found)
    (speed,) = [row for row in found if row.metric == "requests_per_second"]
    assert speed.met
    (cache,) = [row for row in found if row.case.startswith("step times by shape")]
    assert cache.met
    (plans,) = [row for row in found if row.case.startswith("plans by shape, 20 requests")]
    assert plans.met
