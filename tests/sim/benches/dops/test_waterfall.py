import pytest

from fanweave.golden.dops.published import published_cases
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.waterfall import STEPS
from fanweave.sim.benches.dops import bench, waterfall


def test_terms_lead_from_the_published_gain_to_the_sound_one(monkeypatch):
    monkeypatch.setattr(
        waterfall, "latin_square", lambda: [Workload(batch=4, prefill=64, decode=4)]
    )
    rows = bench.rows(True, 1, part="waterfall")
    assert rows[0].value == published_cases()[0].gain
    assert rows[0].origin == "literature"
    assert len(rows) == len(STEPS) + 4
    terms = [row.value for row in rows if row.metric == "speedup_term"]
    sound = rows[len(STEPS) + 2]
    assert sound.case.endswith("sound")
    assert rows[0].value + sum(terms) == pytest.approx(sound.value, abs=1e-9)
    assert (rows[-1].metric, rows[-1].value) == ("workloads", 1)
