"""The shipped measurements reach the aims, and each number is of data that was held out."""

import pytest

from fanweave.golden.dops.calibration import report as calibration
from fanweave.golden.dops.calibration.profile import data_folder
from fanweave.golden.dops.calibration.readers import Measurements, read_measurements
from fanweave.golden.dops.calibration.report import calibrate
from fanweave.golden.dops.calibration.samples import Sample
from fanweave.golden.dops.models import load_model
from fanweave.golden.errors import InputError

CARD = load_model("llama-3.1-8b")


def report(name, processors):
    return calibrate(
        read_measurements(data_folder() / f"{name}.csv", CARD), CARD, processors=processors
    )


@pytest.mark.parametrize(
    ("name", "processors"),
    [
        ("rtxpro6000_llama31_8b_tp1_dense", 188),
        ("rtxpro6000_llama31_8b_tp1_per_sequence", 188),
        ("rtxpro6000_llama31_8b_tp1_attention", 188),
        ("a100_llama3_8b_tp1_median_ms", 108),
        ("llmcompass_matmul_A100", 108),
        ("llmcompass_gelu_A100", 108),
        ("llmcompass_softmax_A100", 108),
        ("llmcompass_layernorm_A100", 108),
    ],
)
def test_shipped_measurements_reach_the_aims(name, processors):
    rows = report(name, processors)
    assert any(row.goal for row in rows)
    for row in rows:
        assert row.error.count
        assert row.error.mean <= row.error.worst
        if row.goal is not None:
            assert row.error.mean <= row.goal, (row.operators, row.method, row.held_out)


def test_shapes_that_were_never_seen_are_judged_for_all_rows():
    (row,) = [
        each for each in report("a100_llama3_8b_tp1_median_ms", 108) if each.held_out == "shapes"
    ]
    assert row.operators == "all products"
    assert row.error.count == row.measurements
    assert row.error.mean < 0.1


def test_a_table_is_judged_on_sizes_that_it_does_not_hold():
    # A line with one outlier: only a table without it can miss it.
    times = [1000 * m for m in range(1, 21)]
    times[9] *= 2
    samples = [
        Sample(operator="o", kind="rowwise", m=m, n=8, k=0, time_ps=time)
        for m, time in enumerate(times, 1)
    ]
    rows = calibrate(Measurements(samples=samples), CARD, processors=1)
    (table,) = [row for row in rows if row.method == "table"]
    assert table.error.count == 18
    assert table.error.worst == pytest.approx(0.555, abs=0.01)


def test_no_fit_is_judged_on_what_it_was_fitted_to(monkeypatch):
    """Every judgement but that of the final parameters leaves its test out of the fit."""
    judged = []

    class Spy:
        def __init__(self, samples):
            self.known = {sample.sizes for sample in samples}
            self.parameters = {}

        def seconds(self, sizes):
            judged.append((self.known, set(sizes)))
            return [1.0] * len(sizes)

    monkeypatch.setattr(calibration, "fit_operators", lambda samples, processors: Spy(samples))
    samples = [
        Sample(operator="o", kind="gemm", m=m, n=n, k=7, time_ps=5)
        for n in (8, 9, 10)
        for m in range(1, 11)
    ]
    calibrate(Measurements(samples=samples), CARD, processors=1)
    assert len(judged) == 4
    for known, asked in judged:
        assert not known & asked
    for known, asked in judged[1:]:
        assert not {n for _, n, _ in known} & {n for _, n, _ in asked}


def test_too_few_measurements():
    few = Measurements(samples=[Sample(operator="o", kind="rowwise", m=1, n=1, k=0, time_ps=1)])
    with pytest.raises(InputError, match="1 measurements are too few"):
        calibrate(few, CARD, processors=1)
