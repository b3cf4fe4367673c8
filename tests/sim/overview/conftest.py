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

FIGURE = {
    "movement": "weights_ffn_x0",
    "source": "CPU0",
    "target": "X0",
    "messages": 64,
    "latency_ns": 11.5,
    "bandwidth_gib": 29.8,
}
LOOP = {
    "name": "<loop>",
    "model": "<model>",
    "platform": "a platform",
    "scheduler": "HEFT",
    "start": "wrong",
    "ending": "fixpoint",
    "best": 2,
    "rounds": [
        {
            "number": number,
            "prefill_s": 0.002,
            "decode_s": 0.001 * number,
            "total_s": 0.002 + 0.001 * number,
            "placement": {"prefill": {"Q": {"X0": 30}}, "token 0": {"Q": {"Y0": 30}}},
            "switch": {"links": [FIGURE], "without": [FIGURE], "origin": "rtl"},
        }
        for number in (1, 2)
    ],
    "changes": [
        {
            "round": 2,
            "costs": [
                {
                    "name": "lanes_busy/X0/Q/decode",
                    "before": 0.02,
                    "after": 0.75,
                    "unit": "1",
                    "origin_before": "assumed",
                    "origin": "rtl",
                    "source": "a trace",
                }
            ],
            "moves": [
                {
                    "pass": "token 0",
                    "kind": "Q",
                    "operators": ["L0_Q"],
                    "from": "X0",
                    "to": "Y0",
                    "alone": ["lanes_busy"],
                    "behind_first_before_s": {"X0": 0.0, "Y0": 1e-6},
                    "behind_first_after_s": {"Y0": 0.0, "X0": 2e-6},
                }
            ],
        }
    ],
    "costs": [],
    "rows": [
        {"case": "link", "metric": "latency_ns", "value": 200.0, "unit": "ns", "origin": "assumed"}
    ],
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
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "loop.json").write_text(json.dumps(LOOP))
    return tmp_path
