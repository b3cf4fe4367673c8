import pytest

from fanweave.sim.benches.dops.online import Setting, online_rows


def test_means_and_maxima_are_those_of_the_sequences():
    setting = Setting(model="smollm2-135m", platform="sparse-edge", lengths=(2, 3))
    rows = online_rows(False, 5, [setting], seeds=1)
    found = {row.case: row.value for row in rows}
    assert len(found) == len(rows) == 2 * 2 + 2 * 2
    label = "RHLS online, 2 sequences, over the best of"
    for name in ("static schedulers", "static plans"):
        of_plans = name == "static plans"
        each = [v for c, v in found.items() if " steps, " in c and ("plans of" in c) == of_plans]
        assert len(each) == 2
        assert found[f"{label} {name}, mean"] == pytest.approx(sum(each) / 2)
        assert found[f"{label} {name}, max"] == max(each)
    assert all(row.metric == "regret" and row.origin == "model" for row in rows)
