"""Made-up results in a build folder of their own."""

import json

import pytest

from fanweave.sim.overview.charts import CAUSES

COUNTERS = dict.fromkeys(CAUSES, 10) | {"cycles": 100, "conflicts": 7}
LAYER = {
    "projection": "layers.0.mlp.<up>",
    "phase": "prefill",
    "format": "fp16",
    "layout": "bitmask",
    "cycles": 100,
    "bound_cycles": 62.5,
    "roofline_share": 0.625,
    "lanes_busy": 0.6,
    "weight_sparsity": 0.5,
    "activation_sparsity": 0.5,
    "speedup_over_dense": 2.5,
    "counters": COUNTERS,
}


@pytest.fixture
def row():
    """A row of a benchmark."""

    def make(case="subnet: in the subnet", metric="cycles", value=22, goal=41):
        return {
            "case": case,
            "metric": metric,
            "value": value,
            "unit": "cycles",
            "goal": goal,
            "origin": "rtl",
        }

    return make


@pytest.fixture
def bench(tmp_path):
    """Keep rows of a benchmark."""

    def keep(stem, name, rows, seed=1):
        folder = tmp_path / "bench"
        folder.mkdir(exist_ok=True)
        document = {"name": name, "seed": seed, "rows": rows}
        (folder / f"{stem}.json").write_text(json.dumps(document))

    return keep


@pytest.fixture
def root(tmp_path, monkeypatch, bench, row):
    """A build folder with a trace, a waveform and a benchmark."""
    monkeypatch.setenv("FANWEAVE_BUILD", str(tmp_path))
    folder = tmp_path / "sim" / "ventaglio"
    folder.mkdir(parents=True)
    document = {"trace": {"model": "<model>"}, "config": "tiny", "bit_exact": True, "rows": [LAYER]}
    (folder / "result.json").write_text(json.dumps(document))
    (folder / "first.vcd").write_text("")
    bench("ebpf", "ebpf", [row(), row(case="other", value=50)])
    return tmp_path
