import io
import json

import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.sim.report import BenchRow, print_bench, write_bench

GOOD = {"case": "2:4 fp32", "metric": "roofline_share", "value": 0.96, "unit": "1", "origin": "rtl"}


def test_the_document_has_the_one_form(tmp_path):
    file = tmp_path / "bench.json"
    write_bench(file, "ventaglio", seed=7, rows=[BenchRow(**GOOD, goal=0.95)])
    assert json.loads(file.read_text()) == {
        "name": "ventaglio",
        "seed": 7,
        "rows": [
            {
                "case": "2:4 fp32",
                "metric": "roofline_share",
                "value": 0.96,
                "unit": "1",
                "goal": 0.95,
                "origin": "rtl",
            }
        ],
    }


@pytest.mark.parametrize(
    ("metric", "value", "goal", "met"),
    [
        ("roofline_share", 0.96, 0.95, True),
        ("roofline_share", 0.94, 0.95, False),
        ("cycle_model_error", 0.01, 0.02, True),
        ("cycle_model_error", 0.03, 0.02, False),
        ("cycles", 5, None, None),
    ],
)
def test_a_goal_is_met_from_the_right_side(metric, value, goal, met):
    row = BenchRow(**{**GOOD, "metric": metric, "value": value, "goal": goal})
    assert row.met is met


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"case": ""}, "benchmark row: case must not be empty"),
        ({"metric": "Share"}, "benchmark row: metric 'Share' must be in snake_case"),
        ({"value": float("nan")}, "benchmark row '2:4 fp32': value nan must be finite"),
        ({"value": "3"}, "benchmark row '2:4 fp32': value '3' must be a Python number"),
        ({"goal": float("inf")}, "benchmark row '2:4 fp32': goal inf must be finite"),
        ({"unit": ""}, "benchmark row '2:4 fp32': unit must not be empty; a ratio is '1'"),
        (
            {"origin": "guessed"},
            "benchmark row '2:4 fp32': origin 'guessed' must be one of rtl, model, measured, "
            "literature, assumed",
        ),
    ],
)
def test_a_row_of_another_form_is_refused(change, message):
    with pytest.raises(InputError) as caught:
        BenchRow(**{**GOOD, **change})
    assert str(caught.value) == message


def test_a_numpy_integer_is_refused_because_json_has_none():
    with pytest.raises(InputError, match="must be a Python number"):
        BenchRow(**{**GOOD, "value": np.int64(3)})


def test_the_table_shows_goals_and_fits():
    stream = io.StringIO()
    rows = [
        BenchRow(**GOOD, goal=0.97),
        BenchRow(**{**GOOD, "metric": "cycle_model_error", "value": 0.001, "goal": 0.02}),
    ]
    print_bench("ventaglio", seed=7, rows=rows, stream=stream)
    text = stream.getvalue()
    assert "seed 7" in text
    assert ">= 0.97" in text
    assert "missed" in text
    assert "<= 0.02" in text
    assert "reached" in text
    assert max(map(len, text.splitlines())) <= 100
